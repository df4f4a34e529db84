/* SPDX-License-Identifier: MIT */
/*
 * defer.c - the deferring thread's side: its share of the reclaiming, the limits.
 */
#include <malloc.h>
#include <stdlib.h>

#include <lull/bridge.h>
#include <lull/hazptr_fenced.h>

#include "../base/deadline.h"
#include "../base/fault.h"
#include "../base/message.h"
#include "../base/registry.h"
#include "../hazptr/hazptr_wait.h"
#include "../hazptr/slots.h"
#include "backlog.h"
#include "overflow.h"
#include "pass.h"
#include "reclaim_life.h"
#include "worker.h"

#define ASK_AT	     1024u    /* entries that share a grace period: enough to pay for the heavy fence */
#define SOFT_WAIT_NS 2000000u /* a deferral over the soft limit waits no longer than this */
#define SERVE_EVERY  16u      /* without a background thread one new thread in so many frees what exited ones left */
#define OOM_WAIT_MS  1000u    /* one for which there is no memory waits no longer than this */

/*
 * Take the right to consume @q, if its owner reclaims. That is checked with the right in hand: other
 * threads take a queue whose owner does not reclaim without revoking.
 */
static bool owner_enter(struct lull__queue *q)
{
	if (!lull__queue_owner_enter(q))
		return false;
	if (lull_likely(lull__queue_owner_reclaims(q)))
		return true;
	lull__queue_owner_leave(q);
	return false;
}

/*
 * Make the calling thread's bag an orphan: the thread defers no more, and a new one may get the bag when it
 * is empty.
 */
void lull__reclaim_thread_exit(void)
{
	struct lull__bag *bag = lull__self.bag;

	if (!bag)
		return;
	lull__busted_drop(bag);
	lull__self.bag = NULL;
	for (int kind = 0; kind < LULL__KINDS; kind++) {
		lull__backlog_add(&bag->queue[kind]);
		/* The thread was consuming this queue: a callback has ended it. */
		if (bag->queue[kind].busy) {
			lull_store_relaxed(&bag->queue[kind].running, (void *)NULL);
			lull__queue_awaited_done(&bag->queue[kind]);
		}
		lull__queue_owner_leave(&bag->queue[kind]);
	}
	/*
	 * ORDER REC-5: the owner's use of the bag before it is an orphan; pairs with REC-5 in
	 * adopt_free_bag(); without it as there; model/reclaim/bag.litmus
	 */
	lull_store_release(&bag->state, (uint32_t)BAG_ORPHAN);
	lull__bag_recycle(bag);
	if (lull_load_relaxed(&bag->state) != BAG_ORPHAN)
		return; /* it is empty: nothing to wake, or start, a thread for, least of all by the one that ends */
	lull_fence_light(); /* REC-2: as after a push */
	if (lull_load_relaxed(&lull__reclaimer.sleep) != AWAKE)
		lull__wake_reclaimer();
}

void lull__reclaim_unregister(const char *call)
{
	(void)call;
	lull__reclaim_thread_exit();
}

/* ---- deferring ------------------------------------------------------------------------------ */

/* May this thread wait for a grace period, and run callbacks? */
static bool can_help(void)
{
	return !lull_rcu_read_lock_held() && !lull__self.callback_depth;
}

/*
 * Let the owner run the callbacks in its queue @q. Other threads read `owner_helps` with the lock held, so
 * from here on they revoke. The help ends when a pass finds the queue abandoned (lull__take_due), and with
 * a new configuration (owners_leave). Returns false if another thread has the queue now and @wait is false.
 */
static bool begin_to_help(struct lull__queue *q, bool wait)
{
	if (wait)
		lull__lock(&q->lock);
	else if (!lull__trylock(&q->lock))
		return false;
	lull_store_relaxed(&q->owner_helps, 1u);
	lull__unlock(&q->lock);
	return true;
}

