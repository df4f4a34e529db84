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
#include "../base/process.h"
#include "../base/registry.h"
#include "../hazptr/hazptr_wait.h"
#include "../hazptr/slots.h"
#include "backlog.h"
#include "overflow.h"
#include "pass.h"
#include "reclaim_life.h"
#include "worker.h"

#define ASK_AT	     1024u    /* entries that share a grace period: enough to pay for the heavy fence */
#define SHARES_MOST  32u     /* a deferral of much at once waits so many times as long as one of little */
#define AT_ONCE_MOST 32u     /* in linger_ms one thread frees no more often at once */
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
 * While there is no background thread, free what the calling thread's queue @q holds at once, if no reader is
 * in the way: then nothing lingers that such a thread would be needed for. Returns whether @q is empty.
 * Not often: a thread that frees much lets many entries share a fence.
 */
static bool free_at_once(struct lull__queue *q)
{
	struct lull__bag *bag = lull__self.bag;
	uint64_t now_ns = lull__now_ns();
	size_t count, bytes = 0;

	if (now_ns - bag->at_once_since_ns > lull_load_relaxed(&lull__reclaimer.config.linger_ms) * (uint64_t)1000000) {
		bag->at_once_since_ns = now_ns;
		bag->at_once = 0;
	}
	if (bag->at_once >= AT_ONCE_MOST || lull__kind_is_call(q->kind) || lull__self.callback_depth ||
	    lull__queue_is_empty(q) || !owner_enter(q))
		return false;
	bag->at_once++;
	lull__advance(q);
	if (q->ready == q->wait && lull__queue_new(q)) {
		lull__queue_ask(q, q->put);
		lull__advance(q);
	}
	count = lull__queue_run(q, SIZE_MAX, &bytes);
	lull__queue_owner_leave(q);
	lull__backlog_sub(q, count, bytes);
	return lull__queue_is_empty(q);
}

/*
 * Make the calling thread's bag an orphan: the thread defers no more, and a new one may get the bag, with what
 * waits in it.
 */
void lull__reclaim_thread_exit(void)
{
	struct lull__bag *bag = lull__self.bag;

	if (!bag)
		return;
	lull__busted_drop(bag);
	for (int kind = 0; kind < LULL__KINDS; kind++) {
		if (lull_load_relaxed(&lull__reclaimer.thread) != HAS_THREAD)
			free_at_once(&bag->queue[kind]);
		lull__backlog_add(&bag->queue[kind]);
		/* The thread was consuming this queue: a callback has ended it. */
		if (bag->queue[kind].busy) {
			lull_store_relaxed(&bag->queue[kind].running, (void *)NULL);
			lull__queue_awaited_done(&bag->queue[kind]);
		}
		lull__queue_owner_leave(&bag->queue[kind]);
	}
	lull__self.bag = NULL;
	if (lull__bag_leave(bag))
		lull__notify(LINGERING); /* REC-2: as after a push */
	else if (lull_load_relaxed(&lull__reclaimer.orphans) > 4 * LULL__SPARE_BAGS)
		lull__bags_sweep();
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
	lull__backlog_sub(q, count, bytes);
}

/* Act on the hard limit: with HELP reclaim, if this thread can, and return true; else report it, once. */
static bool hard_limit(struct lull__queue *q)
{
	if (lull_load_relaxed(&lull__reclaimer.config.on_hard) == LULL_RECLAIM_HELP && can_help()) {
		help(q);
		if (lull__over_hard())
			lull__pass(PASS_ALL);
		return true;
	}
	if (!lull_xchg_relaxed(&lull__reclaimer.limit_reported, 1u) && lull__watch)
		lull__watch->over_limit();
	return false;
}

/* Wait for the grace period of @q, which the calling thread owns and consumes. */
static void await_own_gp(struct lull__queue *q, uint64_t deadline_ns)
{
	lull_rcu_cookie cookie;

	if (q->ready == q->wait && lull__queue_new(q))
		lull__queue_ask(q, q->put);
	cookie = q->cookie;
	lull__queue_owner_leave(q);
	lull__rcu_wait_until(cookie, deadline_ns, NULL);
}

/*
 * Hold the calling thread back past the soft limit: let readers and the background thread have the processor,
 * which they most likely wait for. Only a moment, for they may themselves wait for a lock that this thread
 * holds. A thread that retires memory waits only while a pass has its queue. @mine: this thread reclaims what
 * is in @q. @shares: how many times as much has come as a look at the limits is worth.
 */
