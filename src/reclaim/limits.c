/* SPDX-License-Identifier: MIT */
/*
 * limits.c - what a thread does about its queues when too much waits: it reclaims, waits, or tells; in a read section it
 * owes that until the section ends.
 */
#include <limits.h>

#include "../base/deadline.h"
#include "../base/process.h"
#include "../base/registry.h"
#include "../hazptr/slots.h"
#include "../rcu/section.h"
#include "backlog.h"
#include "limits.h"
#include "pass.h"
#include "reclaim_life.h"
#include "worker.h"

#define SHARES_MOST 32u /* a deferral of much at once waits so many times as long as one of little */

void lull__advance_own_queue(struct lull__queue *q, uint64_t ask_at)
{
	lull__advance(q);
	if (q->ready == q->wait && lull__queue_new(q) >= ask_at) {
		lull__queue_ask(q, q->put);
		lull__advance(q);
	}
}

void lull__run_own_queue(struct lull__queue *q)
{
	size_t bytes = 0, count = lull__queue_run(q, SIZE_MAX, &bytes);

	lull__queue_owner_leave(q);
	lull__backlog_sub(q, count, bytes);
}

bool lull__set_help(struct lull__queue *q, bool helps, bool wait)
{
	if (wait)
		lull__lock(&q->lock);
	else if (!lull__trylock(&q->lock))
		return false;
	lull_store_relaxed(&q->owner_helps, (uint32_t)helps);
	lull__unlock_wake(&q->lock, INT_MAX); /* all, as in lull__queue_release() */
	return true;
}

static bool may_help(const struct lull__queue *q)
{
	return lull__kind_is_pure(q->kind) || lull_load_relaxed(&lull__reclaimer.mode) == LULL_RECLAIM_CALLER;
}

bool lull__begin_help(struct lull__queue *q, bool may)
{
	if (!may || !may_help(q) || !lull__set_help(q, true, false))
		return false;
	/*
	 * ORDER REC-18: @q in the list, and `owner_helps`, before the second look at the mode; pairs with REC-18 in
	 * owners_leave() (mode, heavy, look for owners that help); without it as there; model/reclaim/mode.tpl
	 */
	lull_fence_light();
	if (lull_likely(may_help(q)))
		return true;
	lull_store_relaxed(&q->owner_helps, 0u); /* without the lock: a pass may have it, and wait for this thread */
	return false;
}

/* Reclaim everything in @q, the calling thread's own queue. */
static void help(struct lull__queue *q)
{
	lull_rcu_cookie cookie;

	if (!lull__queue_owner_reclaims(q))
		lull__set_help(q, true, true);
	if (!lull__own_queue_enter(q))
		return;
	lull__queue_ask(q, q->put);
	cookie = q->cookie;
	lull__queue_owner_leave(q);
	if (lull__kind_has_gp(q->kind))
		lull__rcu_wait(cookie);
	if (!lull__own_queue_enter(q))
		return;
	lull__advance(q);
	lull__run_own_queue(q);
}

static bool owes(void)
{
	return lull_load_relaxed(&lull__self.flags) & LULL__FLAG_OWES;
}

/*
 * Let the calling thread do at the end of its section what it cannot do in it for @q: reclaim, and be held back @shares
 * times. Returns false in a callback.
 */
static bool owe(struct lull__queue *q, uint64_t shares)
{
	struct lull__bag *bag = lull__self.bag;

	if (lull__self.callback_depth || !(lull__self.state & LULL__STATE_REGISTERED))
		return false;
	if (!owes()) /* a wait for readers has ended what it owed */
		bag->owed = 0;
	bag->owed_shares = shares + (bag->owed ? bag->owed_shares : 0);
	bag->owed |= 1u << q->kind;
	lull__rcu_owe();
	return true;
}

/*
 * At the hard limit: with HELP reclaim, or do so at the end of the section, and return true; else report @items and
 * @bytes, once. So does a section that owes already, and goes on.
 */
static bool hard_limit(struct lull__queue *q, size_t items, size_t bytes)
{
	if (lull_load_relaxed(&lull__reclaimer.config.on_hard) == LULL_RECLAIM_HELP) {
		if (lull__can_help()) {
			help(q);
			if (lull__over_hard(&items, &bytes)) {
				lull__pass(PASS_ALL);
				lull__notify_relisted();
			}
			return true;
		}
		if (!(owes() && lull__self.bag->owed & 1u << q->kind) && owe(q, 1))
			return true;
	}
	if (!lull_xchg_relaxed(&lull__reclaimer.limit_reported, 1u) && lull__watch)
		lull__watch->over_limit(items, bytes);
	return false;
}