/* Reclaim everything in @q, the calling thread's own queue. */
static void help(struct lull__queue *q)
{
	lull_rcu_cookie cookie;
	size_t bytes = 0, count = 0;

	if (!lull__queue_owner_reclaims(q))
		begin_to_help(q, true);
	if (!owner_enter(q))
		return;
	lull__queue_ask(q, q->put);
	cookie = q->cookie;
	lull__queue_owner_leave(q);
	if (lull__kind_has_gp(q->kind))
		lull__rcu_wait(cookie);
	if (!owner_enter(q))
		return;
	lull__advance(q);
	count = lull__queue_run(q, SIZE_MAX, &bytes);
	lull__queue_owner_leave(q);
	lull__backlog_sub(count, bytes);
}

/* Act on the hard limit: reclaim with HELP, if this thread can; else report it, once. */
static void hard_limit(struct lull__queue *q)
{
	if (lull_load_relaxed(&lull__reclaimer.config.on_hard) == LULL_RECLAIM_HELP && can_help()) {
		help(q);
		if (lull__over_hard())
			lull__pass(PASS_ALL);
		return;
	}
	if (!lull_xchg_relaxed(&lull__reclaimer.limit_reported, 1u) && lull__watch)
		lull__watch->over_limit();
}

/*
 * Act on the soft limit: the grace period of @q does not end because of a reader, most likely one that is
 * preempted. Wait a moment, to give it the processor. Only a moment, for the reader may itself wait for a
 * lock that this thread holds.
 */
static void soft_limit(struct lull__queue *q)
{
	lull_rcu_cookie cookie;

	if (!lull__kind_has_gp(q->kind) || !can_help() || !owner_enter(q))
		return;
	if (q->ready == q->wait && lull__queue_new(q))
		lull__queue_ask(q, q->put);
	cookie = q->cookie;
	lull__queue_owner_leave(q);
	lull__rcu_wait_until(cookie, lull__now_ns() + SOFT_WAIT_NS);
}

/*
 * Return how many entries share a scan of all slots: few enough for the bound that hazptr.h states, enough
 * to pay for the scan. At most these entries wait: those that slots name, those that were new at the last
 * scan, those that are new now, and LULL__CHECK_EVERY of each of the last two, because they are counted
 * only that often: slots + 2 * (this + LULL__CHECK_EVERY).
 */
static uint64_t scan_threshold(void)
{
	uint64_t half = lull__hazptr_slots() / 2;
	uint64_t few = 500 - LULL__CHECK_EVERY > half ? 500 - LULL__CHECK_EVERY - half : 0;

	return few > half ? few : half > LULL__CHECK_EVERY ? half - LULL__CHECK_EVERY : LULL__CHECK_EVERY;
}

/* Ask for a grace period or a scan for @q if enough entries are new, and advance it. The owner, consuming. */
static void advance_own_queue(struct lull__queue *q, bool soft)
{
	uint64_t new, ask_at = lull__kind_has_gp(q->kind) ? ASK_AT : scan_threshold();

	lull__advance(q);
	new = lull__queue_new(q);
	if (q->ready == q->wait && (new >= ask_at || (soft && new && lull__kind_has_gp(q->kind)))) {
		lull__queue_ask(q, q->put);
		lull__advance(q);
	}
}

/*
 * Let the owner of @q wait for the thread that consumes it, if more entries wait than the bound of hazptr.h
 * allows: that thread only scans slots and frees, but it may be preempted. Only a moment, because it may in
 * turn wait for another queue, under whose lock callbacks run.
 */
static void await_consumer(struct lull__queue *q)
{
	size_t slots = lull__hazptr_slots(), bound = slots > 500 ? 2 * slots : 1000;

	if (q->kind == LULL__HAZPTR_FREES && q->put - lull_load_relaxed(&q->done) + LULL__CHECK_EVERY > bound)
		lull__lock_await(&q->lock, lull__now_ns() + SOFT_WAIT_NS);
}

/*
 * Do the owner's share of the work, at every deferral: reclaim one entry for the one that came in, more if
 * many wait. One in, one out keeps malloc's own caches balanced; a batch would spill them.
 */