static void hold_back(struct lull__queue *q, bool mine, uint64_t shares)
{
	uint64_t wait_ns = lull_load_relaxed(&lull__reclaimer.config.soft_wait_us) * (uint64_t)1000, deadline_ns;

	if (!wait_ns || !can_help() || (q->kind == LULL__HAZPTR_FREES && !mine))
		return;
	deadline_ns = lull__now_ns() + wait_ns * (shares < SHARES_MOST ? shares : SHARES_MOST);
	if (!mine) {
		/* Under POLL perhaps only this thread reclaims. */
		if (lull_load_relaxed(&lull__reclaimer.mode) != LULL_RECLAIM_POLL)
			lull__backlog_await_relief(deadline_ns);
	} else if (!owner_enter(q)) {
		lull__lock_await(&q->lock, deadline_ns); /* another thread reclaims it, and waits for readers */
	} else if (lull__kind_has_gp(q->kind)) {
		await_own_gp(q, deadline_ns);
	} else {
		lull__queue_owner_leave(q);
	}
}

/*
 * Return how many new entries of one queue share a scan of all slots: enough to pay for the scan. How many
 * wait in the whole process is bounded by lull__free_retired().
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
	if (q->ready == q->wait && (new >= ask_at || (soft && new))) {
		lull__queue_ask(q, q->put);
		lull__advance(q);
	}
}

/*
 * Do the owner's share of the work, at every deferral: reclaim one entry for the one that came in, more if
 * many wait. One in, one out keeps malloc's own caches balanced; a batch would spill them.
 */
static void owner_step(struct lull__queue *q, bool look, bool soft)
{
	uint64_t waiting;
	size_t bytes = 0, count;

	if (!owner_enter(q))
		return;
	if (look)
		advance_own_queue(q, soft);
	if (q->get < q->ready) {
		waiting = q->put - q->get;
		count = lull__queue_run(q, soft ? LULL__CHECK_EVERY : waiting <= 2 * ASK_AT ? 1 : 2, &bytes);
		/* Instead of lull__backlog_sub() for each one: so much less will be added. */
		q->in_backlog += count;
		q->in_backlog_bytes += bytes;
	}
	lull__queue_owner_leave(q);
}

/* Add the new entries of @q to the backlog and check its limits. Returns whether one is exceeded. */
static bool check_limits(struct lull__queue *q, bool mine)
{
	uint64_t shares = (q->put_bytes - q->looked_bytes) / lull_load_relaxed(&lull__reclaimer.look_bytes);
	bool hard;

	lull__init(); /* a child of _Fork() that only defers is noticed here at the latest */
	q->looked_bytes = q->put_bytes;
	lull__backlog_add(q);
	if (lull_unlikely(q->kind == LULL__HAZPTR_FREES && lull__over_retired()))
		lull__free_retired(q);
	hard = lull__over_hard();
	if (lull_likely(!hard && !lull__over_soft())) {
		if (lull_unlikely(lull_load_relaxed(&lull__reclaimer.limit_reported)))
			lull_store_relaxed(&lull__reclaimer.limit_reported, 0u);
		return false;
	}
	lull__notify(mine ? ASLEEP : NAPPING);
	if (!hard || !hard_limit(q))
		hold_back(q, mine, shares ? shares : 1);
	return true;
}

/* Has @q grown so much that its owner looks at it and at the limits? */
static inline bool is_time_to_look(const struct lull__queue *q)
{
	return (q->put & (LULL__CHECK_EVERY - 1)) == 0 ||
	       q->put_bytes - q->looked_bytes >= lull_load_relaxed(&lull__reclaimer.look_bytes);
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
	bool mine, look, soft = false;
	struct lull__queue *q;

	if (lull_unlikely(!bag || lull__self.callback_depth)) {
		if (lull__self.callback_depth || (lull__self.state & LULL__STATE_EXITED) || !(bag = lull__own_bag())) {
			defer_rarely(kind, item, bytes, full);
			return;
		}
	}
	q = &bag->queue[kind];
	if (lull__kind_has_slots((uint32_t)kind) && !full)
		lull_store_relaxed(&q->has_light, 1u);
	if (lull_unlikely(!lull__queue_push(q, item, bytes))) {
		defer_without_memory(kind, item);
		lull__notify(LINGERING);
		return;
	}
	mine = lull__queue_owner_reclaims(q) ||
	       (lull_load_relaxed(&lull__reclaimer.mode) == LULL_RECLAIM_CALLER && begin_to_help(q, false));
	look = is_time_to_look(q);
	if (lull_unlikely(look))
		soft = check_limits(q, mine);
	if (mine) {
		if (lull_unlikely(lull_load_relaxed(&lull__reclaimer.thread) != HAS_THREAD) &&
		    lull_load_relaxed(&lull__reclaimer.mode) != LULL_RECLAIM_POLL && free_at_once(q))
			return;
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
