/* SPDX-License-Identifier: MIT */
/*
 * limits.h - a thread and its own queues: may it reclaim, and what does it do past a limit of the backlog?
 */
#ifndef LULL_LIMITS_H
#define LULL_LIMITS_H

#include "bag.h"

/*
 * Take the right to consume @q, if its owner reclaims. That is checked with the right in hand: other
 * threads take a queue whose owner does not reclaim without revoking.
 */
static inline bool lull__own_queue_enter(struct lull__queue *q)
{
	if (!lull__queue_owner_enter(q))
		return false;
	if (lull_likely(lull__queue_owner_reclaims(q)))
		return true;
	lull__queue_owner_leave(q);
	return false;
}

/* Make ready what can be in @q, and ask for a grace period or a scan if @ask_at entries are new. The owner, consuming. */
void lull__advance_own_queue(struct lull__queue *q, uint64_t ask_at);
/* Reclaim all that is ready in @q. The owner, which has the right to consume and gives it back. */
void lull__run_own_queue(struct lull__queue *q);

/*
 * Let the owner run the callbacks in its queue @q, or not any more. Other threads read `owner_helps` with the lock
 * held, so from here on they revoke. The help also ends when a pass finds the queue abandoned (lull__take_due), and
 * with another mode than CALLER (owners_leave). Returns false if another thread has the queue now and @wait is false.
 */
bool lull__set_help(struct lull__queue *q, bool helps, bool wait);
/* Let the owner of @q, the calling thread, begin to reclaim from it, if it is to. @may: it can reclaim at this moment. */
bool lull__begin_help(struct lull__queue *q, bool may);

/* Does the owner of @q, the calling thread, reclaim from it, or begin to now? */
static inline bool lull__is_mine(struct lull__queue *q, bool may)
{
	return lull__queue_owner_reclaims(q) || lull__begin_help(q, may);
}

/*
 * Add the new entries of @q to the backlog and check its limits. Returns whether one is exceeded. @owed: how many looks
 * at the limits in a section this one makes up for.
 */
bool lull__check_limits(struct lull__queue *q, bool mine, uint64_t owed);

#endif /* LULL_LIMITS_H */
