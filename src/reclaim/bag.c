/* SPDX-License-Identifier: MIT */
/*
 * bag.c - which thread owns which bag.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../base/fault.h"
#include "../base/process.h"
#include "../base/registry.h"
#include "../hazptr/table.h"
#include "bag.h"

#define TABLE_KEPT 2048u /* places in a table that a thread keeps between its scans: 16 KiB */

struct lull__reclaimer lull__reclaimer = {
	.sleep = GONE, .config = LULL__RECLAIM_AT_START, .look_bytes = LULL__LOOK_BYTES((size_t)16 << 20),
};

/* ---- owners ------------------------------------------------------------------------------------- */

/* Signals are blocked: see bag.h. */
static void bags_enter(sigset_t *saved)
{
	lull__block_signals(saved);
	lull__lock(&lull__reclaimer.bags_lock);
}

static void bags_leave(const sigset_t *saved)
{
	lull__unlock(&lull__reclaimer.bags_lock);
	lull__restore_signals(saved);
}

/* Take an orphan, with what waits in it: a queue goes on where its last owner has stopped. */
static struct lull__bag *adopt_orphan(void)
{
	struct lull__bag *bag;
	sigset_t saved;

	if (!lull_load_relaxed(&lull__reclaimer.orphans) || LULL__BUSTED(BAG_LEAKED))
		return NULL;
	bags_enter(&saved);
	bag = lull__reclaimer.orphan;
	if (bag) {
		lull__reclaimer.orphan = bag->next_orphan;
		lull_store_relaxed(&bag->state, (uint32_t)BAG_OWNED);
		lull_sub_relaxed(&lull__reclaimer.orphans, 1u);
		lull__self.bag = bag;
	}
	bags_leave(&saved);
	return bag;
}

static void init_queue(struct lull__queue *q, struct lull__bag *bag, uint32_t kind)
{
	q->bag = bag;
	q->kind = kind;
	q->heed = 1;
	q->listing[0].queue = q->listing[1].queue = q;
}

static struct lull__bag *new_bag(void)
{
	struct lull__bag *bag = NULL;
	sigset_t saved;

	if (posix_memalign((void **)&bag, LULL__CACHELINE, sizeof(*bag)) != 0)
		return NULL;
	memset(bag, 0, sizeof(*bag));
	bag->state = BAG_OWNED;
	for (uint32_t kind = 0; kind < LULL__KINDS; kind++)
		init_queue(&bag->queue[kind], bag, kind);
	bags_enter(&saved);
	bag->next = lull__reclaimer.all;
	lull_compiler_barrier(); /* a child forked by another thread follows `next` alone */
	lull_store_relaxed(&lull__reclaimer.all, bag);
	if (bag->next)
		bag->next->prev = bag;
	lull__self.bag = bag;
	bags_leave(&saved);
	return bag;
}

struct lull__bag *lull__own_bag(void)
{
	struct lull__bag *bag = lull__self.bag;

	if (lull_likely(bag != NULL))
		return bag;
	lull__ensure_known();
	bag = adopt_orphan();
	/* Its last owner may have helped. An owner that is not consuming may stop that at any time. */
	for (int kind = 0; bag && kind < LULL__KINDS; kind++)
		lull_store_relaxed(&bag->queue[kind].owner_helps, 0u);
	return bag ? bag : new_bag();
}

/* The table of a thread that is past its exit handling, and would leave a bag behind. */
static __thread struct lull__hazptr_table *late_table __attribute__((tls_model("initial-exec")));

struct lull__hazptr_table *lull__own_table(void)
{
	struct lull__bag *bag = lull__self.state & LULL__STATE_EXITED ? NULL : lull__own_bag();

	return lull__hazptr_table_reserve(bag ? &bag->table : &late_table);
}

static void drop_table(struct lull__hazptr_table **place, size_t kept)
{
	struct lull__hazptr_table *table = *place;

	if (!table || table->size <= kept)
		return;
	*place = NULL;
	lull_compiler_barrier(); /* a child that is forked in free() finds none */
	free(table);
}

