/* SPDX-License-Identifier: MIT */
/*
 * counted.h - the readers of the flavors memb, mb and signal: a thread has a word, in which nested sections are counted.
 *
 * Called readers do what inlined ones do, on the same words, so that a program may enter a section by one and leave it
 * by the other. They also see whether the thread is registered, and register it if it is not.
 */
#include "domain.h"

#include <lull/fence.h>

URCU_API void URCU(init)(void);
URCU_API void URCU(exit)(void);
URCU_API void URCU(register_thread)(void);
URCU_API void URCU(unregister_thread)(void);
URCU_API void URCU(read_lock)(void);
URCU_API void URCU(read_unlock)(void);
URCU_API int URCU(read_ongoing)(void);

extern URCU_API struct urcu_gp URCU(gp);
extern __thread URCU_API struct urcu_reader URCU(reader) __attribute__((tls_model("initial-exec")));

struct urcu_gp URCU(gp) = { .ctr = URCU_FIRST };
__thread struct urcu_reader URCU(reader) __attribute__((tls_model("initial-exec"))) = {
	.ctr = URCU_OUTSIDE,
	.slow = URCU_SLOW_MODE,
	.outside = URCU_OUTSIDE,
};

static __thread struct urcu_record own_record __attribute__((tls_model("initial-exec")));

static struct urcu_record *record(void)
{
	return &own_record;
}

#define OWN_WORD ((const uint64_t *)&URCU(reader).ctr)

static bool register_record(bool for_sections)
{
	/* Once: a thread that enrolled is registered again by itself, while scans read these. */
	if (!own_record.word) {
		own_record.word = &URCU(reader).ctr;
		own_record.slow = &URCU(reader).slow;
		own_record.outside = &URCU(reader).outside;
	}
	return lull__urcu_register(&DOMAIN, &own_record, for_sections);
}

static void register_own(void)
{
	register_record(true);
	URCU(reader).tid = pthread_self();
	URCU(reader).registered = 1;
}

void URCU(register_thread)(void)
{
	register_own();
}

void URCU(unregister_thread)(void)
{
	URCU(reader).registered = 0;
	lull__urcu_unregister(&DOMAIN, &own_record);
}

static void reads(bool begins)
{
	if (begins)
		URCU(register_thread)();
}

/*
 * A thread that waits is registered once, instead of blocking signals each time: two system calls. It does not count as a
 * reader, so that threads that only wait do not wait for each other, nor make heavy fences.
 */
static void enrol(void)
{
	if (lull_likely(own_record.registered) || lull__urcu_leaving)
		return;
	if (!register_record(false))
		URCU(unregister_thread)();
}

void URCU(init)(void)
{
	lull__urcu_init();
}

void URCU(exit)(void)
{
}

/* Outside, or not inside for sure: the word has no nested sections, and is not 0. */
__attribute__((noinline)) static void lock_slowly(void)
{
	if (!own_record.registered || own_record.enrolled)
		register_own();
	urcu_enter(&URCU(reader).ctr, &DOMAIN.number);
	if (lull_load_relaxed(&URCU(reader).slow) & URCU_SLOW_MODE)
		lull_fence_full(); /* URCU-1, as a real fence */
}

void URCU(read_lock)(void)
{
	if (lull_likely(lull_own_is_zero(OWN_WORD)))
		urcu_enter(&URCU(reader).ctr, &DOMAIN.number);
	else if (lull_likely((uint32_t)URCU(reader).ctr != 0))
		urcu_leave(&URCU(reader).ctr, URCU(reader).ctr + 1); /* RCU-6: nested */
	else
		lock_slowly();
}

__attribute__((noinline)) static void unlocked_slowly(void)
{
	lull_fence_full(); /* URCU-3, as a real fence */
	lull__urcu_wake(&DOMAIN, &own_record);
	if (lull__urcu_exiting)
		URCU(unregister_thread)();
}

/*
 * The word is 0 then, where inlined readers leave a number: so the next lock makes one test. In slow mode it is never 0,
 * not for one instruction: a handler that reads would take it for "fast", and make no fence.
 */
void URCU(read_unlock)(void)
{
	if (lull_unlikely((uint32_t)URCU(reader).ctr != 1)) {
		urcu_leave(&URCU(reader).ctr, URCU(reader).ctr - 1); /* RCU-6: nested */
		return;
	}
	urcu_leave(&URCU(reader).ctr, URCU(reader).outside);
	if (lull_unlikely(lull_nonzero_relaxed(&URCU(reader).slow)))
		unlocked_slowly();
}

int URCU(read_ongoing)(void)
{
	return (int)(URCU(reader).ctr & URCU_NEST_MASK);
}

#define IN_SECTION()	((uint32_t)URCU(reader).ctr != 0)
#define ENROL()		enrol()
#define OFFLINE()	false
#define ONLINE()	((void)0)
#define QUIESCENT_STATE nothing
#define THREAD_OFFLINE	nothing
#define THREAD_ONLINE	nothing

static void nothing(void)
{
}

#include "calls.h"
