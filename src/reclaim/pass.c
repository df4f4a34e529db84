/* SPDX-License-Identifier: MIT */
/*
 * pass.c - one pass over all queues: take those that are due, wait for readers, reclaim, give back.
 */
#include "../base/events.h"
#include "../base/fault.h"
#include "../base/message.h"
#include "../base/registry.h"
#include "../hazptr/slots.h"
#include "../hazptr/table.h"
#include "backlog.h"
#include "overflow.h"
#include "partition.h"
#include "pass.h"

#define SERVE_NS 10000000u /* in a long grace period, so often reclaim entries that do not wait for it */

/* ---- one queue -------------------------------------------------------------------------------- */

/* Make [ready, wait) of @q ready, except the entries that slots name. */
static void scan_queue(struct lull__queue *q)
{
	struct lull__hazptr_table *table = lull__own_table();

	/*
	 * ORDER BRI-1: a grace period before the scan of the slots; pairs with BRI-1 in
	 * lull__hazptr_set_rcu(); without it as there; model/reclaim/bridge.litmus (A queue without
	 * grace periods makes a fence instead.)
	 */
	if (!lull__kind_has_gp(q->kind))
		lull__hazptr_fence(!lull_load_relaxed(&q->has_light));
	lull__hazptr_collect(table);
	lull__partition(q, table);
}

void lull__advance(struct lull__queue *q)
{
	if (q->ready == q->wait)
		return;
	if (lull__kind_has_gp(q->kind) && !lull__rcu_advance(q->cookie))
		return;
	if (lull__kind_has_slots(q->kind))
		scan_queue(q);
	else
		lull__queue_make_ready(q, q->wait);
}

/* ---- passes over all bags ------------------------------------------------------------------- */

bool lull__is_due(struct lull__bag *bag, int kind, enum lull__pass what)
{
	struct lull__queue *q = &bag->queue[kind];

	if (lull__queue_is_empty(q))
		return false;
	if (what != PASS_ALL && lull__queue_is_parked(q))
		return what == PASS_ABANDONED && lull__queue_needs_recheck(q);
	if (what == PASS_ALL || !lull__queue_owner_reclaims(q))
		return true;
	if (lull_load_relaxed(&bag->state) == BAG_ORPHAN)
		return true;
	return what == PASS_ABANDONED && lull_load_relaxed(&q->done) == lull_load_relaxed(&q->last_done);
}

/*
 * Take every queue that is due: one heavy fence revokes them all. Locks are taken in the order of the list
 * of bags, in which new ones come first, so that two threads that take queues cannot deadlock.
 */
struct lull__queue *lull__take_due(enum lull__pass what, bool wait_for_locks, bool slots_only)
{
	struct lull__queue *taken = NULL, **end = &taken;
	struct lull__bag *bag;
	bool revoked = false;

	lull__for_each_bag(bag) {
		for (int kind = 0; kind < LULL__KINDS; kind++) {
			struct lull__queue *q = &bag->queue[kind];

			if ((slots_only && lull__kind_has_gp(q->kind)) || !lull__is_due(bag, kind, what))
				continue;
			if (wait_for_locks)
				lull__lock(&q->lock);
			else if (!lull__trylock(&q->lock))
				continue;
			q->next_taken = NULL;
			q->rechecking = lull__queue_needs_recheck(q);
			*end = q;
			end = &q->next_taken;
			if (bag != lull__self.bag && lull__queue_owner_reclaims(q)) {
				lull__queue_revoke(q);
				revoked = true;
			}
			if (what == PASS_ABANDONED && lull_load_relaxed(&lull__reclaimer.mode) != LULL_RECLAIM_CALLER)
				lull_store_relaxed(&q->owner_helps, 0u);
		}
	}
	if (revoked)
		lull_fence_heavy(); /* REC-8 */
	for (struct lull__queue *q = taken; q; q = q->next_taken)
		if (q->revoked)
			lull__queue_await_owner(q);
	return taken;
}