void lull__own_table_done(void)
{
	if (lull__self.bag)
		drop_table(&lull__self.bag->table, TABLE_KEPT);
	drop_table(&late_table, 0);
}

static bool is_empty(struct lull__bag *bag)
{
	for (int kind = 0; kind < LULL__KINDS; kind++)
		if (!lull__queue_is_empty(&bag->queue[kind]))
			return false;
	return true;
}

/* Let go of @bag, which this thread has pinned. In a child, which may have been forked meanwhile, nothing is pinned. */
void lull__bag_unpin(struct lull__bag *bag)
{
	/*
	 * ORDER REC-5: this use of the queue before its bag may go; pairs with REC-5 in is_used(); without it the bag is
	 * freed while this thread uses it; model/reclaim/pin.litmus
	 */
	if (lull_load_relaxed(&bag->pins))
		lull_sub_release(&bag->pins, 1u);
}

bool lull__bag_leave(struct lull__bag *bag)
{
	bool waits = !is_empty(bag);
	sigset_t saved;

	bags_enter(&saved);
	bag->next_orphan = lull__reclaimer.orphan;
	lull__reclaimer.orphan = bag;
	lull_store_relaxed(&bag->state, (uint32_t)BAG_ORPHAN);
	lull_add_relaxed(&lull__reclaimer.orphans, 1u);
	bags_leave(&saved);
	return waits;
}

/* ---- the end of bags ---------------------------------------------------------------------------- */

/* May any thread still be at a queue of @bag, which is an orphan and empty? Sweeps, with both locks. */
static bool is_used(struct lull__bag *bag)
{
	/*
	 * ORDER REC-5: the end of the last use before that of the bag; pairs with REC-5 in
	 * lull__bag_unpin(); without it as there; model/reclaim/pin.litmus
	 */
	if (lull_load_acquire(&bag->pins))
		return true;
	for (int kind = 0; kind < LULL__KINDS; kind++) {
		struct lull__queue *q = &bag->queue[kind];

		if (lull_load_relaxed(&q->listing[0].state) != LULL__LISTING_OUT ||
		    lull_load_relaxed(&q->listing[1].state) != LULL__LISTING_OUT ||
		    lull_load_acquire(&q->lock.word)) /* LOCK-1: its use of the queue before the end */
			return true;
	}
	return false;
}

bool lull__bags_to_spare(void)
{
	unsigned empty = 0;
	sigset_t saved;

	if (lull_load_relaxed(&lull__reclaimer.orphans) <= LULL__SPARE_BAGS || LULL__BUSTED(BAG_LEAKED))
		return false;
	bags_enter(&saved);
	for (struct lull__bag *bag = lull__reclaimer.orphan; bag && empty <= LULL__SPARE_BAGS; bag = bag->next_orphan)
		empty += is_empty(bag);
	bags_leave(&saved);
	return empty > LULL__SPARE_BAGS;
}

/* Take orphans that are empty and unused out of all lists, but for a few. They are linked by next_orphan. */
static struct lull__bag *unlink_orphans(void)
{
	struct lull__bag **link = &lull__reclaimer.orphan, *bag, *dead = NULL;
	unsigned kept = 0;

	while ((bag = *link) != NULL) {
		if (!is_empty(bag) || is_used(bag) || kept++ < LULL__SPARE_BAGS) {
			link = &bag->next_orphan;
			continue;
		}
		*link = bag->next_orphan;
		lull_sub_relaxed(&lull__reclaimer.orphans, 1u);
		*(bag->prev ? &bag->prev->next : &lull__reclaimer.all) = bag->next;
		if (bag->next)
			bag->next->prev = bag->prev;
		bag->next_orphan = dead;
		dead = bag;
	}
	return dead;
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

void lull__bags_free_spare(void)
{
	struct lull__bag *dead;
	sigset_t saved;

	bags_enter(&saved);
	dead = unlink_orphans();
	bags_leave(&saved);
	while (dead) {
		struct lull__bag *bag = dead;

		dead = bag->next_orphan;
		free_bag(bag);
	}
}
