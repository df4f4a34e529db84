/* SPDX-License-Identifier: MIT */
/*
 * partition.h - divide the entries that wait in a queue: those that slots name stay, the others are ready.
 *
 * Entries that stay are parked: the slots that name them have PARKED set, and the reclaimer is woken when
 * one of those slots is set. Until then nothing needs to be done about them. Where that cannot be said of each, they
 * are not parked, and the next pass tries again.
 */
#ifndef LULL_PARTITION_H
#define LULL_PARTITION_H

#include <lull/hazptr_key.h>

#include "bag.h"

void lull__call_keyed(struct lull_head *head); /* the function in heads that lull_hazptr_call_key() defers */

/* Return the address by which slots protect @item, of a queue of @kind. */
static inline const void *lull__name_of(uint32_t kind, const void *item)
{
	const struct lull_hazptr_key *k = (const struct lull_hazptr_key *)item;

	return kind == LULL__HAZPTR_CALLS && k && k->head.func == lull__call_keyed ? k->key : item;
}

/*
 * Make ready those entries of [ready, wait) of @q that no slot named when @table was filled. The fence
 * before that came after the unlinking of all of them; if @q has grace periods, theirs is over. The
 * consumer of @q.
 */
void lull__partition(struct lull__queue *q, struct lull__hazptr_table *table);

/*
 * Set PARKED in the slots that name entries of the queues in @taken, and scan them again. Returns false if
 * no slot names any.
 */
bool lull__park_named(struct lull__queue *taken);

/*
 * Mark the entries of @q that slots name, and those that wait for a later grace period than the pass did, as awaited by a
 * barrier. Returns how many were not marked before.
 */
uint64_t lull__mark_awaited(struct lull__queue *q);

/* Does @q hold only entries that slots name, and has none of these slots been set since they were parked? */
bool lull__queue_is_parked(struct lull__queue *q);
/* Is @q parked, but to be checked again after some time all the same? See parked_how(). */
bool lull__queue_needs_recheck(struct lull__queue *q);

#endif /* LULL_PARTITION_H */
