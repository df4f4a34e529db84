/* SPDX-License-Identifier: MIT */
/*
 * pass.c - one pass over all queues: take those that are due, wait for readers, reclaim, give back.
 */
#include <limits.h>

#include "../base/deadline.h"
#include "../base/events.h"
#include "../base/fault.h"
#include "../base/registry.h"
#include "../hazptr/slots.h"
#include "../hazptr/table.h"
#include "backlog.h"
#include "overflow.h"
#include "partition.h"
#include "pass.h"

#define RETIRED_WAIT_NS 1000000000u /* longest wait of a thread that retires for another that frees */
#define OWNER_WAIT_NS 1000000u /* longest wait for an owner that consumes with other queues in hand */
#define SERVE_NS 10000000u /* in a long grace period, so often reclaim entries that do not wait for it */

/* ---- one queue -------------------------------------------------------------------------------- */

/* Make [ready, wait) of @q ready, except the entries that slots name. */
static void scan_queue(struct lull__queue *q)
{
	struct lull__hazptr_table *table = lull__own_table();

	/*
	 * ORDER BRI-1: a grace period before the scan of the slots; pairs with BRI-1 in
	 * lull__hazptr_set_rcu(); without it as there; model/reclaim/bridge.litmus (A queue without
	 * grace periods makes a fence instead, and so does one whose grace period made no heavy one: HAZ-1.)
	 */
	if (!lull__kind_has_gp(q->kind))
		lull__hazptr_fence(!lull_load_relaxed(&q->has_light));
	else if (!lull__rcu_has_fenced(q->cookie))
		lull__hazptr_fence(false);
	lull__hazptr_collect(table);
	lull__partition(q, table);
	lull__own_table_done();
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

/* ---- passes over all queues ------------------------------------------------------------------- */

bool lull__is_due(struct lull__queue *q, enum lull__pass what)
{
	if (lull__queue_is_empty(q))
		return false;
	if (what != PASS_ALL && lull__queue_is_parked(q))
		return what == PASS_ABANDONED && lull__queue_needs_recheck(q);
	if (what == PASS_ALL || !lull__queue_owner_reclaims(q))
		return true;
	if (lull_load_relaxed(&q->bag->state) == BAG_ORPHAN)
		return true;
	return what == PASS_ABANDONED && lull_load_relaxed(&q->done) == lull_load_relaxed(&q->last_done);
}

/* Take @q, whose lock the caller has just got. Returns whether its owner may be consuming. */
static bool take_locked(struct lull__queue *q)
{
	bool revoke = q->bag != lull__self.bag && lull__queue_owner_reclaims(q);

	q->next_taken = NULL;
	q->rechecking = lull__queue_needs_recheck(q);
	if (revoke)
		lull__queue_revoke(q);
	return revoke;
}

/*
 * Wait until the owners of the queues in @taken consume no longer; or, without @wait, give those back. Those that have
 * abandoned what is in there help no more. Not while they consume: who takes the queue next would not revoke then. An owner in a
 * callback may wait there for what is in the others (cohort/inside.h): store its queue in *@stuck.
 */
static struct lull__queue *await_owners(struct lull__queue *taken, enum lull__pass what, bool wait, struct lull__queue **stuck)
{
	bool abandoned = what == PASS_ABANDONED && lull_load_relaxed(&lull__reclaimer.mode) != LULL_RECLAIM_CALLER;
	struct lull__queue **at = &taken, *q;

	while ((q = *at) != NULL) {
		if (q->revoked && !wait && lull_load_relaxed(&q->busy)) {
			*at = q->next_taken;
			lull__queue_release(q);
			continue;
		}
		if (q->revoked && !lull__queue_await_owner(q, lull__now_ns() + OWNER_WAIT_NS)) {
			*stuck = q;
			break;
		}
		if (abandoned)
			lull_store_relaxed(&q->owner_helps, 0u);
		at = &q->next_taken;
	}
	return taken;
}

/* Give back all queues in @taken, and wait for the owner of @stuck with nothing but that one in hand. */
static void await_alone(struct lull__queue *taken, struct lull__queue *stuck)
{
	struct lull__queue **at = &taken;

	while (*at != stuck)
		at = &(*at)->next_taken;
	*at = stuck->next_taken;
	lull__give_back(taken);
	lull__queue_await_owner(stuck, LULL__NEVER);
	lull__queue_release(stuck);
}

/*
 * Take the queues that are due, as lull__take_due() does. If another thread has one, and @wait, return it: pinned, for the
 * caller is to wait for it, but not in a walk, in which no bag is freed, and not with other queues in hand.
 */
static struct lull__queue *take_in_walk(enum lull__pass what, uint32_t kinds, bool wait, struct lull__queue **taken,
					bool *revoked)
{
	struct lull__queue **end = taken, *q;
	struct lull__listing *at;
	uint32_t idle = 0;

	lull__for_each_queue(at, q) {
		idle += lull__queue_is_empty(q);
		if (!(kinds & 1u << q->kind) || lull_load_relaxed(&q->holder) == &lull__self || !lull__is_due(q, what))
			continue;
		if (!lull__trylock(&q->lock)) {
			if (!wait)
				continue;
			lull_add_relaxed(&q->bag->pins, 1u);
			return q;
		}
		*revoked |= take_locked(q);
		*end = q;
		end = &q->next_taken;
	}
	lull_store_relaxed(&lull__reclaimer.idle, idle);
	return NULL;
}

/*
 * Queues of retired memory are taken apart from all others: a thread that holds such a
 * queue never waits for a callback, so the queue's owner may wait for that thread. An owner that consumes has abandoned
 * nothing, so only a barrier waits for one: it may not run for long.
 */
struct lull__queue *lull__take_due(enum lull__pass what, uint32_t kinds, bool wait)
{
	struct lull__queue *taken, *busy, *stuck;
	bool revoked;
	uint64_t process;

	for (;;) {
		taken = stuck = NULL;
		revoked = false;
		process = lull__walk_enter();
		busy = take_in_walk(what, kinds, wait, &taken, &revoked);
		lull__walk_leave(process);
		if (busy) {
			lull__give_back(taken);
			lull__lock_await(&busy->lock, LULL__NEVER);
			lull__bag_unpin(busy->bag);
			continue;
		}
		if (revoked)
			lull_fence_heavy(); /* REC-8 */
		taken = await_owners(taken, what, wait && what == PASS_ALL, &stuck);
		if (!stuck)
			return taken;
		await_alone(taken, stuck);
	}
}

void lull__give_back(struct lull__queue *taken)
{
	while (taken) {
		struct lull__queue *q = taken;

		taken = q->next_taken;
		lull__queue_release(q);
	}
}

/* Move the queues of the kinds that @is_picked picks from @taken to a list of their own, and return that. */
static struct lull__queue *split(struct lull__queue **taken, bool (*is_picked)(uint32_t kind))
{
	struct lull__queue *picked = NULL, **end = &picked, **at = taken;

	while (*at) {
		struct lull__queue *q = *at;

		if (!is_picked(q->kind)) {
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
 * Ask for grace periods for the entries that are in the queues now. Without @all skip each queue that waits for one
 * already: to ask again would put the end of that wait off, each time that something is deferred. Return the latest
 * one that a queue waits for. *@newly: one that begins after this call; 0: none was asked for.
 */
static lull_rcu_cookie ask_for_gp(struct lull__queue *taken, bool all, lull_rcu_cookie *newly)
{
	lull_rcu_cookie latest = 0;

	*newly = 0;
	for (struct lull__queue *q = taken; q; q = q->next_taken) {
		uint64_t put = lull__queue_put(q);

		if (q->wait < put && (all || q->ready == q->wait)) {
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
 * that begins after ask_for_slots() may begin with such a fence: then no other is needed. HAZ-1, HAZ-11.
 */
static void fence_for(bool wants_heavy, lull_rcu_cookie newly)
{
	if (wants_heavy && newly) {
		lull__rcu_advance(newly);
		if (lull__rcu_has_fenced(newly))
			return;
	}
	lull__hazptr_fence(!wants_heavy);
}

/*
 * Make [ready, wait) of all queues in @taken ready, except the entries that slots name according to @table. The grace
 * period of @latest is over.
 */
static void make_ready(struct lull__queue *taken, struct lull__hazptr_table *table, lull_rcu_cookie latest)
{
	for (struct lull__queue *q = taken; q; q = q->next_taken) {
		if (lull__kind_has_gp(q->kind) && q->cookie > latest)
			continue; /* a callback has asked for a later one (cohort/inside.c); what this pass is for is ready */
		if (lull__kind_has_slots(q->kind))
			lull__partition(q, table);
		else
			lull__queue_make_ready(q, q->wait);
	}
}

/* Look at the slots, if a queue in @taken waits for them, after the heavy fence of the grace period of @cookie. */
static struct lull__hazptr_table *collect_slots(struct lull__queue *taken, lull_rcu_cookie cookie)
{
	struct lull__hazptr_table *table = NULL;
	bool wanted = false;

	for (struct lull__queue *q = taken; q; q = q->next_taken)
		wanted |= lull__kind_has_slots(q->kind);
	if (wanted) {
		table = lull__own_table();
		if (!lull__rcu_has_fenced(cookie))
			lull__hazptr_fence(false); /* HAZ-1: the grace period made none */
		lull__hazptr_collect(table);
	}
	return table;
}

/*
 * Reclaim what is ready in @taken; without @calls only in queues of memory to free. Returns how many items.
 */
static size_t run_taken(struct lull__queue *taken, bool calls)
{
	struct lull__queue *before = calls ? lull__hold(taken) : NULL;
	size_t all = 0;

	for (struct lull__queue *q = taken; q; q = q->next_taken) {
		size_t bytes = 0, count = calls || !lull__kind_is_call(q->kind) ? lull__queue_run(q, SIZE_MAX, &bytes) : 0;

		lull__backlog_sub(q, count, bytes);
		all += count;
	}
	if (calls)
		lull__unhold(taken, before);
	return all;
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
	struct lull__queue *calls = split(&taken, lull__kind_is_call);

	lull__give_back(taken);
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

/* Scan the slots for the queues in @taken, which wait for these only, reclaim, and give them back. */
static size_t reclaim_for_slots(struct lull__queue *taken, bool awaited)
{
	size_t count;

	if (!taken)
		return 0;
	fence_for(ask_for_slots(taken), 0);
	make_ready(taken, collect_slots(taken, 0), 0);
	count = reclaim_taken(taken, awaited);
	lull__own_table_done();
	return count;
}

void lull__free_retired(struct lull__queue *q)
{
	uint64_t deadline_ns = lull__now_ns() + RETIRED_WAIT_NS;

	while (lull__over_retired() && !lull__is_past(deadline_ns)) {
		if (!lull__trylock(&lull__reclaimer.retired_lock)) {
			lull__lock_await(&lull__reclaimer.retired_lock, deadline_ns);
			continue;
		}
		if (lull__over_retired())
			reclaim_for_slots(lull__take_due(PASS_ALL, LULL__TAKE_RETIRED, false), false);
		lull__unlock_wake(&lull__reclaimer.retired_lock, INT_MAX);
		break;
	}
	/* A pass may have this thread's own queue: to add to it before that is done would go past the bound. */
	while (lull_load_relaxed(&q->revoked) && lull__over_retired() && !lull__is_past(deadline_ns))
		lull__lock_await(&q->lock, deadline_ns);
}

/*
 * Wait for the grace period of @latest; hazard pointers, which wait for no section, are served meanwhile. Returns
 * false if @report is due.
 */
static bool await_gp(lull_rcu_cookie latest, size_t *count, struct lull__report *report)
{
	bool over = !latest;

	while (!over) {
		over = lull__rcu_wait_until(latest, lull__now_ns() + SERVE_NS, report);
		if (report && report->named)
			return false;
		if (!over)
			*count += reclaim_for_slots(lull__take_due(PASS_ABANDONED, LULL__TAKE_SLOTS, false), false);
	}
	return true;
}

/*
 * A sweep may have a queue in hand to which an entry came in the middle. It lists it again before it ends; one that
 * begins later sees the entry (LOCK-1). A barrier must not miss it.
 */
static void await_sweep(void)
{
	lull__lock(&lull__reclaimer.sweep_lock);
	lull__unlock(&lull__reclaimer.sweep_lock);
}

/*
 * Make one pass over all queues that are due: those that wait for slots only, then, after a grace period,
 * the others. One heavy fence serves both. Waits. Meanwhile the owners go on deferring; only reclaiming is
 * up to this thread. Returns how many items were reclaimed. @report: NULL, or where a report is stored that is due;
 * then the pass ends early.
 */
static size_t pass_until_report(enum lull__pass what, struct lull__report *report)
{
	bool awaited = what == PASS_ALL && lull_load_relaxed(&lull__reclaimer.mark_awaited);
	struct lull__queue *retired, *taken, *slots_only, *before;
	struct lull__hazptr_table *table = NULL;
	lull_rcu_cookie newly, latest;
	bool any, wants_heavy, over;
	size_t count;

	if (what == PASS_ALL)
		await_sweep();
	retired = lull__take_due(what, LULL__TAKE_RETIRED, true);
	count = reclaim_for_slots(retired, awaited);
	taken = lull__take_due(what, LULL__TAKE_ALL & ~LULL__TAKE_RETIRED, true);
	any = retired || taken || lull__overflow_waiting();
	slots_only = taken;
	taken = split(&slots_only, lull__kind_has_gp);
	/* First, so that the fence of a new grace period serves them too. */
	wants_heavy = ask_for_slots(slots_only);
	latest = ask_for_gp(taken, what == PASS_ALL, &newly);
	lull_add_relaxed(&lull__reclaimer.passes, (uint64_t)1);
	lull__event_count(&lull__page()->passes, 1);
	before = lull__hold(taken);
	if (slots_only) {
		fence_for(wants_heavy, newly);
		make_ready(slots_only, collect_slots(slots_only, 0), 0);
		count += reclaim_taken(slots_only, awaited);
	}
	if (LULL__BUSTED(BRIDGE_SCAN_FIRST))
		table = collect_slots(taken, latest);
	over = await_gp(latest, &count, report);
	lull__unhold(taken, before);
	if (!over) {
		lull__give_back(taken);
		return count;
	}
	if (!LULL__BUSTED(BRIDGE_SCAN_FIRST))
		table = collect_slots(taken, latest); /* BRI-1: after the grace period */
	make_ready(taken, table, latest);
	count += reclaim_taken(taken, awaited);
	lull__own_table_done();
	count += lull__overflow_run(awaited);
	lull__sweep();
	lull__backlog_publish();
	if (count || !any)
		lull_store_relaxed(&lull__reclaimer.futile, 0u);
	else
		lull_add_relaxed(&lull__reclaimer.futile, 1u);
	return count;
}

/*
 * The program's hook may take long. So give the queues back before a report is made; the next pass goes on waiting.
 * A barrier's pass must come to its end, and makes its reports with the queues in hand.
 */
size_t lull__pass(enum lull__pass what)
{
	struct lull__report report = { .named = 0 };
	size_t count = pass_until_report(what, what == PASS_ALL ? NULL : &report);

	lull__wait_report(&report);
	return count;
}
