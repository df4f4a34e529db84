/* SPDX-License-Identifier: MIT */
/*
 * partition.h - divide what waits in a queue: the entries that slots name stay, the others are ready.
 *
 * Entries that stay are parked: the slots that name them say PARKED, and the reclaimer hears when one of those says
 * something else. Until then nothing needs to be done about them.
 */
#ifndef LULL_PARTITION_H
#define LULL_PARTITION_H

#include "bag.h"

/*
 * Make those of [ready, wait) of @q ready that no slot named when @table was filled. All of it was unlinked before the
 * fence that came before that; of a queue with grace periods, its grace period is over. The consumer.
 */
void lull__partition(struct lull__queue *q, struct lull__hazptr_table *table);

/*
 * Let the slots that name entries of the queues in @taken say PARKED, and look at them again. Returns false when
 * no slot names any.
 */
bool lull__park_named(struct lull__queue *taken);

/* Mark what slots name in @q as awaited by a barrier. Returns how many entries were not marked before. */
uint64_t lull__mark_awaited(struct lull__queue *q);

/* Nothing is in @q but what slots name, and none of these has said something else since. */
bool lull__queue_is_parked(struct lull__queue *q);
/* It is, and has to be looked at again after some time all the same: see lull__park_named(). */
bool lull__queue_needs_recheck(struct lull__queue *q);

#endif /* LULL_PARTITION_H */
