/* SPDX-License-Identifier: MIT */
/*
 * ORDER RCU-2, RCU-8
 * beside.c - grace periods beside each other, bounded, for cbmc: a leader that was stopped before its first store, or is
 * at any later step, carries out number 2, which another thread has ended long ago; an updater makes number 3 beside
 * it, and then one for an object; a reader goes through a section.  There is no lock: whoever makes a grace period
 * makes its fences, and scans, alone.  What the heavy fence is for is said by beside.tpl.
 * Where: gp_raise(), gp_begin(), gp_next(), gp_scan(), gp_complete(), gp_go_beside(), lull__rcu_cookie(),
 * lull_rcu_read_lock(), lull_rcu_read_unlock()
 *
 * Never: the reader finds the object's memory in use for something else; one of the three numbers falls.
 * Must hold; with each of these it must not:
 * Busted NO_LIGHT: tso
 * Busted STARTED_FALLS: sc
 * Busted CARRIED_FALLS: sc
 * Busted COMPLETED_FALLS: sc
 * Busted ENDS_THE_NEWEST: sc
 */
#include "../harness.h"

int started = 2, gp = 2, completed = 2;
int word, unlinked, freed;

#define RAISE(what, to) AT_ONCE(if ((what) < (to)) (what) = (to))
#define STORE(what, to) AT_ONCE((what) = (to))
#ifdef STARTED_FALLS
#define RAISE_STARTED STORE
#else
#define RAISE_STARTED RAISE
#endif
#ifdef CARRIED_FALLS
#define RAISE_CARRIED STORE
#else
#define RAISE_CARRIED RAISE
#endif
#ifdef COMPLETED_FALLS
#define RAISE_COMPLETED STORE
#else
#define RAISE_COMPLETED RAISE
#endif

void reader(void)
{
	int number = gp;

	RELEASE();
	word = number;
	LIGHT();
	if (!unlinked)
		assert(!freed);
	RELEASE();
	word = 0;
}

void carry_out(int number)
{
	int seen;

	RAISE_STARTED(started, number);
	HEAVY();
	RAISE_CARRIED(gp, number);
	seen = word;
	if (seen != 0 && seen < number)
		return;
	RELEASE();
#ifdef ENDS_THE_NEWEST
	number = started;
#endif
	RAISE_COMPLETED(completed, number);
}

void late_leader(void)
{
	carry_out(2);
}

int next_number(void)
{
	int next = completed + 1, newest = started;

	return newest > next ? newest : next;
}

void updater(void)
{
	int cookie, over;

	FULL();
	cookie = started + 1;
	carry_out(next_number());
	over = completed;
	FULL();
	assert(started >= cookie && gp >= cookie);

	unlinked = 1;
	FULL();
	cookie = started + 1;
	if (completed < cookie)
		carry_out(next_number());
	if (completed < cookie)
		carry_out(next_number());
	assert(completed >= over);
	if (completed >= cookie)
		freed = 1;
}

int main(void)
{
__CPROVER_ASYNC_1:
	reader();
__CPROVER_ASYNC_2:
	late_leader();
	updater();
	return 0;
}
