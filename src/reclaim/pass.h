/* SPDX-License-Identifier: MIT */
/*
 * pass.h - reclaim what all threads have deferred.
 */
#ifndef LULL_PASS_H
#define LULL_PASS_H

#include "bag.h"

/* Queues that a pass takes. */
enum lull__pass {
	PASS_CALLS,	/* queues that only the background thread reclaims */
	PASS_ABANDONED, /* ... and queues that their owners seem to have abandoned */
	PASS_ALL,	/* everything, for a barrier */
};

/*
 * Reclaim everything that is due: first memory that was retired, then callbacks that wait for slots only,
 * then, after a grace period, the others. Waits. Returns how many items were reclaimed.
 */
size_t lull__pass(enum lull__pass what);

/*
 * Free the memory that all threads have retired and that no slot names, if more of it waits than hazptr.h
 * allows. For the owner of @q, which is such a queue. Runs no user code, and waits for none.
 */
void lull__free_retired(struct lull__queue *q);

/*
 * Make ready as much of @q as possible without waiting: entries whose grace period is over and that no slot
 * names. Advances the grace period. The consumer of @q.
 */
void lull__advance(struct lull__queue *q);

/* Advance @q as far as possible without blocking; ask for what it needs, if it waits for nothing yet. Its consumer. */
void lull__queue_poll(struct lull__queue *q);

/* Does @q have entries for a pass of kind @what? */
bool lull__is_due(struct lull__queue *q, enum lull__pass what);

/* Does a queue hold entries that slots name, and that are not parked? With @taken also one that a thread has taken. */
bool lull__anything_unparked(bool taken);

/* Which of the queues that are due to take, by their kinds. */
enum {
	LULL__TAKE_RETIRED = 1u << LULL__HAZPTR_FREES,
	LULL__TAKE_SLOTS = 1u << LULL__HAZPTR_FREES | 1u << LULL__HAZPTR_CALLS | 1u << LULL__HAZPTR_PURE_CALLS,
	LULL__TAKE_ALL = (1u << LULL__KINDS) - 1,
};

/*
 * Take every queue that is due and of one of @kinds, as a list; one heavy fence revokes them all. Without
 * @wait skip queues that another thread has. Queues whose owner is consuming are skipped, too, but for PASS_ALL with @wait.
 */
struct lull__queue *lull__take_due(enum lull__pass what, uint32_t kinds, bool wait);
/* Give back the queues in @taken from which memory is freed. Returns the others. */
struct lull__queue *lull__give_back_frees(struct lull__queue *taken);
void lull__give_back(struct lull__queue *taken);

#endif /* LULL_PASS_H */
