/* SPDX-License-Identifier: MIT */
/*
 * ORDER HAZ-5, HAZ-9
 * wait.c - the sleep of synchronize, bounded, for cbmc: one reader sets one slot three times, and
 * two waiters wait for it, who each go to sleep at most twice.
 * Where: lull__hazptr_set(), lull__hazptr_fenced_set(), lull_hazptr_fenced_clear(), lull__hazptr_slow(),
 * wake_event(), sleep_until_seen(), count_holders(), visit_held()
 *
 * A sleep is futex_wait(): it begins if the event is still what the waiter took, and ends with the next
 * futex_wake().  Left out are the lock under which slots are looked at, and stamps: whether a slot that
 * is set again is waited for again is a matter of luck.
 * Never: a waiter is asleep when the slot is clear for good.
 * WAITED is set by a read-modify-write, which these memory models take for a fence: what the heavy fence
 * is for, wake.tpl and wake-two.tpl tell; and for the order of event and WAITED, event.tpl.
 * Must hold; with each of these it must not:
 * Busted NO_LIGHT: tso
 * Busted NO_SECOND_LOOK: sc
 * Busted NO_FLAG: sc
 * Busted FLAG_NOT_LOOKED_AT: sc
 * Busted EVENT_AFTER_FLAG: sc
 * Busted EVENT_BEFORE_UNFLAG: sc
 */
#include "../harness.h"

int slot = 1;	      /* 1: the address that is waited for */
int waited;	      /* WAITED, from the start, perhaps */
int event;	      /* counts wakes; the kernel's sleep is tied to it */
int asleep1, asleep2; /* 1 while that waiter is in futex_wait() */
int reader_is_done;

void slow(void)
{
#ifdef EVENT_BEFORE_UNFLAG
	COUNT_EVENT(event);
#endif
	AT_ONCE(waited = 0);
#ifndef EVENT_BEFORE_UNFLAG
	COUNT_EVENT(event);
#endif
	FUTEX_WAKE(asleep1 = 0; asleep2 = 0);
}

void set(int addr)
{
	RELEASE();
	slot = addr;
	LIGHT();
#ifndef FLAG_NOT_LOOKED_AT
	if (waited)
		slow();
#endif
}

void reader(void)
{
	set(0);
	if (nondet_int()) {
		set(1);
		set(0);
	}
	FULL();
	reader_is_done = 1;
}

#ifdef NO_SECOND_LOOK
#define SECOND_LOOK 0
#else
#define SECOND_LOOK 1
#endif

/* One turn of the loop in sleep_until_seen(). */
#define TURN(asleep, is_clean)                                                                     \
	{                                                                                          \
		int expected = event;                                                              \
                                                                                                   \
		RELEASE();                                                                         \
		if (slot != 1) {                                                                   \
			is_clean = 1;                                                              \
		} else {                                                                           \
			AT_ONCE(FLAG());                                                           \
			LATE_EVENT(expected);                                                      \
			HEAVY();                                                                   \
			if (SECOND_LOOK && slot != 1) {                                       \
				is_clean = 1;                                                      \
			} else {                                                                   \
				FUTEX_WAIT(event, expected, asleep);                               \
				/* Woken, or the reader is gone and the sleep is for good. */      \
				__CPROVER_assume(!asleep || reader_is_done);                       \
				assert(!asleep);                                                   \
			}                                                                          \
		}                                                                                  \
	}

#ifdef NO_FLAG
#define FLAG()
#else
#define FLAG() waited = 1
#endif

#ifdef EVENT_AFTER_FLAG
#define LATE_EVENT(expected) expected = event
#else
#define LATE_EVENT(expected)
#endif

void waiter1(void)
{
	int is_clean = 0;

	TURN(asleep1, is_clean);
	if (!is_clean)
		TURN(asleep1, is_clean);
}

void waiter2(void)
{
	int is_clean = 0;

	TURN(asleep2, is_clean);
	if (!is_clean)
		TURN(asleep2, is_clean);
}

int main(void)
{
	waited = nondet_int() ? 1 : 0;
__CPROVER_ASYNC_1:
	reader();
__CPROVER_ASYNC_2:
	waiter1();
	waiter2();
	return 0;
}
