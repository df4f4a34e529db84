/* SPDX-License-Identifier: MIT */
/*
 * defer.c - the deferring thread's side: its share of the reclaiming.
 */
#include <malloc.h>

#include <lull/bridge.h>
#include <lull/hazptr_fenced.h>

#include "../base/deadline.h"
#include "../base/fault.h"
#include "../base/process.h"
#include "../base/registry.h"
#include "../hazptr/slots.h"
#include "backlog.h"
#include "limits.h"
#include "overflow.h"
#include "partition.h"
#include "pass.h"
#include "reclaim_life.h"
#include "worker.h"

#define ASK_AT	     1024u    /* entries that share a grace period: enough to pay for the heavy fence */
#define AT_ONCE_MOST 32u     /* in linger_ms one thread frees no more often at once */
#define TOGETHER     6u	     /* deferrals share a turn of reclaiming; malloc has room for 7 of a size at hand */
#define MANY_BYTES   4096u   /* with one deferral: then it takes a turn, and may have to look at the limits */

/*
 * While there is no background thread, free what the calling thread's queue @q holds at once, if no reader is in the
 * way, so that nothing lingers for which such a thread would be needed. Returns whether @q is empty. Does so rarely: a
 * thread that frees much lets many entries share a fence.
 */
static bool free_at_once(struct lull__queue *q)
{
	struct lull__bag *bag = lull__self.bag;
	uint64_t now_ns = lull__now_ns();

	if (now_ns - bag->at_once_since_ns > lull_load_relaxed(&lull__reclaimer.config.linger_ms) * (uint64_t)1000000) {
		bag->at_once_since_ns = now_ns;
		bag->at_once = 0;
	}
	if (bag->at_once >= AT_ONCE_MOST || lull__kind_is_call(q->kind) || lull__self.callback_depth ||
	    lull__queue_is_empty(q) || !lull__own_queue_enter(q))
		return false;
	bag->at_once++;
	lull__advance_own_queue(q, 1);
	lull__run_own_queue(q);
	return lull__queue_is_empty(q);
}

/* Make the calling thread's bag an orphan: the thread defers no more; a new one may get it, with what waits in it. */
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
			lull__end_drained();
			lull_store_relaxed(&bag->queue[kind].holder, NULL);
		}
		lull__queue_owner_leave(&bag->queue[kind]);
	}
	bag->owed = 0;
	lull__self.bag = NULL;
	if (lull__bag_leave(bag)) {
		lull__notify(LINGERING); /* REC-2: as after a push */
	} else if (lull_load_relaxed(&lull__reclaimer.orphans) > 4 * LULL__SPARE_BAGS) {
		lull__sweep();
		lull__notify_relisted();
	}
}

/* ---- deferring ------------------------------------------------------------------------------ */

/* After an entry and a light fence: let others find the queue. Its owner. */
static inline void attend(struct lull__queue *q)
{
	if (lull_likely(!lull_load_relaxed(&q->heed)))
		return;
	/*
	 * ORDER REC-16: `heed` before `listed`, and before `sleep`; pairs with REC-16 in unlist() and
	 * lull__queues_heed(); without it as there; model/reclaim/heed-later.litmus
	 */
	lull_xchg_acquire(&q->heed, 0u);
	lull__queue_list(q);
}

/* While the reclaimer sleeps, or cannot be started, each deferral tells it. */
static inline void keep_heed(struct lull__queue *q)
{
	if (lull__sleeps(ASLEEP))
		lull_store_relaxed(&q->heed, 1u);
}

/* The mode may have changed since @q left the list. Its owner; not in a callback while it consumes: as in lull__own_bag(). */
static inline void forget_help(struct lull__queue *q)
{
	if (lull_unlikely(!lull_load_relaxed(&q->listed)) && !q->busy)
		lull_store_relaxed(&q->owner_helps, 0u);
}

/* Reclaim up to @most entries of @q as its consuming owner. What they free lowers the next addition to the backlog. */
static inline void reclaim_own(struct lull__queue *q, size_t most, bool calls)
{
	size_t bytes = 0;
	size_t count = calls ? lull__queue_run(q, most, &bytes) : lull__queue_free(q, most, &bytes), these = bytes;

	lull_own_add_relaxed(&q->in_backlog, count);
	lull_own_add_relaxed(&q->in_backlog_bytes, these);
}