void lull__give_back(struct lull__queue *taken)
{
	struct lull__bag *bag;

	while (taken) {
		struct lull__queue *q = taken;

		taken = q->next_taken;
		lull__queue_release(q);
	}
	lull__for_each_bag(bag)
		lull__bag_recycle(bag);
}

/* Move the queues that wait for slots only from @taken to a list of their own, and return that. */
static struct lull__queue *split(struct lull__queue **taken)
{
	struct lull__queue *picked = NULL, **end = &picked, **at = taken;

	while (*at) {
		struct lull__queue *q = *at;

		if (lull__kind_has_gp(q->kind)) {
			at = &q->next_taken;
			continue;
		}
		*at = q->next_taken;
		*end = q;
		end = &q->next_taken;
	}
	*end = NULL;
	return picked;
}

/*
 * Ask for a scan for all entries that are in the queues now. Returns whether one of them needs a heavy
 * fence.
 */
static bool ask_for_slots(struct lull__queue *taken)
{
	bool wants_heavy = false;

	for (struct lull__queue *q = taken; q; q = q->next_taken) {
		lull__queue_ask(q, lull__queue_put(q));
		wants_heavy |= lull_load_relaxed(&q->has_light) != 0;
	}
	return wants_heavy;
}

/*
 * Ask for grace periods for all entries that are in the queues now. Returns the latest one that a queue
 * waits for. *@newly: one that begins after this call; 0: none was asked for.
 */
static lull_rcu_cookie ask_for_gp(struct lull__queue *taken, lull_rcu_cookie *newly)
{
	lull_rcu_cookie latest = 0;

	*newly = 0;
	for (struct lull__queue *q = taken; q; q = q->next_taken) {
		uint64_t put = lull__queue_put(q);

		if (q->wait < put) {
			lull__queue_ask(q, put);
			*newly = q->cookie;
		}
		if (q->ready < q->wait && q->cookie > latest)
			latest = q->cookie;
	}
	return latest;
}

/*
 * Make the fence between the unlinking before ask_for_slots() and the scan of the slots. A grace period
 * that begins after ask_for_slots() begins with such a fence: then no other is needed. HAZ-1, HAZ-11.
 */
static void fence_for(bool wants_heavy, lull_rcu_cookie newly)
{
	if (wants_heavy && newly) {
		lull__rcu_advance(newly);
		if (lull__rcu_has_begun(newly))
			return;
	}
	lull__hazptr_fence(!wants_heavy);
}

/*
 * Make [ready, wait) of all queues in @taken ready, except the entries that slots name according to @table.
 */
static void make_ready(struct lull__queue *taken, struct lull__hazptr_table *table)
{
	for (struct lull__queue *q = taken; q; q = q->next_taken) {
		if (lull__kind_has_slots(q->kind))
			lull__partition(q, table);
		else
			lull__queue_make_ready(q, q->wait);
	}
}

static struct lull__hazptr_table *collect_slots(struct lull__queue *taken)
{
	struct lull__hazptr_table *table = NULL;
	bool wanted = false;

	for (struct lull__queue *q = taken; q; q = q->next_taken)
		wanted |= lull__kind_has_slots(q->kind);
	if (wanted) {
		table = lull__own_table();
		lull__hazptr_collect(table);
	}
	return table;
}

/*
 * Reclaim what is ready in @taken; without @calls only in queues of memory to free. Returns how many items.
 */
static size_t run_taken(struct lull__queue *taken, bool calls)
{
	size_t count = 0, bytes = 0;

	for (struct lull__queue *q = taken; q; q = q->next_taken)
		if (calls || !lull__kind_is_call(q->kind))
			count += lull__queue_run(q, SIZE_MAX, &bytes);
	lull__backlog_sub(count, bytes);
	return count;
}

