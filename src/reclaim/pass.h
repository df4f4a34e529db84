/* SPDX-License-Identifier: MIT */
/*
 * pass.h - reclaim what all threads have deferred.
 */
#ifndef LULL_PASS_H
#define LULL_PASS_H

#include "bag.h"

/* What a pass takes. */
enum lull__pass {
	PASS_CALLS,	/* queues that only the background thread reclaims */
	PASS_ABANDONED, /* ... and queues that their owners seem to have abandoned */
	PASS_ALL,	/* everything, for a barrier */
};

/*
 * Reclaim everything that is due: first the entries that wait for slots only, then, after a grace period,
 * the others. One heavy fence serves both. Waits. Returns how many items were reclaimed.
 */
size_t lull__pass(enum lull__pass what);

/*
 * Make ready as much of @q as possible without waiting: entries whose grace period is over and that no slot
 * names. Advances the grace period. The consumer of @q.
 */
void lull__advance(struct lull__queue *q);

/* Does queue @kind of @bag have entries for a pass of kind @what? */
bool lull__is_due(struct lull__bag *bag, int kind, enum lull__pass what);

/*
 * Take every queue that is due, as a list; one heavy fence revokes them all. Without @wait_for_locks skip
 * queues that another thread has; with @slots_only skip queues that wait for grace periods.
 */
struct lull__queue *lull__take_due(enum lull__pass what, bool wait_for_locks, bool slots_only);
/* Give back the queues in @taken from which memory is freed. Returns the others. */
struct lull__queue *lull__give_back_frees(struct lull__queue *taken);
void lull__give_back(struct lull__queue *taken);

void lull__poll_frees(void); /* in place of a thread that could not be started */

#endif /* LULL_PASS_H */