/* Look at @q and do the owner's share of the work, all but the reclaiming if not @may. @soft: a limit is exceeded. */
static void look_and_reclaim(struct lull__queue *q, bool look, bool soft, bool may)
{
	if (!lull__own_queue_enter(q))
		return;
	if (look)
		lull__advance_own_queue(q, soft ? 1 : lull__kind_has_gp(q->kind) ? ASK_AT : lull__scan_threshold());
	/* Free about as many as came in: malloc's caches neither overflow nor run dry. Twice as many when many wait. */
	q->share = q->put - q->get <= 2 * ASK_AT ? TOGETHER : 2 * TOGETHER;
	reclaim_own(q, !may ? 0 : soft ? LULL__CHECK_EVERY : q->share, lull__kind_is_call(q->kind));
	lull__queue_owner_leave(q);
}

/* An entry has come to @q in one of the rare cases. A thread that is past its exit handling looks at the limits, too. */
static void after_rare_entry(struct lull__queue *q)
{
	forget_help(q);
	lull_fence_light(); /* REC-16 */
	attend(q);
	if (q->put & (LULL__CHECK_EVERY - 1))
		return;
	if (lull__self.callback_depth)
		lull__backlog_add(q);
	else
		lull__check_limits(q, false, 0);
}

/* Does a drain wait for what the calling thread defers now, since the callback that it is in is one of the drain's? */
static bool is_descendant(void)
{
	return lull__self.callback_depth && (lull__in_drained || lull_load_relaxed(&lull__reclaimer.flushing));
}

/* Defer in the rare cases: a thread's first deferral, one in a callback, one after the thread's exit handling. */
static void defer_rarely(int kind, void *item, size_t bytes, bool full)
{
	bool has_bag = lull__self.bag != NULL, drained = lull__kind_is_call((uint32_t)kind) && is_descendant();
	struct lull__bag *bag = lull__own_bag();

	if (bag && !full)
		lull_store_relaxed(&bag->queue[kind].has_light, 1u);
	if (drained) {
		lull_add_relaxed(&lull__descendants, (uint64_t)1); /* before the callback that defers it takes itself off */
		lull_add_relaxed(&lull__reclaimer.wanted, (uint64_t)1);
	}
	if (!bag || !lull__queue_push(&bag->queue[kind], item, bytes, drained ? LULL__ENTRY_DRAINED : 0)) {
		lull__defer_without_memory(kind, item);
		lull__awaited_done(&lull__descendants, drained);
	} else {
		after_rare_entry(&bag->queue[kind]);
	}
	/*
	 * ORDER REC-12: the entry before the count of those that callbacks deferred; pairs with
	 * REC-12 in flush_and_wait(); without it a barrier has counted the entry, and its pass
	 * overlooks it; model/reclaim/barrier-offspring.litmus
	 */
	if (lull__self.callback_depth)
		lull_add_release(&lull__reclaimer.from_callbacks, (uint64_t)1);
	lull__notify(LINGERING);
	if (bag)
		keep_heed(&bag->queue[kind]);
	/* Who has got the bag leaves it: not a callback that runs in the look at the limits above. */
	if ((lull__self.state & LULL__STATE_EXITED) && !has_bag)
		lull__reclaim_thread_exit();
}

/* Choose when the owner of @q takes its next turn: at every LULL__CHECK_EVERY-th entry in any case. */
static inline void set_next_turn(struct lull__queue *q)
{
	uint64_t few = q->put + TOGETHER - 1, last = q->put | (LULL__CHECK_EVERY - 1);

	q->turn_at = (few < last ? few : last) + 1;
}

/* Is it time to look at @q and at the limits? */
static inline bool is_time_to_look(const struct lull__queue *q)
{
	return q->put % LULL__CHECK_EVERY == 0 ||
	       q->put_bytes - q->looked_bytes >= lull_load_relaxed(&lull__reclaimer.look_bytes);
}

