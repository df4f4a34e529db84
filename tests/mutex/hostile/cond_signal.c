/* SPDX-License-Identifier: MIT */
/* runs: oracles */
/*
 * cond_signal.c - cond.h: a signal asks the kernel once for each waiter and not more often, however many signals there
 * are; with more waiters than a condition variable counts, too. (With few waiters, one step at a time: steps.c.)
 */
#include <linux/futex.h>

#include "mutex/sleepers.h"
#include "own_syscall.h"

static __thread unsigned wakes, moves; /* of this thread */

static bool instead_of_syscall(long number, const long *arg, long *result)
{
	long op = arg[1] & FUTEX_CMD_MASK;

	(void)result;
	wakes += number == SYS_futex && (op == FUTEX_WAKE || op == FUTEX_WAKE_BITSET);
	moves += number == SYS_futex && op == FUTEX_CMP_REQUEUE;
	return false;
}

/* A lost wake-up ends the test: by a line, where it is awaited, or by this. */
SETUP
{
	alarm(100);
}

enum { FEW = 5, EXACT = 126 /* as the header says */, MANY = 300, SIGNALS = 10000 };

struct crowd {
	int waiters, signals;
	bool locked;	/* the signals come from the mutex's owner, which keeps it: so no waiter gets up meanwhile */
	bool broadcast; /* before the signals */
	unsigned calls;
};

/* Each waiter gets up, for so many calls of the kernel. */
static void signal_crowd(const struct crowd *crowd)
{
	make_place(0);
	start_sleepers(crowd->waiters);
	tell(crowd->waiters);
	if (crowd->locked)
		lull_mutex_lock(&place->lock);
	wakes = moves = 0;
	if (crowd->broadcast)
		lull_cond_broadcast(&place->cond);
	for (int i = 0; i < crowd->signals; i++)
		lull_cond_signal(&place->cond);
	assert_int_equal(moves, crowd->calls);
	if (crowd->locked) { /* the last of the crowd is still counted, and a broadcast has no more to do */
		lull_cond_broadcast(&place->cond);
		assert_int_equal(moves, crowd->calls + (crowd->waiters > EXACT));
	}
	assert_int_equal(wakes, 0);
	if (crowd->locked)
		lull_mutex_unlock(&place->lock);
	join_sleepers(crowd->waiters);
	leave_place();
}

TEST(crowds)
{
	static const struct crowd crowds[] = {
		{ 1, SIGNALS, true, false, 1 },
		{ FEW, SIGNALS, true, false, FEW },
		{ FEW, SIGNALS, false, false, FEW },
		{ FEW, SIGNALS, true, true, 1 }, /* the broadcast has been for all */
		{ FEW, SIGNALS, false, true, 1 },
		{ EXACT, SIGNALS, true, false, EXACT },
		/* There are more than lull counts: each signal is for one of them. */
		{ EXACT + 1, SIGNALS, true, false, SIGNALS },
		{ MANY, MANY, true, false, MANY },
		{ MANY, MANY, false, false, MANY },
	};

	for (size_t i = 0; i < sizeof(crowds) / sizeof(crowds[0]); i++)
		signal_crowd(&crowds[i]);
}

/* The owner signals each time that it has the lock, and waiters come through in between. */
TEST(by_turns)
{
	make_place(0);
	start_sleepers(FEW);
	moves = 0;
	for (int i = 0; i < SIGNALS; i++) {
		lull_mutex_lock(&place->lock);
		place->may_go = FEW - place->back;
		lull_cond_signal(&place->cond);
		lull_mutex_unlock(&place->lock);
	}
	assert_int_equal(moves, FEW);
	join_sleepers(FEW);
	leave_place();
}

/* Waiters whose time is up are not signalled any more. */
TEST(after_timeouts)
{
	make_place(0);
	lull_mutex_lock(&place->lock);
	for (int i = 0; i < 100; i++)
		assert_int_equal(lull_cond_timedwait(&place->cond, &place->lock, 0), -ETIMEDOUT);
	assert_int_equal(place->cond.waiters, 0);
	moves = 0;
	for (int i = 0; i < SIGNALS; i++)
		lull_cond_signal(&place->cond);
	assert_int_equal(moves, 0);
	lull_mutex_unlock(&place->lock);
	leave_place();
}
