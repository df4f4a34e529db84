/* SPDX-License-Identifier: MIT */
/*
 * stalls.h - a thread that holds something up until it is told to leave, one that waits meanwhile, and hooks that note
 * the reports. Each test of a file that includes this begins with nothing told, and ends with lull's own hook.
 */
#ifndef LULL_TEST_STALLS_H
#define LULL_TEST_STALLS_H

#include "child.h"
#include "threads.h"

#include <lull/hazptr.h>
#include <lull/shazptr.h>

static int inside, leave, stalls;
static uint32_t holder_tid;
static int object, *place = &object;

SETUP
{
	inside = leave = stalls = 0;
}

TEARDOWN
{
	lull_debug_set_stall_hook(NULL, NULL);
	lull_debug_set_stall_ms(1000);
}

static inline void report_to(lull_stall_hook hook, void *arg, uint32_t ms)
{
	lull_debug_set_stall_hook(hook, arg);
	lull_debug_set_stall_ms(ms);
}

static inline void count_stall(const struct lull_stall *stall, void *arg)
{
	(void)stall;
	(void)arg;
	lull_add_release(&stalls, 1);
}

static inline void await_stalls(int count)
{
	AWAIT(lull_load_acquire(&stalls) >= count);
}

/* ---- those that hold something up ------------------------------------------------------------------ */

static inline void hold_until_told(void)
{
	holder_tid = (uint32_t)gettid();
	lull_store_release(&inside, 1);
	await_flag(&leave, 1);
}

static inline void *in_section(void *unused)
{
	lull_rcu_read_lock();
	hold_until_told();
	lull_rcu_read_unlock();
	return unused;
}

static inline void *with_slot(void *unused)
{
	struct lull_hazptr_hold hold;

	lull_hazptr_acquire(&hold, &place);
	hold_until_told();
	lull_hazptr_release(&hold, place);
	return unused;
}

/* Of what it has retired itself. */
static inline void *with_retired(void *unused)
{
	struct lull_hazptr_hold hold;
	struct lull_head *kept = (struct lull_head *)malloc(sizeof(*kept));

	lull_hazptr_acquire(&hold, &kept);
	lull_hazptr_retire(kept);
	hold_until_told();
	lull_hazptr_release(&hold, kept);
	return unused;
}

static inline void *with_simple_slot(void *unused)
{
	struct lull_shazptr_guard guard = lull_shazptr_acquire(&object);

	hold_until_told();
	lull_shazptr_clear(guard);
	return unused;
}

static inline void sleepy_callback(struct lull_head *head)
{
	(void)head;
	hold_until_told();
}

static inline pthread_t start_holder(void *(*holds)(void *), void *arg)
{
	pthread_t holder = start_thread(holds, arg);

	await_flag(&inside, 1);
	pthread_setname_np(holder, "a holder");
	return holder;
}

static inline void let_go(void)
{
	lull_store_release(&leave, 1);
}

/* ---- those that wait for it ------------------------------------------------------------------------ */

static inline void hazptr_synchronize(void)
{
	lull_hazptr_synchronize(&object);
}

static inline void hazptr_barrier(void)
{
	lull_hazptr_barrier();
}

static inline void shazptr_synchronize(void)
{
	lull_shazptr_synchronize(&object);
}

static uint32_t waiter_tid;
static void (*wait_for)(void);

static inline void *waits(void *unused)
{
	lull_store_relaxed(&waiter_tid, (uint32_t)gettid());
	wait_for();
	return unused;
}

static inline pthread_t start_waiter(void (*wait)(void))
{
	wait_for = wait;
	return start_thread(waits, NULL);
}

/* Each kind of wait, and what the report of it says of the thread that holds it up. */
static const struct held_up {
	enum lull_wait_kind what;
	void *(*holds)(void *);
	void (*wait)(void);
	unsigned slots, depth;
} held_up[] __attribute__((unused)) = {
	{ LULL_WAIT_GP, in_section, lull_rcu_synchronize, 0, 1 },
	{ LULL_WAIT_HAZPTR, with_slot, hazptr_synchronize, 1, 0 },
	{ LULL_WAIT_SHAZPTR, with_simple_slot, shazptr_synchronize, 1, 1 },
	{ LULL_WAIT_HAZPTR_BARRIER, with_retired, hazptr_barrier, 1, 0 },
};
enum { HELD_UP = sizeof(held_up) / sizeof(held_up[0]) };

#endif /* LULL_TEST_STALLS_H */