/* Look at the limits after a deferral to @q, the calling thread's own queue, and reclaim if that is up to it. */
__attribute__((noinline)) static void take_long_turn(struct lull__queue *q)
{
	bool look = is_time_to_look(q), may = !lull__kind_is_pure(q->kind) || !lull_rcu_read_lock_held();
	bool soft = false, mine;

	forget_help(q);
	lull_fence_light(); /* REC-16 */
	attend(q);
	mine = lull__is_mine(q, may);
	if (look)
		soft = lull__check_limits(q, mine, 0);
	if (mine) {
		if (lull_unlikely(lull_load_relaxed(&lull__reclaimer.thread) != HAS_THREAD) &&
		    lull_load_relaxed(&lull__reclaimer.mode) != LULL_RECLAIM_POLL && free_at_once(q)) {
			keep_heed(q);
			return;
		}
		if (look || q->put >= q->turn_at) {
			look_and_reclaim(q, look, soft, may);
			if (may)
				set_next_turn(q);
			else if (soft)
				lull__set_help(q, false, false); /* from now on the background thread reclaims */
		}
	}
	lull_fence_light(); /* REC-2 */
	if (lull__sleeps(lull__queue_owner_reclaims(q) ? ASLEEP : DOZING)) {
		lull__wake_reclaimer();
		keep_heed(q);
	}
}

/* Do the owner's part after a deferral to @q, the calling thread's own queue. Most often it only frees a few. */
__attribute__((noinline)) static void take_turn(struct lull__queue *q)
{
	if (lull_unlikely(is_time_to_look(q) || lull_load_relaxed(&lull__reclaimer.thread) != HAS_THREAD ||
			  lull__kind_is_pure(q->kind))) {
		take_long_turn(q);
		return;
	}
	set_next_turn(q);
	if (q->append_until) /* as lull__queue_may_append(): it is 0 where light fences are real ones */
		q->append_until = q->turn_at - 1;
	if (lull__queue_owner_enter(q)) {
		reclaim_own(q, q->share, false);
		lull__queue_owner_leave(q);
	}
	if (lull_unlikely(lull_nonzero_relaxed(&q->heed))) { /* REC-2: lull__queue_owner_enter() has made the fence */
		attend(q);
		lull__notify(ASLEEP);
		keep_heed(q);
	}
}

/* Defer @item as defer() does, also where the calling thread's queue is not there, not its own, or needs a chunk. */
__attribute__((noinline)) static void defer_slowly(int kind, void *item, size_t bytes, bool full)
{
	struct lull__bag *bag = lull__self.bag;
	struct lull__queue *q;

	if (lull__self.callback_depth || (!bag && ((lull__self.state & LULL__STATE_EXITED) || !(bag = lull__own_bag())))) {
		defer_rarely(kind, item, bytes, full);
		return;
	}
	q = &bag->queue[kind];
	if (lull__kind_has_slots((uint32_t)kind) && !full)
		lull_store_relaxed(&q->has_light, 1u);
	if (lull__queue_push(q, item, bytes, 0)) {
		take_long_turn(q);
	} else {
		lull__defer_without_memory(kind, item);
		lull__notify(LINGERING);
	}
}

/* Append @item to @q, and take a turn if one is due. Also the first after a look, and where light fences are real ones. */
__attribute__((noinline)) static void append_and_turn(struct lull__queue *q, void *item, uint32_t bytes)
{
	if (lull_unlikely(lull__queue_needs_chunk(q))) {
		defer_slowly((int)q->kind, item, bytes, true);
		return;
	}
	lull__queue_append(q, item, bytes, 0);
	lull_fence_light(); /* REC-2 */
	q->put >= q->turn_at || lull_load_relaxed(&q->heed) ? take_turn(q) : lull__queue_may_append(q);
}

/*
 * Append @item to the calling thread's queue of @kind. @full: only full fences protect it (hazptr_fenced.h). Compiled
 * once for each kind, and all that is not an append or a comparison is called at the end: then there is nothing to save
 * before it. While the background thread is awake a free needs no turn: that thread frees it even if this one never
 * defers again.
 */
