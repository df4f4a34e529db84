/* SPDX-License-Identifier: MIT */
/*
 * qsbr.c - liburcu-qsbr: a thread is in one endless section while it is online, but for its quiescent states.
 */
#define URCU(name)	urcu_qsbr_##name
#define URCU_TEXT(name) "urcu_qsbr_" #name
#define DOMAIN		lull__urcu_qsbr

#include "domain.h"

URCU_API void URCU(exit)(void);
URCU_API void URCU(register_thread)(void);
URCU_API void URCU(unregister_thread)(void);
URCU_API void URCU(read_lock)(void);
URCU_API void URCU(read_unlock)(void);
URCU_API int URCU(read_ongoing)(void);
URCU_API void URCU(quiescent_state)(void);
URCU_API void URCU(thread_offline)(void);
URCU_API void URCU(thread_online)(void);

extern URCU_API struct urcu_gp URCU(gp);
extern __thread URCU_API struct urcu_qsbr_reader URCU(reader) __attribute__((tls_model("initial-exec")));

struct urcu_gp URCU(gp) = { .ctr = 1 };
__thread struct urcu_qsbr_reader URCU(reader) __attribute__((tls_model("initial-exec")));

static __thread struct urcu_record own_record __attribute__((tls_model("initial-exec")));

static struct urcu_record *record(void)
{
	return &own_record;
}

static void reads(bool begins)
{
	begins ? URCU(thread_online)() : URCU(thread_offline)();
}

/* Say that the calling thread holds no pointer, and that its word is now @word. */
static void set_word(unsigned long word)
{
	urcu_leave(&URCU(reader).ctr, word);
	/*
	 * ORDER URCU-4: the word before the look at the flag, and before the loads that follow; pairs with URCU-4 in
	 * sleep_for() and urcu_begin(); without it the grace period sleeps for ever, or misses what this thread finds
	 * next; model/urcu/flag.tpl
	 */
	lull_fence_full();
	if (lull_unlikely(lull_load_relaxed(&URCU(reader).waiting))) {
		lull_store_relaxed(&URCU(reader).waiting, 0);
		lull__urcu_wake(&DOMAIN, &own_record);
	}
}

void URCU(thread_online)(void)
{
	if (URCU(reader).ctr)
		return;
	if (!own_record.registered)
		URCU(register_thread)();
	else
		set_word(lull_load_relaxed(&DOMAIN.number));
}

void URCU(thread_offline)(void)
{
	if (URCU(reader).ctr)
		set_word(0);
}

void URCU(quiescent_state)(void)
{
	unsigned long number = lull_load_relaxed(&DOMAIN.number), word = URCU(reader).ctr;

	if (number != word && (word || own_record.registered)) /* as inlined, it brings a thread online */
		set_word(number);
}

void URCU(register_thread)(void)
{
	own_record.word = &URCU(reader).ctr;
	own_record.waiting = &URCU(reader).waiting;
	lull__urcu_register(&DOMAIN, &own_record, true);
	URCU(reader).tid = pthread_self();
	URCU(reader).registered = 1;
	URCU(thread_online)();
}

void URCU(unregister_thread)(void)
{
	URCU(thread_offline)();
	URCU(reader).registered = 0;
	lull__urcu_unregister(&DOMAIN, &own_record);
}

void URCU(read_lock)(void)
{
}

void URCU(read_unlock)(void)
{
}

int URCU(read_ongoing)(void)
{
	return URCU(reader).ctr != 0;
}

void URCU(exit)(void)
{
}

static bool offline(void)
{
	bool was = URCU(reader).ctr != 0;

	URCU(thread_offline)();
	return was;
}

#define IN_SECTION()	false
#define ENROL()		((void)0)
#define OFFLINE()	offline()
#define ONLINE()	URCU(thread_online)()
#define QUIESCENT_STATE URCU(quiescent_state)
#define THREAD_OFFLINE	URCU(thread_offline)
#define THREAD_ONLINE	URCU(thread_online)

#include "calls.h"

struct urcu_domain lull__urcu_qsbr = {
	.name = "qsbr",
	.readers = URCU_ONLINE,
	.ctr = &urcu_qsbr_gp.ctr,
	.futex = (uint32_t *)&urcu_qsbr_gp.futex,
	.number = 1,
	.record = record,
	.workers = URCU_WORKERS(chosen, reads),
	.leave = URCU(unregister_thread),
};
