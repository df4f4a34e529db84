/* SPDX-License-Identifier: MIT */
/*
 * defer.c - the deferring thread's side: its bag, its share of the reclaiming, the limits.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <lull/bridge.h>
#include <lull/hazptr_fenced.h>

#include "../base/events.h"

#define LOOK_EVERY   64u      /* the owner looks at its queue at every 64th entry */
#define ASK_AT	     1024u    /* entries that share a grace period: enough to pay for the heavy fence */
#define SOFT_WAIT_NS 2000000u /* a deferral over the soft limit takes no longer than this */
#define OOM_WAIT_MS  1000u    /* nor one for which there is no memory */

/* ---- backlog -------------------------------------------------------------------------------- */

/* The counts can be below zero for a moment, when things are reclaimed before they were noted. */
static bool over(size_t now, size_t limit)
{
	return now <= SIZE_MAX / 2 && now > limit;
}

static void raise_peak(size_t *peak, size_t now)
{
	size_t was = lull_load_relaxed(peak);

	while (over(now, was) && !lull_cas_relaxed(peak, &was, now))
		;
}

/* Tell the global backlog what this queue got since it was last told. Producer only. */
static void note_put(struct lull__queue *q)
{
	size_t items = (size_t)(q->put - q->noted), bytes = (size_t)(q->put_bytes - q->noted_bytes);

	lull__note_queued(q->put - q->counted, q->put_bytes - q->counted_bytes);
	q->counted = q->put;
	q->counted_bytes = q->put_bytes;
	q->noted = q->put;
	q->noted_bytes = q->put_bytes;
	items += lull_add_relaxed(&lull__rc.items, items);
	bytes += lull_add_relaxed(&lull__rc.bytes, bytes);
	raise_peak(&lull__rc.peak_items, items);
	raise_peak(&lull__rc.peak_bytes, bytes);
	lull__note_waiting(items, bytes);
}

void lull__note_peak(size_t items, size_t bytes)
{
	raise_peak(&lull__rc.peak_items, items);
	raise_peak(&lull__rc.peak_bytes, bytes);
}

void lull__note_done(size_t items, size_t bytes)
{
	lull_sub_relaxed(&lull__rc.items, items);
	lull_sub_relaxed(&lull__rc.bytes, bytes);
}

static bool over_limit(const size_t *now, const size_t *limit)
{
	size_t most = lull_load_relaxed(limit);

	return most && over(lull_load_relaxed(now), most);
}

bool lull__over_soft(void)
{
	return over_limit(&lull__rc.items, &lull__rc.config.soft_items) ||
	       over_limit(&lull__rc.bytes, &lull__rc.config.soft_bytes);
}

/*
 * What has not been noted yet may be LOOK_EVERY - 1 entries of each queue, for as long as its owner rests.
 * So near the limit they are counted: then a flood passes it by the entries of the deferring threads
 * that nobody has looked at, and by no more. (Bytes have no such bound, and are as noted.)
 */
static bool over_hard(void)
{
	size_t most = lull_load_relaxed(&lull__rc.config.hard_items), items, bytes;
	size_t slack = (size_t)LOOK_EVERY * LULL__KINDS * lull_load_relaxed(&lull__registry_count);

	if (LULL__BUSTED(HARD_IGNORED))
		return false;
	if (over_limit(&lull__rc.bytes, &lull__rc.config.hard_bytes))
		return true;
	if (!most || !over(lull_load_relaxed(&lull__rc.items) + slack, most))
		return false;
	lull__reclaim_backlog(&items, &bytes);
	return items > most;
}

/*
 * Tell the page what waits, to the entry. What was put and is not noted yet counts there already, so
 * this and the notes of owners contradict each other by what is not noted: by 64 per queue at most.
 */
void lull__note_exactly(void)
{
	size_t items, bytes;
	struct lull__bag *bag;
	uint64_t kept = 0;

	lull__reclaim_backlog(&items, &bytes);
	lull__note_waiting(items, bytes);
	lull__for_each_bag(bag)
		for (int kind = LULL__HAZPTR_FREES; kind < LULL__KINDS; kind++)
			kept += lull_load_relaxed(&bag->queue[kind].kept);
	lull__note_kept(kept);
}

