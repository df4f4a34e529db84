/* SPDX-License-Identifier: MIT */
/*
 * edges.c - debug builds: which threads hold up what a thread waits for.
 *
 * Each edge is looked up where the waiter itself looks, at the moment of the question, and never taken from what somebody
 * noted earlier: a waiter that has been woken, and does not run yet, waits for no thread any more.
 */
#ifdef LULL_DEBUG
#include <lull/cohort.h>

#include "../cohort/cohort_life.h"
#include "../hazptr/slots.h"
#include "../owner_runs/owner.h"
#include "../rcu/grace_period.h"
#include "../rcu/holdouts.h"
#include "../reclaim/bag.h"
#include "waits.h"

/* One of the items that the barrier which waits now waits for, and that a slot named; NULL: none is known. */
static const void *awaited_item;

void lull__edges_awaited(const void *item, bool begins)
{
	if (begins)
		lull_store_relaxed(&awaited_item, item);
	else if (lull_load_relaxed(&awaited_item) == item)
		lull_store_relaxed(&awaited_item, (const void *)NULL); /* it is about to be freed */
}

struct holders {
	const struct lull__awaited *of;
	uint32_t *tids;
	unsigned count;
};

/* Add @tid; 0: no thread has it now, and any may let it go. */
static void add_holder(struct holders *h, uint32_t tid)
{
	if (tid && h->count < LULL__HOLDERS_MOST)
		h->tids[h->count++] = tid;
}

/*
 * A grace period waits for threads in sections that are older, and that a leader has flagged because of that. The flag
 * leaves out those which carry an old number, but began after the grace period's scan, unless it was set too late for an
 * earlier section of theirs.
 */
static void add_readers(struct holders *h)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;

	lull__registry_enter(&hold);
	lull__for_each_thread(thread) {
		uint64_t word = lull_load_relaxed(&thread->rcu);

		if (word >= LULL__RCU_STEP && number_of(word) < h->of->number &&
		    lull_load_relaxed(&thread->flags) & LULL__FLAG_RCU_WAITED)
			add_holder(h, thread->tid);
	}
	lull__registry_leave(&hold);
	if (lull__rcu_is_over(h->of->number))
		h->count = 0;
}

/* As visit_held() of hazptr/hazptr_wait.c. */
static void visit_named(struct lull_hazptr *slot, uintptr_t addr, uint32_t owner, void *arg)
{
	struct holders *h = arg;

	if (addr - (uintptr_t)h->of->what < h->of->len &&
	    lull_load_relaxed(&slot->state) / LULL__HAZPTR_STAMP < h->of->number)
		add_holder(h, owner);
}

static void visit_awaited(struct lull_hazptr *slot, uintptr_t addr, uint32_t owner, void *arg)
{
	(void)slot;
	if (addr == (uintptr_t)lull_load_relaxed(&awaited_item))
		add_holder(arg, owner);
}

/* A slot with PARKED names a head that waits to be reclaimed, until it changes; another may name one that is done. */
static void visit_member(struct lull_hazptr *slot, uintptr_t addr, uint32_t owner, void *arg)
{
	struct holders *h = arg;

	if (lull_load_relaxed(&slot->state) & LULL__HAZPTR_PARKED && lull__cohort_has(h->of->what, addr))
		add_holder(h, owner);
}

static void add_reclaimer(struct holders *h)
{
	if (lull_load_relaxed(&lull__reclaimer.mode) != LULL_RECLAIM_POLL &&
	    lull_load_relaxed(&lull__reclaimer.thread) == HAS_THREAD &&
	    lull_load_relaxed(&lull__reclaimer.flush_done) < h->of->number)
		add_holder(h, lull_load_relaxed(&lull__reclaimer.tid));
}

unsigned lull__holders_of(const struct lull__wish *wish, uint32_t tids[LULL__HOLDERS_MOST])
{
	struct holders h = { &wish->of, tids, 0 };

	switch (wish->of.kind) {
	case LULL__AWAITS_NOTHING:
	case LULL__AWAITS_LATER:
		break;
	case LULL__AWAITS_MUTEX:
		add_holder(&h, lull__owner_of(wish->of.what));
		break;
	case LULL__AWAITS_GP:
		add_readers(&h);
		break;
	case LULL__AWAITS_HAZPTR:
		lull__hazptr_for_each_slot(visit_named, &h);
		break;
	case LULL__AWAITS_RECLAIMER:
		add_reclaimer(&h);
		break;
	case LULL__AWAITS_PARKED:
		lull__hazptr_for_each_slot(visit_awaited, &h);
		break;
	case LULL__AWAITS_COHORT:
		h.count = lull__waits_callers(wish->of.what, tids, LULL__HOLDERS_MOST);
		lull__hazptr_for_each_slot(visit_member, &h);
		break;
	}
	return h.count;
}
#endif