static void owner_step(struct lull__queue *q, bool look, bool soft)
{
	uint64_t waiting;
	size_t bytes = 0, count;

	if (!owner_enter(q)) {
		if (look)
			await_consumer(q);
		return;
	}
	if (look)
		advance_own_queue(q, soft);
	if (q->get < q->ready) {
		waiting = q->put - q->get;
		count = lull__queue_run(q, waiting <= 2 * ASK_AT ? 1 : soft ? LULL__CHECK_EVERY : 2, &bytes);
		/* Instead of lull__backlog_sub() for each one: so much less will be added. */
		q->in_backlog += count;
		q->in_backlog_bytes += bytes;
	}
	lull__queue_owner_leave(q);
}

/* Add the new entries of @q to the backlog and check its limits. Returns whether one is exceeded. */
static bool check_limits(struct lull__queue *q, bool mine)
{
	bool hard;

	lull__backlog_add(q);
	hard = lull__over_hard();
	if (lull_likely(!hard && !lull__over_soft())) {
		if (lull_unlikely(lull_load_relaxed(&lull__reclaimer.limit_reported)))
			lull_store_relaxed(&lull__reclaimer.limit_reported, 0u);
		return false;
	}
	if (hard)
		hard_limit(q);
	else if (mine)
		soft_limit(q);
	if (lull_load_relaxed(&lull__reclaimer.sleep) == NAPPING)
		lull__wake_reclaimer();
	return true;
}

/* Wait until @item can be freed. Returns false after OOM_WAIT_MS: this thread may protect it itself. */
static bool wait_without_memory(const void *item)
{
	lull__ensure_registered();
	lull__rcu_wait(lull__rcu_cookie());
	return lull__hazptr_wait(NULL, item, 1, lull__deadline_in_ms(OOM_WAIT_MS), false);
}

/* Defer @item although there is no memory for another chunk. */
static void defer_without_memory(int kind, void *item)
{
	if (LULL__BUSTED(OVERFLOW_LOST))
		return;
	if (lull__kind_is_call((uint32_t)kind)) {
		lull__overflow_push((struct lull_head *)item);
	} else if (can_help() && wait_without_memory(item)) {
		lull__check_reclaimed(item);
		free(item);
	} else {
		lull__check_reclaimed(item);
		lull__say("no memory to defer the free of %p: leaked", item);
	}
}

/*
 * Defer in the rare cases: a thread's first deferral, one in a callback, one after the thread's exit
 * handling.
 */
static void defer_rarely(int kind, void *item, size_t bytes, bool full)
{
	struct lull__bag *bag = lull__own_bag();

	if (bag && !full)
		lull_store_relaxed(&bag->queue[kind].has_light, 1u);
	if (!bag || !lull__queue_push(&bag->queue[kind], item, bytes))
		defer_without_memory(kind, item);
	else if ((bag->queue[kind].put & (LULL__CHECK_EVERY - 1)) == 0)
		lull__backlog_add(&bag->queue[kind]);
	/*
	 * ORDER REC-12: the entry before the count of those that callbacks deferred; pairs with
	 * REC-12 in flush_and_wait(); without it a barrier has counted the entry, and its pass
	 * overlooks it; model/reclaim/barrier-offspring.litmus
	 */
	if (lull__self.callback_depth)
		lull_add_release(&lull__reclaimer.from_callbacks, (uint64_t)1);
	lull__notify(LINGERING);
	if (lull_load_relaxed(&lull__reclaimer.thread) == CANNOT_HAVE_ONE &&
	    lull_add_relaxed(&lull__reclaimer.unserved, 1u) % SERVE_EVERY == 0)
		lull__poll_frees();
	if (lull__self.state & LULL__STATE_EXITED)
		lull__reclaim_thread_exit();
}

/*
 * Append @item to the calling thread's queue of @kind. @full: only full fences protect it
 * (hazptr_fenced.h).
 */
