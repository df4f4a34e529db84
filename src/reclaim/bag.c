/* SPDX-License-Identifier: MIT */
/*
 * bag.c - which thread owns which bag.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/fault.h"
#include "../base/process.h"
#include "../base/registry.h"
#include "../hazptr/table.h"
#include "bag.h"

#define TABLE_KEPT 2048u /* places in a table that a thread keeps between its scans: 16 KiB */

struct lull__reclaimer lull__reclaimer = {
	.sleep = GONE,
	.config = LULL__RECLAIM_AT_START,
	.look_bytes = LULL__LOOK_BYTES((size_t)16 << 20),
};

/* ---- walks -------------------------------------------------------------------------------------- */

void lull__bags_enter(void)
{
	lull__self.walks++;
	lull_add_relaxed(&lull__reclaimer.walkers, 1u);
	/*
	 * ORDER REC-14: the count of walkers before the list; pairs with REC-14 in lull__bags_sweep()
	 * (unlink, heavy, count the walkers); without it a bag is freed under a thread that has found it;
	 * model/reclaim/bag-walk.tpl
	 */
	lull_fence_light();
}

void lull__bags_leave(void)
{
	/*
	 * ORDER REC-15: the walker's last look at a bag before it is no walker; pairs with REC-15 in
	 * lull__bags_sweep(); without it a bag is freed while it is read; model/reclaim/bag-free.litmus
	 */
	lull_add_release(&lull__reclaimer.walkers, -1u);
	lull__self.walks--;
}

/* ---- owners ------------------------------------------------------------------------------------- */

/* Take an orphan, with what waits in it: a queue goes on where its last owner has stopped. */
static struct lull__bag *adopt_orphan(void)
{
	struct lull__bag *bag;

