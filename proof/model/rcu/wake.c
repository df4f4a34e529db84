/* SPDX-License-Identifier: MIT */
/*
 * ORDER RCU-5
 * wake.c - the leader's sleep, bounded, for cbmc: a reader goes through three sections; the leader,
 * which waits for words older than its number, flags the reader and sleeps at most twice.  The flag
 * may be left over from an earlier grace period.
 * Where: lull_rcu_read_unlock(), lull__rcu_end_section(),
 * lull__rcu_quiescent_slow(), lull__rcu_wake(), gp_add_holdout(), gp_wait_holdouts()
 *
 * A sleep is futex_wait(): it begins if the event is still what the leader took, and ends with the
 * next futex_wake().  Never: the leader is asleep when all sections are over.
 * The flag is set by a read-modify-write, which these memory models take for a fence: what the heavy
 * fence is for, wake.tpl tells; and for the order of event and flag, event.tpl.
 * Must hold; with each of these it must not:
 * Busted NO_LIGHT: tso
 * Busted NO_SECOND_SCAN: sc
 * Busted NO_FLAG: sc
 * Busted FLAG_NOT_LOOKED_AT: sc
 * Busted EVENT_AFTER_FLAG: sc
 */
#include "../harness.h"

int word = 1;	  /* in its first section when the grace period begins */
int flag;	  /* set from the start, perhaps */
int event;	  /* counts wakes; the kernel's sleep is tied to it */
int asleep;	  /* 1 while the leader is in futex_wait() */
int sections_over;

void wake(void)
{
	AT_ONCE(flag = 0);
	COUNT_EVENT(event);
	FUTEX_WAKE(asleep = 0);
}

void leave(void)
{
	RELEASE();
	word = 0;
	LIGHT();
#ifndef FLAG_NOT_LOOKED_AT
	if (flag)
		wake();
#endif
}

void reader(void)
{
	leave();
	/* The next two may have entered with the old number: whether it is seen is a matter of luck. */
	word = 1;
	LIGHT();
	leave();
	word = 1;
	LIGHT();
	leave();
	FULL();
	sections_over = 1;
}

/* One turn of the loop in gp_wait_holdouts(). Returns 0 when the scan found nobody. */
int turn(void)
{
	int expected, flagged_now;

#ifndef EVENT_AFTER_FLAG
	expected = event;
#endif
	RELEASE();
	if (word != 1)
		return 0;
	__CPROVER_atomic_begin();
	flagged_now = !flag;
#ifndef NO_FLAG
	flag = 1;
#endif
	__CPROVER_atomic_end();
#ifdef EVENT_AFTER_FLAG
	expected = event;
#endif
	if (flagged_now) {
		HEAVY();
#ifndef NO_SECOND_SCAN
		if (word != 1)
			return 0;
#endif
	}
	FUTEX_WAIT(event, expected, asleep);
	return 1;
}

void leader(void)
{
	if (turn()) {
		/* Woken, or the reader is gone and the sleep is for good. */
		__CPROVER_assume(!asleep || sections_over);
		assert(!asleep);
		if (turn()) {
			__CPROVER_assume(!asleep || sections_over);
			assert(!asleep);
		}
	}
}

int main(void)
{
	flag = nondet_int() ? 1 : 0;
__CPROVER_ASYNC_1:
	reader();
	leader();
	return 0;
}