/* Wait for the grace period of @q, which the calling thread owns and consumes. */
static void await_own_gp(struct lull__queue *q, uint64_t deadline_ns)
{
	lull_rcu_cookie cookie;

	lull__advance_own_queue(q, 1);
	cookie = q->cookie;
	lull__queue_owner_leave(q);
	lull__rcu_wait_until(cookie, deadline_ns, NULL);
}

/*
 * Hold the calling thread back past the soft limit: let readers and the background thread have the processor, which they
 * most likely wait for. Only a moment, for they may themselves wait for a lock that this thread holds. A thread that retires
 * memory waits only while a pass has its queue. @mine: this thread reclaims what is in @q. @shares: for how many looks
 * at the limits enough has come.
 */
static void hold_back(struct lull__queue *q, bool mine, uint64_t shares)
{
	uint64_t wait_ns = lull_load_relaxed(&lull__reclaimer.config.soft_wait_us) * (uint64_t)1000, deadline_ns;

	if (!wait_ns || (q->kind == LULL__HAZPTR_FREES && !mine))
		return;
	if (!lull__can_help()) {
		owe(q, shares);
		return;
	}
	deadline_ns = lull__now_ns() + wait_ns * (shares < SHARES_MOST ? shares : SHARES_MOST);
	if (!mine) {
		/* Under POLL perhaps only this thread reclaims. */
		if (lull_load_relaxed(&lull__reclaimer.mode) != LULL_RECLAIM_POLL)
			lull__backlog_await_relief(deadline_ns);
	} else if (!lull__own_queue_enter(q)) {
		lull__lock_await(&q->lock, deadline_ns); /* another thread reclaims it, and waits for readers */
	} else if (lull__kind_has_gp(q->kind)) {
		await_own_gp(q, deadline_ns);
	} else {
		lull__queue_owner_leave(q);
	}
}

/*
 * Keep the bound of retired memory. First each thread scans what it has retired itself, unless that is too little for the
 * slots that it has to look at: many threads that retire do not wait for each other. What others have left is for one thread
 * at a time.
 */
static void keep_retired_bound(struct lull__queue *q)
{
	if (lull__own_queue_enter(q)) {
		lull__advance_own_queue(q, lull__hazptr_slots() / 8 + 1);
		lull__run_own_queue(q);
	}
	if (lull__over_retired())
		lull__free_retired(q);
}

bool lull__check_limits(struct lull__queue *q, bool mine, uint64_t owed)
{
	uint64_t come = q->put_bytes - q->looked_bytes, shares;
	size_t items = 0, bytes = 0;
	bool hard;

	lull__init(); /* a child of _Fork() that only defers is noticed here at the latest */
	q->looked_bytes = q->put_bytes;
	lull__backlog_add(q);
	if (lull_unlikely(q->kind == LULL__HAZPTR_FREES && lull__over_retired()))
		keep_retired_bound(q);
	hard = lull__over_hard(&items, &bytes);
	if (lull_likely(!hard && !lull__over_soft(false))) {
		if (lull_unlikely(lull_load_relaxed(&lull__reclaimer.limit_reported)))
			lull_store_relaxed(&lull__reclaimer.limit_reported, 0u);
		return false;
	}
	lull__notify(mine ? ASLEEP : NAPPING);
	shares = owed + come / lull_load_relaxed(&lull__reclaimer.look_bytes);
	if (hard ? !hard_limit(q, items, bytes) : !mine || lull__over_soft(true))
		hold_back(q, mine, shares ? shares : 1);
	return true;
}

/* Make up for what the owner of the bag could not do in its section. All that is ready goes: so much has come. */
void lull__reclaim_pay(void)
{
	struct lull__bag *bag = lull__self.bag;
	uint64_t shares = bag->owed_shares;
	uint32_t owed = bag->owed;

	bag->owed = 0;
	for (uint32_t kind = 0; kind < LULL__KINDS; kind++) {
		struct lull__queue *q = &bag->queue[kind];
		bool mine;

		if (!(owed & 1u << kind))
			continue;
		mine = lull__is_mine(q, true);
		lull__check_limits(q, mine, shares);
		shares = 0; /* they were for all kinds together */
		if (mine && lull__own_queue_enter(q)) {
			lull__advance_own_queue(q, 1);
			lull__run_own_queue(q);
		}
		/* More may come in sections only. */
		if (mine && lull__kind_is_pure(kind))
			lull__set_help(q, false, false);
	}
}