void lull__reclaim_backlog(size_t *items, size_t *bytes)
{
	struct lull__bag *bag;

	*items = *bytes = 0;
	lull__for_each_bag(bag) {
		for (int kind = 0; kind < LULL__KINDS; kind++) {
			struct lull__queue *q = &bag->queue[kind];
			uint64_t done = lull_load_relaxed(&q->done);
			uint64_t done_bytes = lull_load_relaxed(&q->done_bytes);
			uint64_t put = lull_load_relaxed(&q->put);
			uint64_t put_bytes = lull_load_relaxed(&q->put_bytes);

			*items += put > done ? (size_t)(put - done) : 0;
			*bytes += put_bytes > done_bytes ? (size_t)(put_bytes - done_bytes) : 0;
		}
	}
}

/* Looked at again inside: others take a queue that is not left to the owner without asking. */
static bool owner_enter(struct lull__queue *q)
{
	if (!lull__queue_owner_enter(q))
		return false;
	if (lull_likely(lull__is_left_to_owner(q)))
		return true;
	lull__queue_owner_leave(q);
	return false;
}

/* ---- bags ----------------------------------------------------------------------------------- */

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
	bag->next = lull_load_relaxed(&lull__rc.bags);
	/*
	 * ORDER REC-6: the bag before its link; pairs with REC-6 in lull__for_each_bag(); without
	 * it a walker sees garbage; model/reclaim/queue.litmus
	 */
	while (!lull_cas_release(&lull__rc.bags, &bag->next, bag))
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
	/* Its last owner may have helped; an owner that is not inside may stop at any time. */
	for (int kind = 0; bag && kind < LULL__KINDS; kind++)
		lull_store_relaxed(&bag->queue[kind].owner_helps, 0u);
	if (!bag)
		bag = new_bag();
	lull__self.bag = bag;
	return bag;
}

/* The calling thread defers no more: whoever reclaims may pass its bag on when it is empty. */
void lull__reclaim_thread_exit(void)
{
	struct lull__bag *bag = lull__self.bag;

	if (!bag)
		return;
	lull__busted_drop(bag);
	lull__self.bag = NULL;
	for (int kind = 0; kind < LULL__KINDS; kind++) {
		note_put(&bag->queue[kind]);
		/* Inside of it: a callback has ended the thread. */
		if (bag->queue[kind].busy) {
			lull_store_relaxed(&bag->queue[kind].running, (void *)NULL);
			lull__queue_old_done(&bag->queue[kind]);
		}
		lull__queue_owner_leave(&bag->queue[kind]);
	}
	/*
	 * ORDER REC-5: the owner's use of the bag before it is an orphan; pairs with REC-5 in
	 * adopt_free_bag(); without it as there; model/reclaim/bag.litmus
	 */
	lull_store_release(&bag->state, (uint32_t)BAG_ORPHAN);
	lull_fence_light(); /* REC-2: as after a push */
	if (lull_load_relaxed(&lull__rc.sleep) != AWAKE)
		lull__wake_reclaimer();
}

/* ---- deferring ------------------------------------------------------------------------------ */

/* May this thread wait for a grace period, and run what it finds? */
static bool can_help(void)
{
	return !lull_rcu_read_lock_held() && !lull__self.callback_depth;
}

/*
 * Make the owner the one who runs what is in this queue. Others look at `owner_helps` with the lock
 * held, so from here on they revoke. It ends when the queue is found left behind (take_due), and
 * with a new configuration (owners_leave). False when somebody has the queue just now and @wait
 * does not say to wait for that.
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

/* Reclaim all that is in the thread's own queue. */
static void help(struct lull__queue *q)
{
	lull_rcu_cookie cookie;
	size_t bytes = 0, count = 0;

	if (!lull__is_left_to_owner(q))
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
	lull__queue_advance(q);
	count = lull__queue_run(q, SIZE_MAX, &bytes);
	lull__queue_owner_leave(q);
	lull__note_done(count, bytes);
}