/* Mark the entries that remain in @taken because slots name them: a barrier waits for them. */
static void mark_taken_awaited(struct lull__queue *taken)
{
	for (struct lull__queue *q = taken; q; q = q->next_taken) {
		uint64_t more = lull__mark_awaited(q);

		q->awaited += more;
		lull_add_relaxed(&lull__queue_awaited, more);
	}
}

/* Give back the queues of memory to free. Returns the others. */
struct lull__queue *lull__give_back_frees(struct lull__queue *taken)
{
	struct lull__queue *calls = NULL, **end = &calls;

	while (taken) {
		struct lull__queue *q = taken;

		taken = q->next_taken;
		if (!lull__kind_is_call(q->kind)) {
			lull__queue_release(q);
			continue;
		}
		*end = q;
		end = &q->next_taken;
	}
	*end = NULL;
	return calls;
}

/*
 * Reclaim what is ready in @taken, and give the queues back: those of memory to free first, so that their
 * owners do not wait for callbacks. @awaited: a barrier waits for the rest.
 */
static size_t reclaim_taken(struct lull__queue *taken, bool awaited)
{
	size_t count = run_taken(taken, false);

	if (lull__park_named(taken))
		count += run_taken(taken, false);
	if (awaited)
		mark_taken_awaited(taken);
	taken = lull__give_back_frees(taken);
	if (taken) {
		if (lull__watch)
			lull__watch->callbacks_begin();
		count += run_taken(taken, true);
		if (lull__watch)
			lull__watch->callbacks_end();
	}
	lull__give_back(taken);
	return count;
}

/* Reclaim from the queues that wait for slots only, if no other thread has them. */
static size_t serve_slots(void)
{
	struct lull__queue *taken = lull__take_due(PASS_ABANDONED, false, true);

	if (!taken)
		return 0;
	fence_for(ask_for_slots(taken), 0);
	make_ready(taken, collect_slots(taken));
	return reclaim_taken(taken, false);
}

/*
 * Make one pass over all queues that are due: those that wait for slots only, then, after a grace period,
 * the others. One heavy fence serves both. Waits. Meanwhile the owners go on deferring; only reclaiming is
 * up to this thread. Returns how many items were reclaimed.
 */
size_t lull__pass(enum lull__pass what)
{
	struct lull__queue *taken = lull__take_due(what, true, false), *slots_only = split(&taken);
	bool any = taken || slots_only;
	struct lull__hazptr_table *table = NULL;
	/* First, so that the fence of a new grace period serves them too. */
	bool wants_heavy = ask_for_slots(slots_only);
	bool awaited = what == PASS_ALL && lull_load_relaxed(&lull__reclaimer.mark_awaited);
	lull_rcu_cookie newly, latest = ask_for_gp(taken, &newly);
	size_t count = 0;

	lull_add_relaxed(&lull__reclaimer.passes, (uint64_t)1);
	lull__event_count(&lull__page()->passes, 1);
	if (slots_only) {
		fence_for(wants_heavy, newly);
		make_ready(slots_only, collect_slots(slots_only));
		count += reclaim_taken(slots_only, awaited);
	}
	if (LULL__BUSTED(BRIDGE_SCAN_FIRST))
		table = collect_slots(taken);
	while (latest && !lull__rcu_wait_until(latest, lull__now_ns() + SERVE_NS))
		count += serve_slots(); /* hazard pointers do not wait for sections */
	if (!LULL__BUSTED(BRIDGE_SCAN_FIRST))
		table = collect_slots(taken); /* BRI-1: after the grace period */
	make_ready(taken, table);
	count += reclaim_taken(taken, awaited);
	count += lull__overflow_run();
	lull__backlog_publish();
	if (count || !any)
		lull_store_relaxed(&lull__reclaimer.futile, 0u);
	else
		lull_add_relaxed(&lull__reclaimer.futile, 1u);
	return count;
}