	if (!lull_load_relaxed(&lull__reclaimer.orphans) || LULL__BUSTED(BAG_LEAKED))
		return NULL;
	lull__bags_enter();
	lull__for_each_bag(bag) {
		uint32_t state = BAG_ORPHAN;

		/*
		 * ORDER REC-5: the last owner's use of the bag before the next one's; pairs with
		 * REC-5 in lull__bag_leave(); without it two producers see each other's half-done
		 * queue; model/reclaim/bag.litmus
		 */
		if (lull_load_relaxed(&bag->state) == BAG_ORPHAN &&
		    lull_cas_acquire(&bag->state, &state, (uint32_t)BAG_OWNED)) {
			lull_sub_relaxed(&lull__reclaimer.orphans, 1u);
			break;
		}
	}
	lull__bags_leave();
	return bag;
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
	 * Every change of `bags` is a swap, so a thread that acquires the newest bag acquires all.
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
	bag = adopt_orphan();
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

void lull__own_table_done(void)
{
	struct lull__bag *bag = lull__self.bag;
	struct lull__hazptr_table *table = bag ? bag->table : NULL;

	if (!table || table->size <= TABLE_KEPT)
		return;
	bag->table = NULL;
	lull_compiler_barrier(); /* a child that is forked in free() finds none */
	free(table);
}

bool lull__bag_is_empty(struct lull__bag *bag)
{
	for (int kind = 0; kind < LULL__KINDS; kind++)
		if (!lull__queue_is_empty(&bag->queue[kind]))
			return false;
	return true;
}

bool lull__bag_leave(struct lull__bag *bag)
{
	bool waits = !lull__bag_is_empty(bag);

	lull_add_relaxed(&lull__reclaimer.orphans, 1u);
	/*
	 * ORDER REC-5: the owner's use of the bag before it is an orphan; pairs with REC-5 in
	 * adopt_orphan() and in unlink_if_empty(); without it as there; model/reclaim/bag.litmus
	 */
	lull_store_release(&bag->state, (uint32_t)BAG_ORPHAN);
	return waits;
}

/* ---- the end of bags ---------------------------------------------------------------------------- */

bool lull__bags_to_sweep(void)
{
	struct lull__bag *bag;
	unsigned empty = 0;

	if (lull_load_relaxed(&lull__reclaimer.dead))
		return true;
	if (lull_load_relaxed(&lull__reclaimer.orphans) <= LULL__SPARE_BAGS)
		return false;
	lull__bags_enter();
	lull__for_each_bag(bag)
		empty += lull_load_relaxed(&bag->state) == BAG_ORPHAN && lull__bag_is_empty(bag);
	lull__bags_leave();
	return empty > LULL__SPARE_BAGS;
}

/* Take @bag, to which *@at leads, out of the list if it is an orphan and empty. Under bags_lock. */
static bool unlink_if_empty(struct lull__bag *bag, struct lull__bag **at)
{
	uint32_t state = BAG_ORPHAN;
	struct lull__bag *was = bag;

	if (lull_load_relaxed(&bag->state) != BAG_ORPHAN || LULL__BUSTED(BAG_LEAKED))
		return false;
	/* REC-5: all that its last owner put in, before the look whether it is empty. No thread adopts it now. */
	if (!lull_cas_acquire(&bag->state, &state, (uint32_t)BAG_DEAD))
		return false;
	/* New bags come in at the head at any time, so *@at may lead to a new one by now. */
	if (!lull__bag_is_empty(bag) || !lull_cas_relaxed(at, &was, bag->next)) {
		lull_store_release(&bag->state, (uint32_t)BAG_ORPHAN); /* REC-5: go on */
		return false;
	}
	lull_sub_relaxed(&lull__reclaimer.orphans, 1u);
	for (int kind = 0; kind < LULL__KINDS; kind++) {
		lull__reclaimer.gone_items += bag->queue[kind].put;
		lull__reclaimer.gone_bytes += bag->queue[kind].put_bytes;
	}
	bag->next_dead = lull__reclaimer.dead;
	lull_store_relaxed(&lull__reclaimer.dead, bag);
	return true;
}

static void unlink_empty(void)
{
	struct lull__bag **at = &lull__reclaimer.bags, *bag;
	unsigned left = lull_load_relaxed(&lull__reclaimer.orphans);

	while (left > LULL__SPARE_BAGS && (bag = lull_load_acquire(at)) != NULL) { /* REC-6 */
		if (unlink_if_empty(bag, at))
			left--;
		else
			at = &bag->next;
	}
}

static void free_bag(struct lull__bag *bag)
{
	for (int kind = 0; kind < LULL__KINDS; kind++) {
		/* The watch has not seen yet that its last callback is over. */
		if (bag->queue[kind].callback_wait.kind != LULL_WAIT_NONE)
			lull__wait_end(&bag->queue[kind].callback_wait);
		lull__queue_free_chunks(&bag->queue[kind]);
	}
	free(bag->table);
	free(bag);
}

/* Has a thread taken a queue of @bag, which it found before the bag was unlinked, and not given it back? */
static bool is_taken(struct lull__bag *bag)
{
	for (int kind = 0; kind < LULL__KINDS; kind++)
		if (lull_load_acquire(&bag->queue[kind].lock.word)) /* LOCK-1: its use of the queue before the end */
			return true;
	return false;
}

static void free_dead(void)
{
	struct lull__bag **at = &lull__reclaimer.dead, *bag;

	while ((bag = *at) != NULL) {
		if (is_taken(bag)) {
			at = &bag->next_dead;
			continue;
		}
		lull_store_relaxed(at, bag->next_dead);
		lull_compiler_barrier(); /* a child that is forked in free() does not find it again */
		free_bag(bag);
	}
}

void lull__bags_sweep(void)
{
	if (!lull__bags_to_sweep())
		return;
	lull__init(); /* an unnoticed child makes the lock free before it takes it */
	if (!lull__trylock(&lull__reclaimer.bags_lock))
		return;
	unlink_empty();
	if (lull__reclaimer.dead) {
		/*
		 * ORDER REC-14: the unlinking before the count of walkers; pairs with REC-14 in
		 * lull__bags_enter(); without it as there; model/reclaim/bag-walk.tpl
		 */
		lull_fence_heavy();
		/*
		 * ORDER REC-15: the count of walkers before the end of the bags; pairs with REC-15 in
		 * lull__bags_leave(); without it as there; model/reclaim/bag-free.litmus
		 */
		if (lull_load_acquire(&lull__reclaimer.walkers) == 0)
			free_dead();
	}
	lull__unlock(&lull__reclaimer.bags_lock);
}
