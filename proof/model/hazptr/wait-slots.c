/* SPDX-License-Identifier: MIT */
/*
 * ORDER HAZ-5, HAZ-9
 * wait-slots.c - synchronize sleeps for one slot of several, bounded, for cbmc: two readers, each with a slot and an
 * event, and a waiter that goes to sleep at most three times, each time for one slot that names the address.
 * Where: lull__hazptr_set(), lull__hazptr_slow(), wake_event(), lull__hazptr_event_of(), sleep_until_seen(),
 * count_holders(), visit_held()
 *
 * Both slots name the address at first; the first reader may come back to it.  Left out is what wait.c has for one
 * slot.
 * Never: the waiter is asleep when both slots are clear for good.
 * Must hold; with each of these it must not:
 * Busted NO_SECOND_LOOK: sc
 * Busted ONLY_ONE_SEEN_AGAIN: sc
 * Busted NOT_SEEN_WHEN_FLAGGED: sc
 * Busted EVENT_OF_THE_OTHER: sc
 */
#include "../harness.h"

int slot1 = 1, slot2 = 1; /* 1: the address that is waited for */
int waited1, waited2;	  /* WAITED */
int event1, event2;
int asleep1, asleep2; /* the waiter is in futex_wait() for this event */
int done1, done2;

#define SET(slot, waited, event, asleep, addr)                                                     \
	{                                                                                          \
		RELEASE();                                                                         \
		slot = addr;                                                                       \
		LIGHT();                                                                           \
		if (waited) {                                                                      \
			AT_ONCE(waited = 0);                                                       \
			COUNT_EVENT(event);                                                        \
			FUTEX_WAKE(asleep = 0);                                                    \
		}                                                                                  \
	}

void reader1(void)
{
	SET(slot1, waited1, event1, asleep1, 0);
	if (nondet_int()) {
		SET(slot1, waited1, event1, asleep1, 1);
		SET(slot1, waited1, event1, asleep1, 0);
	}
	FULL();
	done1 = 1;
}

void reader2(void)
{
	SET(slot2, waited2, event2, asleep2, 0);
	FULL();
	done2 = 1;
}

int last = 1; /* one of the slots that the last look has found */

/* One turn of the loop in sleep_until_seen(). Returns 1 when a look found neither. */
int turn(void)
{
	int awaited = last, expected = awaited == 1 ? event1 : event2, found, again;

#ifdef EVENT_OF_THE_OTHER
	expected = awaited == 1 ? event2 : event1;
#endif
	RELEASE();
	found = 0;
	if (slot1 == 1) {
		AT_ONCE(waited1 = 1);
		found |= 1;
		last = 1;
	}
	if (slot2 == 1) {
		AT_ONCE(waited2 = 1);
		found |= 2;
		last = 2;
	}
	if (!found)
		return 1;
	HEAVY();
	again = found;
#ifndef NO_SECOND_LOOK
	again = 0;
	if (slot1 == 1) {
		again |= 1;
		last = 1;
	}
	if (slot2 == 1) {
		again |= 2;
		last = 2;
	}
	if (!again)
		return 1;
#endif
#ifdef ONLY_ONE_SEEN_AGAIN
	again = 3;
#endif
#ifdef NOT_SEEN_WHEN_FLAGGED
	found = 3;
#endif
	if (!(found & again & awaited))
		return 0;
	if (awaited == 1) {
#ifdef EVENT_OF_THE_OTHER
		FUTEX_WAIT(event2, expected, asleep2);
#else
		FUTEX_WAIT(event1, expected, asleep1);
#endif
	} else {
#ifdef EVENT_OF_THE_OTHER
		FUTEX_WAIT(event1, expected, asleep1);
#else
		FUTEX_WAIT(event2, expected, asleep2);
#endif
	}
	/* Woken, or the readers are gone and the sleep is for good. */
	__CPROVER_assume((!asleep1 && !asleep2) || (done1 && done2));
	assert(!asleep1 && !asleep2);
	return 0;
}

int main(void)
{
__CPROVER_ASYNC_1:
	reader1();
__CPROVER_ASYNC_2:
	reader2();
	if (!turn() && !turn())
		turn();
	return 0;
}
