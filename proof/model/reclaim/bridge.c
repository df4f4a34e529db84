/* SPDX-License-Identifier: MIT */
/*
 * ORDER BRI-1
 * bridge.c - both orders of grace period and look at the slots, bounded, for cbmc.  One reader finds an
 * object in a read section, names it in a slot, leaves the section, uses the object, and lets go; then
 * it does the same again.  One updater unlinks; either it waits for a grace period and looks then, and
 * the reader need not look twice; or it looks first, and the reader looks at the pointer again.
 * Where: lull__hazptr_set_rcu(), lull__hazptr_tryprotect(), make_ready(), scan_queue(), gp_begin(), gp_scan(),
 * pass_until_report(), lull__advance()
 *
 * Fences are full ones (LULL_FENCE=full).  Who would have to wait gives up.  Never: the reader uses
 * what is freed.
 * Must hold; with each of these it must not:
 * Busted SLOTS_FIRST_NO_SECOND_LOOK: sc
 * Busted NO_GRACE_PERIOD: sc
 * Busted NO_LIGHT: tso
 * Busted SLOT_AFTER_SECTION: sc
 */
#include "../harness.h"

int slots_first; /* which order; and then the reader looks again */
int gp = 1;	 /* the grace period that readers carry */
int word;	 /* the reader's */
int slot;	 /* 1: the object */
int unlinked;	 /* the pointer to the object */
int freed;	 /* the object's memory */

#ifdef SLOTS_FIRST_NO_SECOND_LOOK
#define LOOKS_AGAIN 0
#else
#define LOOKS_AGAIN slots_first
#endif

void unlock(void)
{
	RELEASE();
	word = 0;
	LIGHT();
}

void read_and_keep(void)
{
	int number = gp, found;

	RELEASE();
	word = number;
	LIGHT();
	found = !unlinked;
	if (found) {
		assert(!freed);
#ifdef SLOT_AFTER_SECTION
		unlock();
#endif
		RELEASE();
		slot = 1;
		LIGHT();
		if (LOOKS_AGAIN)
			found = !unlinked;
	}
#ifdef SLOT_AFTER_SECTION
	if (!found)
#endif
	unlock();
	if (found)
		assert(!freed);
	RELEASE();
	slot = 0;
	LIGHT();
}

void reader(void)
{
	read_and_keep();
	read_and_keep();
}

int grace_period(void)
{
	int seen;

#ifdef NO_GRACE_PERIOD
	return 1;
#endif
	HEAVY();
	gp = 2;
	seen = word;
	return seen == 0 || seen == 2;
}

int look(void)
{
	return slot != 1;
}

void updater(void)
{
	unlinked = 1;
	HEAVY();
	if (slots_first) {
		if (look() && grace_period())
			freed = 1;
	} else {
		if (grace_period() && look())
			freed = 1;
	}
}

int main(void)
{
	slots_first = nondet_int() ? 1 : 0;
#ifdef SLOTS_FIRST_NO_SECOND_LOOK
	slots_first = 1;
#endif
__CPROVER_ASYNC_1:
	reader();
	updater();
	return 0;
}