/* Over the hard limit. HELP: returns when the backlog is below, or when this thread cannot help. */
static void hard_limit(struct lull__queue *q)
{
	if (lull_load_relaxed(&lull__rc.config.on_hard) == LULL_RECLAIM_HELP && can_help()) {
		help(q);
		if (over_hard())
			lull__pass(PASS_ALL);
		return;
	}
	if (!lull_xchg_relaxed(&lull__rc.told, 1u)) {
		struct lull__vigil vigil = { .kind = LULL_WAIT_LIMIT, .since_ns = lull__now_ns() };
		struct lull_stall stall = { .tid = lull__self.tid };

		lull__vigil_report(&vigil, &stall);
	}
}

/*
 * Over the soft limit, and the queue's own grace period does not end: a reader lingers, most likely
 * one that is preempted. Give it the processor, for a moment: what this thread may wait for can be
 * waiting for a lock that this thread holds.
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
 * How many entries share a look at all slots: few enough to keep to the bound that hazptr.h states,
 * enough to pay for the look. Not reclaimed are, at most, what is named by slots, as many as were
 * new at the last look, as many as are new now, and LOOK_EVERY of each because that is how often
 * anybody counts: slots + 2 * (this + LOOK_EVERY).
 */
static uint64_t look_at_slots_at(void)
{
	uint64_t half = lull__hazptr_slots() / 2;
	uint64_t few = 500 - LOOK_EVERY > half ? 500 - LOOK_EVERY - half : 0;

	return few > half ? few : half > LOOK_EVERY ? half - LOOK_EVERY : LOOK_EVERY;
}

/* Ask for grace periods, push them along. The owner has the right to consume. */
static void owner_look(struct lull__queue *q, bool soft)
{
	uint64_t new, ask_at = lull__kind_has_gp(q->kind) ? ASK_AT : look_at_slots_at();

	lull__queue_advance(q);
	new = lull__queue_new(q);
	if (q->ready == q->wait && (new >= ask_at || (soft && new && lull__kind_has_gp(q->kind)))) {
		lull__queue_ask(q, q->put);
		lull__queue_advance(q);
	}
}

/*
 * Somebody else has the queue. Beyond the bound that hazptr.h states its owner waits for that: all
 * that is going on there is a look at the slots and free(3), but whoever does it may be preempted.
 * For a moment only, because it may in turn wait for another queue, under whose lock callbacks run.
 */
static void await_consumer(struct lull__queue *q)
{
	size_t slots = lull__hazptr_slots(), bound = slots > 500 ? 2 * slots : 1000;

	if (q->kind == LULL__HAZPTR_FREES && q->put - lull_load_relaxed(&q->done) + LOOK_EVERY > bound)
		lull__lock_await(&q->lock, SOFT_WAIT_NS);
}

/*
 * The owner's share of the work, at every deferral: reclaim one entry for the one that came in,
 * more when many wait. One in, one out keeps malloc's own caches balanced; a batch would spill
 * them.
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
		owner_look(q, soft);
	if (q->get < q->ready) {
		waiting = q->put - q->get;
		count = lull__queue_run(q, waiting <= 2 * ASK_AT ? 1 : soft ? LOOK_EVERY : 2, &bytes);
		/*
		 * Rather than tell the world of each one: the world hears of so much less coming
		 * in.
		 */
		q->noted += count;
		q->noted_bytes += bytes;
	}
	lull__queue_owner_leave(q);
}

/* Every LOOK_EVERY entries: note them, look at the limits. Tells whether a limit is passed. */
static bool look_at_limits(struct lull__queue *q, bool mine)
{
	bool hard;

	note_put(q);
	hard = over_hard();
	if (lull_likely(!hard && !lull__over_soft())) {
		if (lull_unlikely(lull_load_relaxed(&lull__rc.told)))
			lull_store_relaxed(&lull__rc.told, 0u);
		return false;
	}
	if (hard)
		hard_limit(q);
	else if (mine)
		soft_limit(q);
	if (lull_load_relaxed(&lull__rc.sleep) == NAPPING)
		lull__wake_reclaimer();
	return true;
}

/* Not for ever: this thread may protect it itself. */
static bool wait_without_memory(const void *item)
{
	lull__ensure_registered();
	lull__rcu_wait(lull__rcu_cookie());
	return lull__hazptr_wait(NULL, item, 1, lull__deadline_ns(OOM_WAIT_MS), false);
}

