/* SPDX-License-Identifier: MIT */
/*
 * reclaim.c - when and by whom what was deferred is reclaimed: owners, passes, limits, the background thread.
 *
 * Each thread that defers has a bag with two queues (queue.h). Bags are never freed. A thread that exits leaves its
 * bag as an orphan; when it is empty the next new thread takes it. So the list of bags can be walked without a
 * lock.
 */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

#define LOOK_EVERY     64u   /* the owner looks at its queue at every 64th entry */
#define ASK_AT	       1024u /* entries that share a grace period: enough to pay for the heavy fence */
#define SOFT_WAIT_NS   2000000u /* a deferral over the soft limit takes no longer than this */
#define NAP_NS	       20000u	/* between passes while callbacks flood in */
#define NAP_BELOW      512u	/* ... and a pass finds fewer than these */
#define EXIT_WAIT_NS   100000000 /* for a callback, or a grace period, that does not end */
#define GENERATIONS    16    /* callbacks that defer callbacks, followed by a barrier */
#define LINGER_DOUBLES 5     /* a busy owner is looked at ever more rarely, down to linger_ms << 5 */

enum { KINDS = 2 };

enum { BAG_FREE, BAG_OWNED, BAG_ORPHAN };

struct lull__bag {
	struct lull__queue queue[KINDS];
	struct lull__bag *next; /* all bags, never changes once linked */
	uint32_t state;
};

#define CONFIG_AT_START                                                                            \
	{                                                                                          \
		.mode = LULL_RECLAIM_THREAD, .on_hard = LULL_RECLAIM_TELL, .soft_items = 4096,     \
		.soft_bytes = (size_t)16 << 20, .hard_items = 1000000,                             \
		.hard_bytes = (size_t)1 << 30, .linger_ms = 10,                                    \
	}

/* What the background thread sleeps on; a deferral wakes it when what it brings needs it. */
enum {
	AWAKE,
	NAPPING,   /* a moment, so that a flood of callbacks comes in batches; barriers wake it */
	LINGERING, /* until a timer; callbacks wake it */
	ASLEEP,	   /* anything wakes it */
};

enum { NO_THREAD, HAS_THREAD, CANNOT_HAVE_ONE };

static struct {
	/* What every deferral reads; written when the background thread goes to sleep or gets up, and rarely. */
	struct lull__bag *bags __attribute__((aligned(LULL__CACHELINE)));
	uint32_t sleep;
	uint32_t mode;
	uint32_t thread; /* NO_THREAD ... */
	uint32_t stop;	 /* the process ends */
	pthread_t id;
	struct lull_reclaim_config config;

	/* What some deferrals write. */
	size_t items __attribute__((aligned(LULL__CACHELINE))); /* to within LOOK_EVERY per queue */
	size_t bytes, peak_items, peak_bytes;
	uint32_t told;		 /* over the hard limit, and said so */
	uint64_t from_callbacks; /* deferrals that callbacks made */

	/* What passes and barriers write. */
	uint64_t passes __attribute__((aligned(LULL__CACHELINE)));
	uint64_t wakeups;
	uint64_t flush_wanted, flush_done; /* tickets of barriers */
	uint32_t flush_event;
	struct lull_rcu_head *overflow; /* callbacks for which there was no memory: a stack */
	struct lull__lock config_lock;
} rc = {
	.sleep = ASLEEP,
	.config = CONFIG_AT_START,
};

/* What a pass takes. */
enum pass_what {
	PASS_CALLS, /* what nobody but the background thread reclaims */
	PASS_LEFT,  /* ... and what its owner seems to have left behind */
	PASS_ALL,   /* everything, for a barrier */
};

static size_t pass(enum pass_what what);
static void wake_reclaimer(void);

/* REC-6: the link before the bag. */
#define for_each_bag(bag)                                                                          \
	for ((bag) = lull_load_acquire(&rc.bags); (bag); (bag) = (bag)->next)

/* ---- backlog ---------------------------------------------------------------------------------------- */

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

	q->noted = q->put;
	q->noted_bytes = q->put_bytes;
	raise_peak(&rc.peak_items, lull_add_relaxed(&rc.items, items) + items);
	raise_peak(&rc.peak_bytes, lull_add_relaxed(&rc.bytes, bytes) + bytes);
}

static void note_done(size_t items, size_t bytes)
{
	lull_sub_relaxed(&rc.items, items);
	lull_sub_relaxed(&rc.bytes, bytes);
}