__attribute__((always_inline)) static inline void defer(int kind, void *item, size_t bytes, bool full)
{
	struct lull__bag *bag = lull__self.bag;
	struct lull__queue *q;

	if ((lull__kind_is_call((uint32_t)kind) && !lull__kind_is_pure((uint32_t)kind)) ||
	    lull_unlikely(!bag || bytes > MANY_BYTES || lull__self.callback_depth)) {
		defer_slowly(kind, item, bytes, full);
		return;
	}
	q = &bag->queue[kind];
	if (lull__kind_has_slots((uint32_t)kind) && !full)
		lull_store_relaxed(&q->has_light, 1u);
	if (lull_unlikely(q->put >= q->append_until)) {
		append_and_turn(q, item, (uint32_t)bytes);
		return;
	}
	lull__queue_append(q, item, bytes, 0);
	/*
	 * ORDER REC-16: the entry before the load of `heed`; pairs with REC-16 in lull__sweep() and REC-2 in go_to_sleep()
	 * (heed, heavy, look at the queues); without it the entry waits for the next one; model/reclaim/heed.tpl
	 * A light fence: where that is a real one, `append_until` is 0 and we are not here.
	 */
	lull_compiler_barrier();
	if (lull_unlikely(lull_nonzero_relaxed(&q->heed)))
		take_turn(q);
}

#define USABLE(ptr) ((ptr) ? malloc_usable_size(ptr) : 0)
#define CALLER __builtin_return_address(0) /* in each function that users call: the place of the deferral */

static inline void defer_call(int kind, struct lull_head *head, lull_rcu_func func, size_t bytes, bool full,
			      const void *caller)
{
	LULL__CHECK(deferred, kind, head, func, caller);
	head->func = func;
	defer(kind, head, bytes, full);
}

static inline void defer_free(int kind, void *ptr, size_t bytes, bool full, const void *caller)
{
	if (!ptr)
		return;
	LULL__CHECK(deferred, kind, ptr, NULL, caller);
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

void lull_rcu_call_pure_sized(struct lull_head *head, lull_rcu_func func, size_t bytes)
{
	defer_call(LULL__PURE_CALLS, head, func, bytes, true, CALLER);
}

void lull_rcu_call_pure(struct lull_head *head, lull_rcu_func func)
{
	defer_call(LULL__PURE_CALLS, head, func, sizeof(*head), true, CALLER);
}

void lull_rcu_free_sized(void *ptr, size_t bytes)
{
	defer_free(LULL__FREES, ptr, bytes, true, CALLER);
}

void lull_rcu_free(void *ptr)
{
	defer_free(LULL__FREES, ptr, USABLE(ptr), true, CALLER);
}

void lull_hazptr_call_sized(struct lull_head *head, lull_rcu_func func, size_t bytes)
{
	defer_call(LULL__HAZPTR_CALLS, head, func, bytes, false, CALLER);
}

void lull_hazptr_call(struct lull_head *head, lull_rcu_func func)
{
	defer_call(LULL__HAZPTR_CALLS, head, func, sizeof(*head), false, CALLER);
}

void lull_hazptr_call_key(struct lull_hazptr_key *k, const void *key, lull_rcu_func func)
{
	*k = (struct lull_hazptr_key){ .func = func, .key = key };
	defer_call(LULL__HAZPTR_CALLS, &k->head, lull__call_keyed, sizeof(*k), false, CALLER);
}

void lull_hazptr_call_pure_sized(struct lull_head *head, lull_rcu_func func, size_t bytes)
{
	defer_call(LULL__HAZPTR_PURE_CALLS, head, func, bytes, false, CALLER);
}

void lull_hazptr_retire_sized(void *ptr, size_t bytes)
{
	defer_free(LULL__HAZPTR_FREES, ptr, bytes, false, CALLER);
}

void lull_hazptr_retire(void *ptr)
{
	defer_free(LULL__HAZPTR_FREES, ptr, USABLE(ptr), false, CALLER);
}

void lull_hazptr_fenced_call(struct lull_head *head, lull_rcu_func func)
{
	defer_call(LULL__HAZPTR_CALLS, head, func, sizeof(*head), true, CALLER);
}

void lull_hazptr_fenced_retire(void *ptr)
{
	defer_free(LULL__HAZPTR_FREES, ptr, USABLE(ptr), true, CALLER);
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
	defer_free(LULL__BRIDGE_FREES, ptr, USABLE(ptr), true, CALLER);
}
