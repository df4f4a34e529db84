/* SPDX-License-Identifier: MIT */
/*
 * bag.c - which thread owns which bag.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/fault.h"
#include "../base/registry.h"
#include "../hazptr/table.h"
#include "bag.h"

struct lull__reclaimer lull__reclaimer = {
	.sleep = GONE,
	.config = LULL__RECLAIM_AT_START,
};

static struct lull__bag *adopt_free_bag(void)
{
	struct lull__bag *bag;

	lull__for_each_bag(bag) {
		uint32_t state = BAG_FREE;

		/*
		 * ORDER REC-5: the last owner's use of the bag before the next one's; pairs with
		 * REC-5 in lull__reclaim_thread_exit(); without it two producers see each other's
		 * half-done queue; model/reclaim/bag.litmus
		 */
		if (lull_load_relaxed(&bag->state) == BAG_FREE &&
		    lull_cas_acquire(&bag->state, &state, (uint32_t)BAG_OWNED))
			return bag;
	}
	return NULL;
}

static struct lull__bag *new_bag(void)
{
	struct lull__bag *bag = NULL;

	if (posix_memalign((void **)&bag, LULL__CACHELINE, sizeof(*bag)) != 0)
		return NULL;
	memset(bag, 0, sizeof(*bag));
	bag->state = BAG_OWNED;
	for (uint32_t kind = 0; kind < LULL__KINDS; kind++)
		bag->queue[kind].kind = kind;
	bag->next = lull_load_relaxed(&lull__reclaimer.bags);
	/*
	 * ORDER REC-6: the bag before its link; pairs with REC-6 in lull__for_each_bag(); without
	 * it a walker sees garbage; model/reclaim/queue.litmus
	 */
	while (!lull_cas_release(&lull__reclaimer.bags, &bag->next, bag))
		;
	return bag;
}

struct lull__bag *lull__own_bag(void)
{
	struct lull__bag *bag = lull__self.bag;

	if (lull_likely(bag != NULL))
		return bag;
	lull__ensure_registered();
	bag = adopt_free_bag();
	/* Its last owner may have helped. An owner that is not consuming may stop that at any time. */
	for (int kind = 0; bag && kind < LULL__KINDS; kind++)
		lull_store_relaxed(&bag->queue[kind].owner_helps, 0u);
	if (!bag)
		bag = new_bag();
	lull__self.bag = bag;
	return bag;
}

struct lull__hazptr_table *lull__own_table(void)
{
	/* A thread that is past its exit handling would leave a bag behind. */
	struct lull__bag *bag = lull__self.state & LULL__STATE_EXITED ? NULL : lull__own_bag();

	return bag ? lull__hazptr_table_reserve(&bag->table) : NULL;
}

bool lull__bag_is_empty(struct lull__bag *bag)
{
	for (int kind = 0; kind < LULL__KINDS; kind++)
		if (!lull__queue_is_empty(&bag->queue[kind]))
			return false;
	return true;
}

void lull__bag_recycle(struct lull__bag *bag)
{
	uint32_t state = BAG_ORPHAN;

	/*
	 * Relaxed: the swap passes the orphan's release on to the next owner (REC-5), and an entry that
	 * is not seen here yet is reclaimed after the bag has a new owner.
	 */
	if (lull_load_relaxed(&bag->state) == BAG_ORPHAN && lull__bag_is_empty(bag) && !LULL__BUSTED(BAG_LEAKED))
		lull_cas_relaxed(&bag->state, &state, (uint32_t)BAG_FREE);
}