static bool over_limit(const size_t *now, const size_t *limit)
{
	size_t most = lull_load_relaxed(limit);

	return most && over(lull_load_relaxed(now), most);
}

static bool over_soft(void)
{
	return over_limit(&rc.items, &rc.config.soft_items) ||
	       over_limit(&rc.bytes, &rc.config.soft_bytes);
}

static bool over_hard(void)
{
	return over_limit(&rc.items, &rc.config.hard_items) ||
	       over_limit(&rc.bytes, &rc.config.hard_bytes);
}

void lull__reclaim_backlog(size_t *items, size_t *bytes)
{
	struct lull__bag *bag;

	*items = *bytes = 0;
	for_each_bag(bag) {
		for (int kind = 0; kind < KINDS; kind++) {
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

/* Does the thread that defers also reclaim? */
static bool is_left_to_owner(const struct lull__queue *q)
{
	return q->kind == LULL__FREES || lull_load_relaxed(&q->owner_helps);
}

/* Looked at again inside: others take a queue that is not left to the owner without asking. */
static bool owner_enter(struct lull__queue *q)
{
	if (!lull__queue_owner_enter(q))
		return false;
	if (lull_likely(is_left_to_owner(q)))
		return true;
	lull__queue_owner_leave(q);
	return false;
}

/* ---- bags ---------------------------------------------------------------------------------------------- */

static struct lull__bag *adopt_free_bag(void)
{
	struct lull__bag *bag;

	for_each_bag(bag) {
		uint32_t state = BAG_FREE;

		/* ORDER REC-5: the last owner's use of the bag before the next one's; pairs with REC-5 in lull__reclaim_thread_exit(); without it
		 * two producers see each other's half-done queue; model/bag.litmus */
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
	bag->queue[LULL__CALLS].kind = LULL__CALLS;
	bag->next = lull_load_relaxed(&rc.bags);
	/* ORDER REC-6: the bag before its link; pairs with REC-6 in for_each_bag(); without it a walker sees garbage;
	 * model/queue.litmus */
	while (!lull_cas_release(&rc.bags, &bag->next, bag))
		;
	return bag;
}

static struct lull__bag *own_bag(void)
{
	struct lull__bag *bag = lull__self.bag;

	if (lull_likely(bag != NULL))
		return bag;
	lull__ensure_registered();
	bag = adopt_free_bag();
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
	lull__self.bag = NULL;
	for (int kind = 0; kind < KINDS; kind++) {
		note_put(&bag->queue[kind]);
		lull__queue_owner_leave(&bag->queue[kind]); /* a callback may have ended the thread */
	}
	/* ORDER REC-5: the owner's use of the bag before it is an orphan; pairs with REC-5 in adopt_free_bag(); without it as
	 * there; model/bag.litmus */
	lull_store_release(&bag->state, (uint32_t)BAG_ORPHAN);
	lull_fence_light(); /* REC-2: as after a push */
	if (lull_load_relaxed(&rc.sleep) != AWAKE)
		wake_reclaimer();
}

/* ---- deferring ------------------------------------------------------------------------------------------- */

/* May this thread wait for a grace period, and run what it finds? */
static bool can_help(void)
{
	return !lull_rcu_read_lock_held() && !lull__self.callback_depth;
}

/*
 * Make the owner the one who runs what is in this queue, unless somebody has it just now. Others look at
 * `owner_helps` with the lock held, so from here on they revoke. It ends when the queue is found left behind
 * (take_due), and with a new configuration (owners_leave).
 */
static bool begin_to_help(struct lull__queue *q)
{
	if (!lull__trylock(&q->lock))
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

	if (!(is_left_to_owner(q) || begin_to_help(q)) || !owner_enter(q))
		return;
	lull__queue_ask(q, q->put);
	cookie = q->cookie;
	lull__queue_owner_leave(q);
	lull__rcu_wait(cookie);
	if (!owner_enter(q))
		return;
	lull__queue_advance(q);
	count = lull__queue_run(q, SIZE_MAX, &bytes);
	lull__queue_owner_leave(q);
	note_done(count, bytes);
}

/* Over the hard limit. HELP: returns when the backlog is below, or when this thread cannot help. */
static void hard_limit(struct lull__queue *q)
{
	if (lull_load_relaxed(&rc.config.on_hard) == LULL_RECLAIM_HELP && can_help()) {
		help(q);
		if (over_hard())
			pass(PASS_ALL);
		return;
	}
	if (!lull_xchg_relaxed(&rc.told, 1u))
		lull__say("%zu deferred objects (%zu bytes) wait, more than the hard limit",
			  lull_load_relaxed(&rc.items), lull_load_relaxed(&rc.bytes));
}

/*
 * Over the soft limit, and the queue's own grace period does not end: a reader lingers, most likely one that is
 * preempted. Give it the processor, for a moment: what this thread may wait for can be waiting for a lock that this
 * thread holds.
 */
static void soft_limit(struct lull__queue *q)
{
	lull_rcu_cookie cookie;

	if (!can_help() || !owner_enter(q))
		return;
	if (q->ready == q->wait && q->wait < q->put)
		lull__queue_ask(q, q->put);
	cookie = q->cookie;
	lull__queue_owner_leave(q);
	lull__rcu_wait_until(cookie, lull__now_ns() + SOFT_WAIT_NS);
}

/* Ask for grace periods, push them along. The owner has the right to consume. */
static void owner_look(struct lull__queue *q, bool soft)
{
	lull__queue_advance(q);
	if (q->ready == q->wait && (q->put - q->wait >= ASK_AT || (soft && q->put > q->wait))) {
		lull__queue_ask(q, q->put);
		lull__queue_advance(q);
	}
}

/*
 * The owner's share of the work, at every deferral: reclaim one entry for the one that came in, more when many wait.
 * One in, one out keeps malloc's own caches balanced; a batch would spill them.
 */
static void owner_step(struct lull__queue *q, bool look, bool soft)
{
	uint64_t waiting;
	size_t bytes = 0, count;

	if (!owner_enter(q))
		return;
	if (look)
		owner_look(q, soft);
	if (q->get < q->ready) {
		waiting = q->put - q->get;
		count = lull__queue_run(q, waiting <= 2 * ASK_AT ? 1 : soft ? LOOK_EVERY : 2, &bytes);
		/* Rather than tell the world of each one: the world hears of so much less coming in. */
		q->noted += count;
		q->noted_bytes += bytes;
	}
	lull__queue_owner_leave(q);
}

/* Every LOOK_EVERY entries: note them, look at the limits. Tells whether a limit is passed. */
static bool look_at_limits(struct lull__queue *q, bool mine)
{
	note_put(q);
	if (lull_likely(!over_soft())) {
		if (lull_unlikely(lull_load_relaxed(&rc.told)))
			lull_store_relaxed(&rc.told, 0u);
		return false;
	}
	if (over_hard())
		hard_limit(q);
	else if (mine)
		soft_limit(q);
	if (lull_load_relaxed(&rc.sleep) == NAPPING)
		wake_reclaimer();
	return true;
}

/* ORDER REC-2: the entry before the look at the sleeper; pairs with REC-2 in go_to_sleep() (sleep, heavy, look at the queues
 * again); without it the entry waits for the next one; model/reclaim-sleep.tpl */
static void notify(uint32_t sleeps_too_deep)
{
	lull_fence_light();
	if (lull_unlikely(lull_load_relaxed(&rc.sleep) >= sleeps_too_deep))
		wake_reclaimer();
}

/* No memory for another chunk. */
static void defer_without_memory(int kind, void *item)
{
	if (kind == LULL__CALLS) {
		/* The head has room for a link, after all. REC-1: entry before link. */
		struct lull_rcu_head *head = (struct lull_rcu_head *)item;

		head->next = lull_load_relaxed(&rc.overflow);
		while (!lull_cas_release(&rc.overflow, &head->next, head))
			;
	} else if (can_help()) {
		lull_rcu_synchronize();
		free(item);
	} else {
		lull__say("no memory to defer the free of %p: leaked", item);
	}
}

/* A thread's first deferral, one in a callback, and one after the thread's exit handling. */
static void defer_rarely(int kind, void *item, size_t bytes)
{
	struct lull__bag *bag = own_bag();

	if (!bag || !lull__queue_push(&bag->queue[kind], item, bytes))
		defer_without_memory(kind, item);
	else if ((bag->queue[kind].put & (LOOK_EVERY - 1)) == 0)
		note_put(&bag->queue[kind]);
	if (lull__self.callback_depth)
		lull_add_relaxed(&rc.from_callbacks, (uint64_t)1);
	notify(LINGERING);
	if (lull__self.state & LULL__STATE_EXITED)
		lull__reclaim_thread_exit();
}

static inline void defer(int kind, void *item, size_t bytes)
{
	struct lull__bag *bag = lull__self.bag;
	bool mine = false, look, soft = false;
	struct lull__queue *q;

	if (lull_unlikely(!bag || lull__self.callback_depth)) {
		defer_rarely(kind, item, bytes);
		return;
	}
	q = &bag->queue[kind];
	if (lull_unlikely(!lull__queue_push(q, item, bytes))) {
		defer_without_memory(kind, item);
	} else {
		mine = is_left_to_owner(q) || (lull_load_relaxed(&rc.mode) == LULL_RECLAIM_CALLER &&
					       begin_to_help(q));
		look = (q->put & (LOOK_EVERY - 1)) == 0;
		if (lull_unlikely(look))
			soft = look_at_limits(q, mine);
		if (mine)
			owner_step(q, look, soft);
	}
	notify(mine ? ASLEEP : LINGERING);
}

void lull_rcu_call_sized(struct lull_rcu_head *head, lull_rcu_func func, size_t bytes)
{
	head->func = func;
	defer(LULL__CALLS, head, bytes);
}

void lull_rcu_call(struct lull_rcu_head *head, lull_rcu_func func)
{
	lull_rcu_call_sized(head, func, sizeof(*head));
}

void lull_rcu_free(void *ptr)
{
	if (ptr)
		defer(LULL__FREES, ptr, malloc_usable_size(ptr));
}

/* ---- passes over all bags ----------------------------------------------------------------------------- */

/* An orphan that is empty may get a new owner. Called by whoever holds no consumer's lock. */
static void bag_settle(struct lull__bag *bag)
{
	uint32_t state = BAG_ORPHAN;

	/* Relaxed: the swap carries the orphan's release on to the next owner (REC-5), and an entry that is not
	 * seen here yet is reclaimed in the bag's next life. */
	if (lull_load_relaxed(&bag->state) != BAG_ORPHAN)
		return;
	if (lull__queue_is_empty(&bag->queue[LULL__FREES]) && lull__queue_is_empty(&bag->queue[LULL__CALLS]))
		lull_cas_relaxed(&bag->state, &state, (uint32_t)BAG_FREE);
}

static bool is_due(struct lull__bag *bag, int kind, enum pass_what what)
{
	struct lull__queue *q = &bag->queue[kind];

	if (lull__queue_is_empty(q))
		return false;
	if (what == PASS_ALL || !is_left_to_owner(q))
		return true;
	if (lull_load_relaxed(&bag->state) == BAG_ORPHAN)
		return true;
	return what == PASS_LEFT && lull_load_relaxed(&q->done) == lull_load_relaxed(&q->last_done);
}

static size_t run_overflow(void)
{
	/* REC-1: the link before what it links. */
	struct lull_rcu_head *head = lull_xchg_acquire(&rc.overflow, (struct lull_rcu_head *)NULL);
	size_t count = 0;

	if (head)
		lull__rcu_wait(lull__rcu_cookie());
	lull__self.callback_depth++;
	for (; head; count++) {
		struct lull_rcu_head *next = head->next;

		head->func(head);
		head = next;
	}
	lull__self.callback_depth--;
	return count;
}

/*
 * Take every queue that is due: one heavy fence revokes them all. Locks are taken in the order of the list of bags,
 * in which new ones come first, so that two who take do not wait for each other.
 */
static struct lull__queue *take_due(enum pass_what what, bool wait_for_locks)
{
	struct lull__queue *taken = NULL, **end = &taken;
	struct lull__bag *bag;
	bool revoked = false;

	for_each_bag(bag) {
		for (int kind = 0; kind < KINDS; kind++) {
			struct lull__queue *q = &bag->queue[kind];

			if (!is_due(bag, kind, what))
				continue;
			if (wait_for_locks)
				lull__lock(&q->lock);
			else if (!lull__trylock(&q->lock))
				continue;
			q->next_taken = NULL;
			*end = q;
			end = &q->next_taken;
			if (bag != lull__self.bag && is_left_to_owner(q)) {
				lull__queue_revoke(q);
				revoked = true;
			}
			if (what == PASS_LEFT && lull_load_relaxed(&rc.mode) != LULL_RECLAIM_CALLER)
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

static void give_back(struct lull__queue *taken)
{
	struct lull__bag *bag;

	while (taken) {
		struct lull__queue *q = taken;

		taken = q->next_taken;
		lull__queue_release(q);
	}
	for_each_bag(bag)
		bag_settle(bag);
}

/*
 * One pass: one grace period for all that is due, then reclaim it. Waits. Meanwhile owners go on deferring; only
 * reclaiming is ours. Returns how many items were reclaimed.
 */
static size_t pass(enum pass_what what)
{
	struct lull__queue *taken = take_due(what, true);
	lull_rcu_cookie latest = 0;
	size_t count = 0, bytes = 0;

	lull_add_relaxed(&rc.passes, (uint64_t)1);
	for (struct lull__queue *q = taken; q; q = q->next_taken) {
		uint64_t put = lull__queue_put(q);

		if (q->wait < put)
			lull__queue_ask(q, put);
		if (q->ready < q->wait && q->cookie > latest)
			latest = q->cookie;
	}
	if (latest)
		lull__rcu_wait(latest);
	for (struct lull__queue *q = taken; q; q = q->next_taken) {
		lull__queue_advance(q);
		count += lull__queue_run(q, SIZE_MAX, &bytes);
	}
	note_done(count, bytes);
	give_back(taken);
	return count + run_overflow();
}

/* ---- the background thread ------------------------------------------------------------------------------ */

/* Is there something that the background thread need not wait for a timer to do? */
static bool something_due(enum pass_what what)
{
	struct lull__bag *bag;

	if (lull_load_relaxed(&rc.stop))
		return true;
	if (lull_load_relaxed(&rc.flush_wanted) > lull_load_relaxed(&rc.flush_done))
		return true;
	if (lull_load_relaxed(&rc.mode) == LULL_RECLAIM_POLL)
		return false;
	if (lull_load_relaxed(&rc.overflow))
		return true;
	for_each_bag(bag) {
		if (lull_load_relaxed(&bag->state) == BAG_ORPHAN)
			return true;
		for (int kind = 0; kind < KINDS; kind++)
			if (is_due(bag, kind, what))
				return true;
	}
	return false;
}

/*
 * Note how far the owners have got with what is left to them. Tells whether anything waits, and whether any owner that
 * has something waiting has got on since last time.
 */
static bool look_at_owners(bool *they_work)
{
	struct lull__bag *bag;
	bool waits = false;

	*they_work = false;
	for_each_bag(bag) {
		for (int kind = 0; kind < KINDS; kind++) {
			struct lull__queue *q = &bag->queue[kind];
			uint64_t done = lull_load_relaxed(&q->done);

			if (!is_left_to_owner(q) || lull__queue_is_empty(q))
				continue;
			waits = true;
			if (done != lull_load_relaxed(&q->last_done))
				*they_work = true;
			lull_store_relaxed(&q->last_done, done);
		}
	}
	return waits;
}

/* Not a plain store: poll and configure set `sleep` for others meanwhile. */
static void get_up(uint32_t from)
{
	lull_cas_relaxed(&rc.sleep, &from, (uint32_t)AWAKE);
}

/* Sleep until there is something to do; with a timer when owners have something waiting. */
static void go_to_sleep(uint32_t depth, uint64_t timer_ns)
{
	lull_store_relaxed(&rc.sleep, depth);
	if (depth == NAPPING) {
		/* What comes in meanwhile waits for the end of the nap: no look at the queues, no fence. */
		if (lull_load_relaxed(&rc.flush_wanted) == lull_load_relaxed(&rc.flush_done))
			lull__futex_wait(&rc.sleep, depth, timer_ns);
		get_up(depth);
		return;
	}
	/* ORDER REC-2: `sleep` before the last look at the queues; pairs with REC-2 in notify(); without it as there;
	 * model/reclaim-sleep.tpl */
	lull_fence_heavy();
	if (!something_due(depth == ASLEEP ? PASS_ALL : PASS_CALLS)) {
		lull__futex_wait(&rc.sleep, depth, timer_ns);
		lull_add_relaxed(&rc.wakeups, (uint64_t)1);
	}
	get_up(depth);
}

/* A pass on behalf of all barriers up to @ticket. */
static size_t flush_for(uint64_t ticket)
{
	size_t count = pass(PASS_ALL);

	/* ORDER REC-7: the pass before its ticket; pairs with REC-7 in flush_there(); without it a barrier returns
	 * before it sees what callbacks did; model/flush.litmus */
	lull_store_release(&rc.flush_done, ticket);
	lull_add_release(&rc.flush_event, 1u);
	lull__futex_wake(&rc.flush_event, INT_MAX);
	return count;
}

/* One round: what is due now. Returns how many items it reclaimed. */
static size_t round_of(bool look_for_leftovers)
{
	uint64_t ticket = lull_load_acquire(&rc.flush_wanted); /* REC-7: then what was deferred before */

	if (ticket > lull_load_relaxed(&rc.flush_done))
		return flush_for(ticket);
	if (lull_load_relaxed(&rc.mode) == LULL_RECLAIM_POLL)
		return 0; /* from now on it is the program's */
	return pass(look_for_leftovers ? PASS_LEFT : PASS_CALLS);
}

static void *reclaimer(void *unused)
{
	uint64_t look_at_ns = 0, now_ns;
	uint32_t doubled = 0;
	bool they_work, waits = false;
	size_t count;

	(void)unused;
	lull__ensure_registered();
	lull__fine_timers();
	pthread_setname_np(pthread_self(), "lull-reclaim");
	while (!lull_load_relaxed(&rc.stop)) {
		now_ns = lull__now_ns();
		count = round_of(waits && now_ns >= look_at_ns);
		if (!waits || now_ns >= look_at_ns) {
			waits = look_at_owners(&they_work);
			doubled = they_work && doubled < LINGER_DOUBLES ? doubled + 1 : 0;
			look_at_ns = now_ns + ((uint64_t)lull_load_relaxed(&rc.config.linger_ms) * 1000000u
					       << doubled);
		}
		if (lull_load_relaxed(&rc.mode) == LULL_RECLAIM_POLL)
			waits = false;
		if (count > 1 && count < NAP_BELOW && !over_soft())
			go_to_sleep(NAPPING, NAP_NS);
		else if (!waits)
			go_to_sleep(ASLEEP, 0);
		else if ((now_ns = lull__now_ns()) < look_at_ns)
			go_to_sleep(LINGERING, look_at_ns - now_ns);
	}
	return NULL;
}

/* Start the thread unless it is there; false when none can be had. */
static bool start_reclaimer(void)
{
	uint32_t thread = NO_THREAD;
	sigset_t all, saved;
	int err;

	if (!lull_cas_relaxed(&rc.thread, &thread, (uint32_t)HAS_THREAD))
		return thread == HAS_THREAD;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &saved);
	err = pthread_create(&rc.id, NULL, reclaimer, NULL);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	if (!err)
		return true;
	lull_store_relaxed(&rc.mode, (uint32_t)LULL_RECLAIM_CALLER);
	lull_store_relaxed(&rc.thread, (uint32_t)CANNOT_HAVE_ONE);
	/* A barrier may wait for the thread already. */
	lull_add_release(&rc.flush_event, 1u); /* REC-7 */
	lull__futex_wake(&rc.flush_event, INT_MAX);
	lull__say("cannot start the reclaimer's thread (%s): deferring threads reclaim", strerror(err));
	return false;
}

/*
 * exit(): end the thread, so that leak checkers find nothing of it. What still waits stays where it
 * is. A callback or a grace period that does not end is not waited for for long.
 */
__attribute__((destructor)) static void stop_reclaimer(void)
{
	struct timespec deadline;

	if (lull_load_relaxed(&rc.thread) != HAS_THREAD || pthread_equal(rc.id, pthread_self()))
		return;
	lull_store_relaxed(&rc.stop, 1u);
	notify(NAPPING);
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_nsec += EXIT_WAIT_NS;
	if (deadline.tv_nsec >= 1000000000) {
		deadline.tv_nsec -= 1000000000;
		deadline.tv_sec++;
	}
	if (pthread_timedjoin_np(rc.id, NULL, &deadline) == 0)
		lull_store_relaxed(&rc.thread, (uint32_t)NO_THREAD);
	lull_store_relaxed(&rc.stop, 0u);
}

/* Something waits that the sleeper should see to. */
static void wake_reclaimer(void)
{
	struct lull_reclaim_config config;

	if (lull_load_relaxed(&rc.mode) == LULL_RECLAIM_POLL) {
		if (lull_xchg_relaxed(&rc.sleep, (uint32_t)AWAKE) == AWAKE)
			return;
		lull__lock(&rc.config_lock);
		config = rc.config;
		lull__unlock(&rc.config_lock);
		if (config.notify)
			config.notify(config.notify_arg);
		return;
	}
	start_reclaimer();
	if (lull_xchg_relaxed(&rc.sleep, (uint32_t)AWAKE) != AWAKE)
		lull__futex_wake(&rc.sleep, 1);
}

/* ---- barrier, drain, poll -------------------------------------------------------------------------------- */

/* A pass by the caller, where there is no thread to do it. */
static bool flush_here(uint64_t deadline_ns)
{
	/* First without anything at stake, because a pass cannot be left half way. */
	if (!lull__rcu_wait_until(lull__rcu_cookie(), deadline_ns))
		return false;
	pass(PASS_ALL);
	return true;
}

/* A pass by the background thread. False when the time was up. */
static bool flush_there(uint64_t deadline_ns)
{
	/* REC-7, the other way: what was deferred before the ticket; acquire in round_of(). */
	uint64_t ticket = lull_add_release(&rc.flush_wanted, (uint64_t)1) + 1;

	notify(NAPPING);
	for (;;) {
		uint32_t event = lull_load_acquire(&rc.flush_event); /* REC-7: before flush_done */
		uint64_t now_ns = deadline_ns ? lull__now_ns() : 0;

		/* ORDER REC-7: the ticket before what the caller does next; pairs with REC-7 in flush_for(); without it as
		 * there; model/flush.litmus */
		if (lull_load_acquire(&rc.flush_done) >= ticket)
			return true;
		if (lull_load_relaxed(&rc.thread) == CANNOT_HAVE_ONE)
			return flush_here(deadline_ns);
		if (deadline_ns && now_ns >= deadline_ns)
			return false;
		lull__futex_wait(&rc.flush_event, event, deadline_ns ? deadline_ns - now_ns : 0);
	}
}

/* One generation of a barrier. @offspring: callbacks deferred more meanwhile. */
static bool flush_and_wait(uint64_t deadline_ns, bool *offspring)
{
	uint64_t before = lull_load_relaxed(&rc.from_callbacks);
	bool here = lull_load_relaxed(&rc.mode) == LULL_RECLAIM_POLL || !start_reclaimer();
	bool in_time = here ? flush_here(deadline_ns) : flush_there(deadline_ns);

	*offspring = lull_load_relaxed(&rc.from_callbacks) != before;
	return in_time;
}

static int barrier(const char *call, uint64_t deadline_ns)
{
	bool online = lull__self.state & LULL__STATE_ONLINE;
	bool offspring = true, in_time = true;

	lull__rcu_no_section(call);
	if (lull__self.callback_depth)
		lull__die("%s in a callback would wait for itself for ever", call);
	lull__ensure_registered();
	if (online)
		lull_rcu_offline();
	for (int i = 0; i < GENERATIONS && offspring && in_time; i++)
		in_time = flush_and_wait(deadline_ns, &offspring);
	if (online)
		lull_rcu_online();
	return in_time ? 0 : -ETIMEDOUT;
}

void lull_rcu_barrier(void)
{
	barrier("lull_rcu_barrier", 0);
}

int lull_reclaim_drain(uint64_t timeout_ms)
{
	return barrier("lull_reclaim_drain", lull__now_ns() + timeout_ms * 1000000u);
}

/* Reclaim from one queue without waiting, in small steps until @deadline_ns. Returns how many. */
static size_t poll_queue(struct lull__queue *q, size_t most, uint64_t deadline_ns)
{
	uint64_t put = lull__queue_put(q);
	size_t count = 0, bytes = 0, got;

	lull__queue_advance(q);
	if (q->ready == q->wait && q->wait < put) {
		lull__queue_ask(q, put);
		lull__queue_advance(q);
	}
	do {
		size_t left = most - count;

		got = lull__queue_run(q, left < LOOK_EVERY ? left : LOOK_EVERY, &bytes);
		count += got;
	} while (got == LOOK_EVERY && !(deadline_ns && lull__now_ns() >= deadline_ns));
	note_done(count, bytes);
	return count;
}

size_t lull_reclaim_poll(size_t max_items, uint64_t max_ns)
{
	uint64_t deadline_ns = max_ns ? lull__now_ns() + max_ns : 0;
	struct lull__queue *taken;
	size_t count = 0;

	if (lull__self.callback_depth)
		lull__die("lull_reclaim_poll in a callback");
	lull__ensure_registered();
	taken = take_due(PASS_ALL, false);
	for (struct lull__queue *q = taken; q && count < max_items; q = q->next_taken) {
		count += poll_queue(q, max_items - count, deadline_ns);
		if (deadline_ns && lull__now_ns() >= deadline_ns)
			break;
	}
	give_back(taken);
	/* The next deferral shall notify again. */
	if (lull_load_relaxed(&rc.mode) == LULL_RECLAIM_POLL && lull_load_relaxed(&rc.sleep) == AWAKE) {
		size_t before, items, bytes;

		lull__reclaim_backlog(&before, &bytes);
		lull_store_relaxed(&rc.sleep, (uint32_t)ASLEEP);
		lull_fence_heavy(); /* REC-2, as in go_to_sleep() */
		lull__reclaim_backlog(&items, &bytes);
		if (items > before)
			wake_reclaimer();
	}
	return count;
}

/* ---- configuration and counters ------------------------------------------------------------------------------ */

static const struct lull_reclaim_config at_start = CONFIG_AT_START;

void lull_reclaim_default_config(struct lull_reclaim_config *config)
{
	*config = at_start;
}

/* Owners that have begun to run callbacks do so no more; under CALLER they begin again. */
static void owners_leave(void)
{
	struct lull__bag *bag;

	for_each_bag(bag) {
		struct lull__queue *q = &bag->queue[LULL__CALLS];

		lull__lock(&q->lock);
		lull_store_relaxed(&q->owner_helps, 0u);
		lull__queue_revoke(q);
		lull_fence_heavy(); /* REC-8 */
		if (bag != lull__self.bag) /* else it is not inside: this is not a callback */
			lull__queue_await_owner(q);
		lull__queue_release(q);
	}
}

int lull_reclaim_configure(const struct lull_reclaim_config *config)
{
	size_t items, bytes;

	if ((unsigned)config->mode > LULL_RECLAIM_CALLER ||
	    (unsigned)config->on_hard > LULL_RECLAIM_HELP || config->linger_ms == 0 ||
	    (config->hard_items && config->hard_items < config->soft_items) ||
	    (config->hard_bytes && config->hard_bytes < config->soft_bytes))
		return -EINVAL;
	if (lull__self.callback_depth)
		lull__die("lull_reclaim_configure in a callback");
	lull__lock(&rc.config_lock);
	lull_store_relaxed(&rc.config.on_hard, config->on_hard);
	lull_store_relaxed(&rc.config.soft_items, config->soft_items);
	lull_store_relaxed(&rc.config.soft_bytes, config->soft_bytes);
	lull_store_relaxed(&rc.config.hard_items, config->hard_items);
	lull_store_relaxed(&rc.config.hard_bytes, config->hard_bytes);
	lull_store_relaxed(&rc.config.linger_ms, config->linger_ms);
	rc.config.notify = config->notify;
	rc.config.notify_arg = config->notify_arg;
	lull_store_relaxed(&rc.mode, (uint32_t)config->mode);
	lull__unlock(&rc.config_lock);
	owners_leave();
	/* Whoever is to see to what waits under the new mode hears of it. */
	lull_store_relaxed(&rc.sleep, (uint32_t)ASLEEP);
	lull_fence_heavy(); /* REC-2, as in go_to_sleep() */
	lull__reclaim_backlog(&items, &bytes);
	if (items)
		wake_reclaimer();
	return 0;
}

void lull_reclaim_stats(struct lull_reclaim_stats *stats)
{
	struct lull__bag *bag;

	memset(stats, 0, sizeof(*stats));
	lull__reclaim_backlog(&stats->items, &stats->bytes);
	for_each_bag(bag)
		for (int kind = 0; kind < KINDS; kind++)
			stats->total_items += lull_load_relaxed(&bag->queue[kind].put);
	raise_peak(&rc.peak_items, stats->items);
	raise_peak(&rc.peak_bytes, stats->bytes);
	stats->peak_items = lull_load_relaxed(&rc.peak_items);
	stats->peak_bytes = lull_load_relaxed(&rc.peak_bytes);
	stats->passes = lull_load_relaxed(&rc.passes);
	stats->wakeups = lull_load_relaxed(&rc.wakeups);
}

void lull_reclaim_reset_peak(void)
{
	lull_store_relaxed(&rc.peak_items, (size_t)0);
	lull_store_relaxed(&rc.peak_bytes, (size_t)0);
}

/* The owners of all other bags, the background thread and whoever held a lock are not here. */
void lull__reclaim_fork_child(void)
{
	struct lull__bag *bag;

	rc.items = rc.bytes = 0;
	for_each_bag(bag) {
		for (int kind = 0; kind < KINDS; kind++) {
			struct lull__queue *q = &bag->queue[kind];

			q->lock.word = 0;
			q->revoked = 0;
			if (bag != lull__self.bag)
				q->busy = 0;
			if (!q->busy) /* else this is a callback that forked: it goes on */
				lull__queue_fork_child(q);
			q->noted = q->put;
			q->noted_bytes = q->put_bytes;
			rc.items += (size_t)(q->put - q->done);
			rc.bytes += (size_t)(q->put_bytes - q->done_bytes);
		}
		if (bag != lull__self.bag && bag->state == BAG_OWNED)
			bag->state = BAG_ORPHAN;
	}
	rc.config_lock.word = 0;
	rc.thread = NO_THREAD;
	rc.sleep = ASLEEP;
	rc.flush_done = rc.flush_wanted;
}