static inline void defer(int kind, void *item, size_t bytes, bool full)
{
	struct lull__bag *bag = lull__self.bag;
	bool mine = false, look, soft = false;
	struct lull__queue *q;

	if (lull_unlikely(!bag || lull__self.callback_depth)) {
		defer_rarely(kind, item, bytes, full);
		return;
	}
	q = &bag->queue[kind];
	if (lull__kind_has_slots((uint32_t)kind) && !full)
		lull_store_relaxed(&q->has_light, 1u);
	if (lull_unlikely(!lull__queue_push(q, item, bytes))) {
		defer_without_memory(kind, item);
	} else {
		mine = lull__queue_owner_reclaims(q) || (lull_load_relaxed(&lull__reclaimer.mode) == LULL_RECLAIM_CALLER &&
					       begin_to_help(q, false));
		look = (q->put & (LULL__CHECK_EVERY - 1)) == 0;
		if (lull_unlikely(look))
			soft = check_limits(q, mine);
		if (mine)
			owner_step(q, look, soft);
	}
	lull__notify(mine ? ASLEEP : LINGERING);
}

#define CALLER __builtin_return_address(0) /* in each function that users call: the place of the deferral */

static inline void defer_call(int kind, struct lull_head *head, lull_rcu_func func, size_t bytes, bool full,
			      const void *caller)
{
	lull__check_deferred(kind, head, func, caller);
	head->func = func;
	defer(kind, head, bytes, full);
}

static inline void defer_free(int kind, void *ptr, size_t bytes, bool full, const void *caller)
{
	lull__check_deferred(kind, ptr, NULL, caller);
	defer(kind, ptr, bytes, full);
}

void lull_rcu_call_sized(struct lull_head *head, lull_rcu_func func, size_t bytes)
{
	defer_call(LULL__CALLS, head, func, bytes, true, CALLER);
}

void lull_rcu_call(struct lull_head *head, lull_rcu_func func)
{
	defer_call(LULL__CALLS, head, func, sizeof(*head), true, CALLER);
}

void lull_rcu_free_sized(void *ptr, size_t bytes)
{
	if (ptr)
		defer_free(LULL__FREES, ptr, bytes, true, CALLER);
}

void lull_rcu_free(void *ptr)
{
	if (ptr)
		defer_free(LULL__FREES, ptr, malloc_usable_size(ptr), true, CALLER);
}

void lull_hazptr_call_sized(struct lull_head *head, lull_rcu_func func, size_t bytes)
{
	defer_call(LULL__HAZPTR_CALLS, head, func, bytes, false, CALLER);
}

void lull_hazptr_call(struct lull_head *head, lull_rcu_func func)
{
	defer_call(LULL__HAZPTR_CALLS, head, func, sizeof(*head), false, CALLER);
}

void lull_hazptr_retire_sized(void *ptr, size_t bytes)
{
	if (ptr)
		defer_free(LULL__HAZPTR_FREES, ptr, bytes, false, CALLER);
}

void lull_hazptr_retire(void *ptr)
{
	if (ptr)
		defer_free(LULL__HAZPTR_FREES, ptr, malloc_usable_size(ptr), false, CALLER);
}

void lull_hazptr_fenced_call(struct lull_head *head, lull_rcu_func func)
{
	defer_call(LULL__HAZPTR_CALLS, head, func, sizeof(*head), true, CALLER);
}

void lull_hazptr_fenced_retire(void *ptr)
{
	if (ptr)
		defer_free(LULL__HAZPTR_FREES, ptr, malloc_usable_size(ptr), true, CALLER);
}

void lull_rcu_call_hazptr_sized(struct lull_head *head, lull_rcu_func func, size_t bytes)
{
	defer_call(LULL__BRIDGE_CALLS, head, func, bytes, true, CALLER);
}

void lull_rcu_call_hazptr(struct lull_head *head, lull_rcu_func func)
{
	defer_call(LULL__BRIDGE_CALLS, head, func, sizeof(*head), true, CALLER);
}

void lull_rcu_free_hazptr(void *ptr)
{
	if (ptr)
		defer_free(LULL__BRIDGE_FREES, ptr, malloc_usable_size(ptr), true, CALLER);
}