/* No memory for another chunk. */
static void defer_without_memory(int kind, void *item)
{
	if (LULL__BUSTED(OVERFLOW_LOST))
		return;
	if (lull__kind_is_call((uint32_t)kind)) {
		/* The head has room for a link, after all. REC-1: entry before link. */
		struct lull_rcu_head *head = (struct lull_rcu_head *)item;

		head->next = lull_load_relaxed(&lull__rc.overflow);
		while (!lull_cas_release(&lull__rc.overflow, &head->next, head))
			;
	} else if (can_help() && wait_without_memory(item)) {
		lull__check_reclaimed(item);
		free(item);
	} else {
		lull__check_reclaimed(item);
		lull__say("no memory to defer the free of %p: leaked", item);
	}
}

/* A thread's first deferral, one in a callback, and one after the thread's exit handling. */
static void defer_rarely(int kind, void *item, size_t bytes, bool full)
{
	struct lull__bag *bag = lull__own_bag();

	if (bag && !full)
		lull_store_relaxed(&bag->queue[kind].has_light, 1u);
	if (!bag || !lull__queue_push(&bag->queue[kind], item, bytes))
		defer_without_memory(kind, item);
	else if ((bag->queue[kind].put & (LOOK_EVERY - 1)) == 0)
		note_put(&bag->queue[kind]);
	/*
	 * ORDER REC-12: the entry before the count of those that callbacks deferred; pairs with
	 * REC-12 in flush_and_wait(); without it a barrier has counted the entry, and its pass
	 * overlooks it; model/reclaim/barrier-offspring.litmus
	 */
	if (lull__self.callback_depth)
		lull_add_release(&lull__rc.from_callbacks, (uint64_t)1);
	lull__notify(LINGERING);
	if (lull__self.state & LULL__STATE_EXITED)
		lull__reclaim_thread_exit();
}

/* @full: it is protected with full fences only (hazptr_fenced.h). */
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
		mine = lull__is_left_to_owner(q) || (lull_load_relaxed(&lull__rc.mode) == LULL_RECLAIM_CALLER &&
					       begin_to_help(q, false));
		look = (q->put & (LOOK_EVERY - 1)) == 0;
		if (lull_unlikely(look))
			soft = look_at_limits(q, mine);
		if (mine)
			owner_step(q, look, soft);
	}
	lull__notify(mine ? ASLEEP : LINGERING);
}

#define CALLER __builtin_return_address(0) /* in each function that users call: of the deferral */

static inline void defer_call(int kind, struct lull_rcu_head *head, lull_rcu_func func, size_t bytes, bool full,
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

void lull_rcu_call_sized(struct lull_rcu_head *head, lull_rcu_func func, size_t bytes)
{
	defer_call(LULL__CALLS, head, func, bytes, true, CALLER);
}

void lull_rcu_call(struct lull_rcu_head *head, lull_rcu_func func)
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

void lull_hazptr_call_sized(struct lull_rcu_head *head, lull_rcu_func func, size_t bytes)
{
	defer_call(LULL__HAZPTR_CALLS, head, func, bytes, false, CALLER);
}

void lull_hazptr_call(struct lull_rcu_head *head, lull_rcu_func func)
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

void lull_hazptr_fenced_call(struct lull_rcu_head *head, lull_rcu_func func)
{
	defer_call(LULL__HAZPTR_CALLS, head, func, sizeof(*head), true, CALLER);
}

void lull_hazptr_fenced_retire(void *ptr)
{
	if (ptr)
		defer_free(LULL__HAZPTR_FREES, ptr, malloc_usable_size(ptr), true, CALLER);
}

void lull_rcu_call_hazptr_sized(struct lull_rcu_head *head, lull_rcu_func func, size_t bytes)
{
	defer_call(LULL__BRIDGE_CALLS, head, func, bytes, true, CALLER);
}

void lull_rcu_call_hazptr(struct lull_rcu_head *head, lull_rcu_func func)
{
	defer_call(LULL__BRIDGE_CALLS, head, func, sizeof(*head), true, CALLER);
}

void lull_rcu_free_hazptr(void *ptr)
{
	if (ptr)
		defer_free(LULL__BRIDGE_FREES, ptr, malloc_usable_size(ptr), true, CALLER);
}
