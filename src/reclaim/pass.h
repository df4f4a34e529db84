/* SPDX-License-Identifier: MIT */
/*
 * pass.h - reclaim what all threads have deferred.
 */
#ifndef LULL_PASS_H
#define LULL_PASS_H

#include "bag.h"

/* What a pass takes. */
enum lull__pass {
	PASS_CALLS,	/* what nobody but the background thread reclaims */
	PASS_ABANDONED, /* ... and what its owner seems to have abandoned */
	PASS_ALL,	/* everything, for a barrier */
};

/*
 * Reclaim all that is due: first what waits for slots only, then, after a grace period, the rest. One heavy
 * fence serves both. Waits. Returns how many items were reclaimed.
 */
size_t lull__pass(enum lull__pass what);

/*
 * Make what waits in @q ready as far as that is possible without waiting: its grace period is over, no slot names it.
 * Push the grace period along. The consumer.
 */
void lull__advance(struct lull__queue *q);

/* Is there something in queue @kind of @bag for a pass of kind @what? */
bool lull__is_due(struct lull__bag *bag, int kind, enum lull__pass what);

/*
 * Take every queue that is due, as a list; one heavy fence revokes them all. Without @wait_for_locks not those that
 * somebody else has; with @slots_only not those that wait for grace periods.
 */
struct lull__queue *lull__take_due(enum lull__pass what, bool wait_for_locks, bool slots_only);
/* Give back the queues in @taken from which memory is freed. Returns the others. */
struct lull__queue *lull__give_back_frees(struct lull__queue *taken);
void lull__give_back(struct lull__queue *taken);

#endif /* LULL_PASS_H */
