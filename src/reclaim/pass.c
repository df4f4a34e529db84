/* SPDX-License-Identifier: MIT */
/*
 * reclaim.c - reclaiming for others: passes over all bags, the background thread, barriers, the
 * configuration.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../hazptr/slots.h"
#include "../base/events.h"

#define NAP_NS	       20000u	 /* between passes while callbacks flood in */
#define NAP_BELOW      512u	 /* ... and a pass finds fewer than these */
#define POLL_STEP      64u	 /* entries between two looks at the clock */
#define EXIT_WAIT_NS   100000000 /* for a callback, or a grace period, that does not end */
#define GENERATIONS    16	 /* callbacks that defer callbacks, followed by a barrier */
#define SERVE_NS       10000000u /* a grace period that lasts: look in between for what does not wait for it */
#define FUTILE_MOST    9	 /* naps after passes that reclaim nothing double up to NAP_NS << 9: 10 ms */
#define RELOOK_NS      10000000u
#define LINGER_DOUBLES 5	 /* a busy owner is looked at ever more rarely, down to linger_ms << 5 */

#define CONFIG_AT_START                                                                            \
	{                                                                                          \
		.mode = LULL_RECLAIM_THREAD, .on_hard = LULL_RECLAIM_TELL, .soft_items = 4096,     \
		.soft_bytes = (size_t)16 << 20, .hard_items = 1000000,                             \
		.hard_bytes = (size_t)1 << 30, .linger_ms = 10,                                    \
	}

struct lull__rc lull__rc = {
	.sleep = ASLEEP,
	.config = CONFIG_AT_START,
};

/* ---- passes over all bags ------------------------------------------------------------------- */

static bool is_empty(struct lull__bag *bag)
{
	for (int kind = 0; kind < LULL__KINDS; kind++)
		if (!lull__queue_is_empty(&bag->queue[kind]))
			return false;
	return true;
}

/* An orphan that is empty may get a new owner. Called by whoever holds no consumer's lock. */
static void bag_settle(struct lull__bag *bag)
{
	uint32_t state = BAG_ORPHAN;

	/*
	 * Relaxed: the swap carries the orphan's release on to the next owner (REC-5), and an entry
	 * that is not seen here yet is reclaimed in the bag's next life.
	 */
	if (lull_load_relaxed(&bag->state) == BAG_ORPHAN && is_empty(bag) && !LULL__BUSTED(BAG_LEAKED))
		lull_cas_relaxed(&bag->state, &state, (uint32_t)BAG_FREE);
}

/* Nothing but what slots name, and none of them has said something else since. */
static bool is_settled(struct lull__queue *q)
{
	return lull_load_relaxed(&q->settled) != LULL__UNSETTLED &&
	       lull_load_relaxed(&q->put) - lull_load_relaxed(&q->done) == lull_load_relaxed(&q->kept) &&
	       lull_load_relaxed(&q->seen_left) == lull_load_relaxed(&lull__hazptr.left_event);
}

static bool needs_relook(struct lull__queue *q)
{
	return is_settled(q) && lull_load_relaxed(&q->settled) == LULL__SETTLED_RELOOK;
}

static bool is_due(struct lull__bag *bag, int kind, enum lull__pass what)
{
	struct lull__queue *q = &bag->queue[kind];

	if (lull__queue_is_empty(q))
		return false;
	if (what != PASS_ALL && is_settled(q))
		return what == PASS_LEFT && needs_relook(q);
	if (what == PASS_ALL || !lull__is_left_to_owner(q))
		return true;
	if (lull_load_relaxed(&bag->state) == BAG_ORPHAN)
		return true;
	return what == PASS_LEFT && lull_load_relaxed(&q->done) == lull_load_relaxed(&q->last_done);
}

/* Under a lock until it has run: a barrier's pass that finds nothing may rely on that. */
static size_t run_overflow(void)
{
	struct lull_rcu_head *head;
	size_t count = 0;

	lull__lock(&lull__rc.overflow_lock);
	/* REC-1: the link before what it links. */
	head = lull_xchg_acquire(&lull__rc.overflow, (struct lull_rcu_head *)NULL);
	if (head)
		lull__rcu_wait(lull__rcu_cookie());
	lull__self.callback_depth++;
	for (; head; count++) {
		struct lull_rcu_head *next = head->next;

		lull__hazptr_wait(NULL, head, 1, 0, false);
		lull__check_reclaimed(head);
		head->func(head);
		head = next;
	}
	lull__self.callback_depth--;
	lull__unlock(&lull__rc.overflow_lock);
	return count;
}

/*
 * Take every queue that is due: one heavy fence revokes them all. Locks are taken in the order of
 * the list of bags, in which new ones come first, so that two who take do not wait for each other.
 */
static struct lull__queue *take_due(enum lull__pass what, bool wait_for_locks, bool slots_only)
{
	struct lull__queue *taken = NULL, **end = &taken;
	struct lull__bag *bag;
	bool revoked = false;

	lull__for_each_bag(bag) {
		for (int kind = 0; kind < LULL__KINDS; kind++) {
			struct lull__queue *q = &bag->queue[kind];

			if ((slots_only && lull__kind_has_gp(q->kind)) || !is_due(bag, kind, what))
				continue;
			if (wait_for_locks)
				lull__lock(&q->lock);
			else if (!lull__trylock(&q->lock))
				continue;
			q->next_taken = NULL;
			q->relooking = needs_relook(q);
			*end = q;
			end = &q->next_taken;
			if (bag != lull__self.bag && lull__is_left_to_owner(q)) {
				lull__queue_revoke(q);
				revoked = true;
			}
			if (what == PASS_LEFT && lull_load_relaxed(&lull__rc.mode) != LULL_RECLAIM_CALLER)
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
	lull__for_each_bag(bag)
		bag_settle(bag);
}

/* Move those that wait for slots only to a list of their own. */
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

/* For all that is in the queues by now. Returns whether some of it wants a heavy fence. */
static bool ask_for_slots(struct lull__queue *taken)
{
	bool heavy = false;

	for (struct lull__queue *q = taken; q; q = q->next_taken) {
		lull__queue_ask(q, lull__queue_put(q));
		heavy |= lull_load_relaxed(&q->has_light) != 0;
	}
	return heavy;
}

/* The same for grace periods. *newly: one that begins after this; 0: none was asked for. */
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
 * A fence between what was unlinked before ask_for_slots() and the look at the slots. A grace period
 * that begins after that begins with one: then that is it. HAZ-1, HAZ-11.
 */
static void fence_for(bool heavy, lull_rcu_cookie newly)
{
	if (heavy && newly) {
		lull__rcu_advance(newly);
		if (lull__rcu_has_begun(newly))
			return;
	}
	lull__hazptr_fence(!heavy);
}

/* [ready, wait) of all becomes ready, but for what slots name now. */
static void make_ready(struct lull__queue *taken, struct lull__hazptr_table *table)
{
	for (struct lull__queue *q = taken; q; q = q->next_taken) {
		if (lull__kind_has_slots(q->kind))
			lull__hazptr_sift(q, table);
		else
			lull__queue_make_ready(q, q->wait);
	}
}

static struct lull__hazptr_table *look_at_slots(struct lull__queue *taken)
{
	struct lull__hazptr_table *table = NULL;
	bool wanted = false;

	for (struct lull__queue *q = taken; q; q = q->next_taken)
		wanted |= lull__kind_has_slots(q->kind);
	if (wanted) {
		table = lull__hazptr_reserve();
		lull__hazptr_collect(table);
	}
	return table;
}

/* Run what is ready: of all, or of those only that are freed. */
static size_t run_taken(struct lull__queue *taken, bool calls)
{
	size_t count = 0, bytes = 0;

	for (struct lull__queue *q = taken; q; q = q->next_taken)
		if (calls || !lull__kind_is_call(q->kind))
			count += lull__queue_run(q, SIZE_MAX, &bytes);
	lull__note_done(count, bytes);
	return count;
}

/* What is left in the queues that slots name is what a barrier waits for. */
static void mark_old(struct lull__queue *taken)
{
	for (struct lull__queue *q = taken; q; q = q->next_taken) {
		uint64_t more = lull__queue_mark_old(q);

		q->old += more;
		lull_add_relaxed(&lull__rc.old, more);
	}
}

/* Give back those that are freed from. Returns the others. */
static struct lull__queue *give_back_frees(struct lull__queue *taken)
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
 * Reclaim what is ready in queues of which each is, and give them back: what is only freed first,
 * so that its owners do not wait for callbacks.
 */
static size_t reclaim_taken(struct lull__queue *taken, bool old)
{
	size_t count = run_taken(taken, false);

	if (lull__hazptr_settle(taken))
		count += run_taken(taken, false);
	if (old)
		mark_old(taken);
	taken = give_back_frees(taken);
	if (taken) {
		lull__watchdog_enter();
		count += run_taken(taken, true);
		lull__watchdog_leave();
	}
	give_back(taken);
	return count;
}

/* What waits for slots only, if nobody else is at it. */
static size_t serve_slots(void)
{
	struct lull__queue *taken = take_due(PASS_LEFT, false, true);

	if (!taken)
		return 0;
	fence_for(ask_for_slots(taken), 0);
	make_ready(taken, look_at_slots(taken));
	return reclaim_taken(taken, false);
}

/*
 * One pass over all that is due: what waits for slots only, then, after a grace period, the rest.
 * One heavy fence serves both. Waits. Meanwhile owners go on deferring; only reclaiming is ours.
 * Returns how many items were reclaimed.
 */
size_t lull__pass(enum lull__pass what)
{
	struct lull__queue *taken = take_due(what, true, false), *slots_only = split(&taken);
	bool any = taken || slots_only;
	struct lull__hazptr_table *table = NULL;
	bool heavy = ask_for_slots(slots_only); /* first: then a new grace period's fence is theirs too */
	bool old = what == PASS_ALL && lull_load_relaxed(&lull__rc.mark_old);
	lull_rcu_cookie newly, gp = ask_for_gp(taken, &newly);
	size_t count = 0;

	lull_add_relaxed(&lull__rc.passes, (uint64_t)1);
	lull__count(&lull__stats->passes, 1);
	if (slots_only) {
		fence_for(heavy, newly);
		make_ready(slots_only, look_at_slots(slots_only));
		count += reclaim_taken(slots_only, old);
	}
	if (LULL__BUSTED(BRIDGE_SCAN_FIRST))
		table = look_at_slots(taken);
	while (gp && !lull__rcu_wait_until(gp, lull__now_ns() + SERVE_NS))
		count += serve_slots(); /* hazard pointers do not wait for sections */
	if (!LULL__BUSTED(BRIDGE_SCAN_FIRST))
		table = look_at_slots(taken); /* BRI-1: after the grace period */
	make_ready(taken, table);
	count += reclaim_taken(taken, old);
	count += run_overflow();
	lull__note_exactly();
	if (count || !any)
		lull_store_relaxed(&lull__rc.futile, 0u);
	else
		lull_add_relaxed(&lull__rc.futile, 1u);
	return count;
}

/* ---- the background thread ------------------------------------------------------------------ */

/* Is there something that the background thread need not wait for a timer to do? */
static bool something_due(enum lull__pass what)
{
	struct lull__bag *bag;

	if (lull_load_relaxed(&lull__rc.stop))
		return true;
	if (lull_load_relaxed(&lull__rc.flush_wanted) > lull_load_relaxed(&lull__rc.flush_done))
		return true;
	if (lull_load_relaxed(&lull__rc.mode) == LULL_RECLAIM_POLL)
		return false;
	if (lull_load_relaxed(&lull__rc.overflow))
		return true;
	lull__for_each_bag(bag) {
		if (lull_load_relaxed(&bag->state) == BAG_ORPHAN && is_empty(bag))
			return true; /* to be settled */
		for (int kind = 0; kind < LULL__KINDS; kind++)
			if (!is_settled(&bag->queue[kind]) && is_due(bag, kind, what))
				return true;
	}
	return false;
}

/*
 * Note how far the owners have got with what is left to them. Tells whether anything waits, and
 * whether any owner that has something waiting has got on since last time.
 */
static bool look_at_owners(bool *they_work)
{
	struct lull__bag *bag;
	bool waits = false;

	*they_work = false;
	lull__for_each_bag(bag) {
		for (int kind = 0; kind < LULL__KINDS; kind++) {
			struct lull__queue *q = &bag->queue[kind];
			uint64_t done = lull_load_relaxed(&q->done);

			if (needs_relook(q))
				waits = true;
			if (!lull__is_left_to_owner(q) || lull__queue_is_empty(q) || is_settled(q))
				continue;
			waits = true;
			if (done != lull_load_relaxed(&q->last_done))
				*they_work = true;
			lull_store_relaxed(&q->last_done, done);
		}
	}
	return waits;
}

static bool nothing_waits(void)
{
	size_t items, bytes;

	lull__reclaim_backlog(&items, &bytes);
	return items == 0;
}

/* Not a plain store: poll and configure set `sleep` for others meanwhile. */
static void get_up(uint32_t from)
{
	lull_cas_relaxed(&lull__rc.sleep, &from, (uint32_t)AWAKE);
}

/* Sleep until there is something to do; with a timer when owners have something waiting. */
static void go_to_sleep(uint32_t depth, uint64_t timer_ns)
{
	lull_store_relaxed(&lull__rc.sleep, depth);
	if (depth == NAPPING) {
		/*
		 * What comes in meanwhile waits for the end of the nap: no look at the queues, no
		 * fence.
		 */
		if (lull_load_relaxed(&lull__rc.flush_wanted) == lull_load_relaxed(&lull__rc.flush_done))
			lull__futex_wait(&lull__rc.sleep, depth, timer_ns);
		get_up(depth);
		return;
	}
	/*
	 * ORDER REC-2: `sleep` before the last look at the queues; pairs with REC-2 in
	 * lull__notify(); without it as there; model/reclaim/sleep.tpl
	 */
	lull_fence_heavy();
	if (!something_due(depth == ASLEEP ? PASS_ALL : PASS_CALLS)) {
		lull__futex_wait(&lull__rc.sleep, depth, timer_ns);
		lull_add_relaxed(&lull__rc.wakeups, (uint64_t)1);
		lull__count(&lull__stats->wakeups, 1);
	}
	get_up(depth);
}

/* A pass on behalf of all barriers up to @ticket. */
static size_t flush_for(uint64_t ticket)
{
	size_t count = lull__pass(PASS_ALL);

	/*
	 * ORDER REC-7: the pass before its ticket; pairs with REC-7 in flush_there(); without it a
	 * barrier returns before it sees what callbacks did; model/reclaim/flush.litmus
	 */
	lull_store_release(&lull__rc.flush_done, ticket);
	lull_add_release(&lull__rc.flush_event, 1u);
	lull__futex_wake(&lull__rc.flush_event, INT_MAX);
	return count;
}

/* One round: what is due now. Returns how many items it reclaimed. */
static size_t round_of(bool look_for_leftovers)
{
	uint64_t ticket = lull_load_acquire(&lull__rc.flush_wanted); /* REC-7: then what was deferred before */

	if (ticket > lull_load_relaxed(&lull__rc.flush_done))
		return flush_for(ticket);
	if (lull_load_relaxed(&lull__rc.mode) == LULL_RECLAIM_POLL)
		return 0; /* from now on it is the program's */
	return lull__pass(look_for_leftovers ? PASS_LEFT : PASS_CALLS);
}

static void *reclaimer(void *unused)
{
	uint64_t look_at_ns = 0, now_ns;
	uint32_t doubled = 0;
	bool they_work, waits = false;
	uint32_t futile = 0, seen_futile;
	size_t count;

	(void)unused;
	lull__ensure_registered();
	lull__fine_timers();
	pthread_setname_np(pthread_self(), "lull-reclaim");
	while (!lull_load_relaxed(&lull__rc.stop)) {
		now_ns = lull__now_ns();
		seen_futile = futile;
		count = round_of(waits && now_ns >= look_at_ns);
		if (!waits || now_ns >= look_at_ns) {
			waits = look_at_owners(&they_work);
			doubled = they_work && doubled < LINGER_DOUBLES ? doubled + 1 : 0;
			look_at_ns = now_ns + ((uint64_t)lull_load_relaxed(&lull__rc.config.linger_ms) * 1000000u
					       << doubled);
		}
		if (lull_load_relaxed(&lull__rc.mode) == LULL_RECLAIM_POLL || nothing_waits())
			waits = false; /* no timer then */
		futile = lull_load_relaxed(&lull__rc.futile);
		if (count > 1 && count < NAP_BELOW && !lull__over_soft())
			go_to_sleep(NAPPING, NAP_NS);
		else if (futile > seen_futile && lull_load_relaxed(&lull__rc.mode) != LULL_RECLAIM_POLL) /* a reader says the same again and again, it may be */
			go_to_sleep(NAPPING, (uint64_t)NAP_NS << (futile < FUTILE_MOST ? futile : FUTILE_MOST));
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

	if (!lull_cas_relaxed(&lull__rc.thread, &thread, (uint32_t)HAS_THREAD))
		return thread == HAS_THREAD;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &saved);
	err = pthread_create(&lull__rc.id, NULL, reclaimer, NULL);
	if (!err)
		lull__watchdog_start();
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	if (!err)
		return true;
	lull_store_relaxed(&lull__rc.mode, (uint32_t)LULL_RECLAIM_CALLER);
	lull_store_relaxed(&lull__rc.thread, (uint32_t)CANNOT_HAVE_ONE);
	/* A barrier may wait for the thread already. */
	lull_add_release(&lull__rc.flush_event, 1u); /* REC-7 */
	lull__futex_wake(&lull__rc.flush_event, INT_MAX);
	lull__say("cannot start the reclaimer's thread (%s): deferring threads reclaim", strerror(err));
	return false;
}

/*
 * exit(): end the thread, so that leak checkers find nothing of it. What still waits stays where it
 * is. A callback or a grace period that does not end is not waited for for long.
 */
__attribute__((destructor)) static void stop_reclaimer(void)
{
	if (lull_load_relaxed(&lull__rc.thread) != HAS_THREAD || pthread_equal(lull__rc.id, pthread_self()))
		return;
	lull_store_relaxed(&lull__rc.stop, 1u);
	/* Not lull__notify(): under POLL that tells the program, and wakes no thread. REC-2 as there. */
	lull_fence_light();
	lull_store_relaxed(&lull__rc.sleep, (uint32_t)AWAKE);
	lull__futex_wake(&lull__rc.sleep, 1);
	lull__watchdog_stop();
	if (lull__join(lull__rc.id, EXIT_WAIT_NS))
		lull_store_relaxed(&lull__rc.thread, (uint32_t)NO_THREAD);
	lull_store_relaxed(&lull__rc.stop, 0u);
}

/* With signals blocked: a handler that lets go of a hazard pointer may have to notify, too. */
static void config_enter(sigset_t *saved)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, saved);
	lull__lock(&lull__rc.config_lock);
}

static void config_leave(const sigset_t *saved)
{
	lull__unlock(&lull__rc.config_lock);
	pthread_sigmask(SIG_SETMASK, saved, NULL);
}

static void notify_program(void)
{
	struct lull_reclaim_config config;
	sigset_t saved;

	config_enter(&saved);
	config = lull__rc.config;
	config_leave(&saved);
	if (config.notify)
		config.notify(config.notify_arg);
}

static void wake_sleeper(void)
{
	if (lull_xchg_relaxed(&lull__rc.sleep, (uint32_t)AWAKE) == AWAKE)
		return;
	if (lull_load_relaxed(&lull__rc.mode) == LULL_RECLAIM_POLL)
		notify_program();
	else
		lull__futex_wake(&lull__rc.sleep, 1);
}

/* Something waits that the sleeper should see to. */
void lull__wake_reclaimer(void)
{
	if (lull_load_relaxed(&lull__rc.mode) != LULL_RECLAIM_POLL)
		start_reclaimer();
	wake_sleeper();
}

/*
 * The same by a reader, which may be in a signal handler, and starts no thread: somebody has seen to
 * what was left because of it, and whoever that was is there. REC-2 as in lull__notify().
 */
void lull__notify_from_reader(void)
{
	lull_fence_light();
	if (lull_load_relaxed(&lull__rc.sleep) >= LINGERING)
		wake_sleeper();
}

/* ---- barrier, drain, poll ------------------------------------------------------------------- */

/* A pass by the caller, where there is no thread to do it. */
static bool flush_here(uint64_t deadline_ns)
{
	/* First without anything at stake, because a pass cannot be left half way. */
	if (!lull__rcu_wait_until(lull__rcu_cookie(), deadline_ns))
		return false;
	lull__pass(PASS_ALL);
	return true;
}

/* A pass by the background thread. False when the time was up. */
static bool flush_there(uint64_t deadline_ns)
{
	/* REC-7, the other way: what was deferred before the ticket; acquire in round_of(). */
	uint64_t ticket = lull_add_release(&lull__rc.flush_wanted, (uint64_t)1) + 1;

	lull__notify(NAPPING);
	for (;;) {
		uint32_t event = lull_load_acquire(&lull__rc.flush_event); /* REC-7: before flush_done */
		uint64_t now_ns = deadline_ns ? lull__now_ns() : 0;

		/*
		 * ORDER REC-7: the ticket before what the caller does next; pairs with REC-7 in
		 * flush_for(); without it as there; model/reclaim/flush.litmus
		 */
		if (lull_load_acquire(&lull__rc.flush_done) >= ticket)
			return true;
		/* No thread can be had after all, or nobody wakes it any more: see wake_sleeper(). */
		if (lull_load_relaxed(&lull__rc.thread) == CANNOT_HAVE_ONE ||
		    lull_load_relaxed(&lull__rc.mode) == LULL_RECLAIM_POLL)
			return flush_here(deadline_ns);
		if (deadline_ns && now_ns >= deadline_ns)
			return false;
		lull__futex_wait(&lull__rc.flush_event, event, deadline_ns ? deadline_ns - now_ns : 0);
	}
}

/* One generation of a barrier. @offspring: callbacks deferred more meanwhile. */
static bool flush_and_wait(uint64_t deadline_ns, bool *offspring)
{
	/*
	 * ORDER REC-12: the count before the pass; pairs with REC-12 in defer_rarely(); without it as
	 * there; model/reclaim/barrier-offspring.litmus
	 */
	uint64_t before = lull_load_acquire(&lull__rc.from_callbacks);
	bool here = lull_load_relaxed(&lull__rc.mode) == LULL_RECLAIM_POLL || !start_reclaimer();
	bool in_time = LULL__BUSTED(EARLY_BARRIER) || (here ? flush_here(deadline_ns) : flush_there(deadline_ns));

	*offspring = lull_load_relaxed(&lull__rc.from_callbacks) != before;
	return in_time;
}

static bool old_is_done(void)
{
	/*
	 * ORDER REC-11: the count before what the caller does next; pairs with REC-11 in
	 * lull__queue_old_done(); without it as there; model/reclaim/barrier-old.litmus
	 */
	return lull_load_acquire(&lull__rc.old) == 0;
}

static uint64_t left_until(uint64_t deadline_ns)
{
	uint64_t now_ns = deadline_ns ? lull__now_ns() : 0;

	return !deadline_ns ? 0 : deadline_ns > now_ns ? deadline_ns - now_ns : 1;
}

static bool is_past(uint64_t deadline_ns)
{
	return deadline_ns && lull__now_ns() >= deadline_ns;
}

/* Wait until nothing is left of what passes have marked: slots that name it say something else. */
static bool sleep_for_old(struct lull__vigil *vigil, uint64_t deadline_ns)
{
	struct lull_stall stall;

	while (!old_is_done()) {
		uint64_t wake_ns;
		/* HAZ-9: before what is looked at. */
		uint32_t event = lull_load_acquire(&lull__hazptr.event);

		bool here = lull_load_relaxed(&lull__rc.mode) == LULL_RECLAIM_POLL ||
			    lull_load_relaxed(&lull__rc.thread) != HAS_THREAD;

		if (here && !flush_here(deadline_ns))
			return false;
		if (old_is_done())
			break;
		if (is_past(deadline_ns))
			return false;
		lull__hazptr_left(&stall);
		lull__vigil_holder(vigil, &stall, stall.slots);
		if (lull__vigil_due(vigil)) {
			lull__vigil_report(vigil, &stall);
			continue;
		}
		wake_ns = lull__vigil_report_ns(vigil);
		if (!wake_ns || (deadline_ns && deadline_ns < wake_ns))
			wake_ns = deadline_ns;
		/* LULL__SETTLED_RELOOK, if nobody else sees to it. */
		if (here && lull__fence_full_mode && (!wake_ns || lull__now_ns() + RELOOK_NS < wake_ns))
			wake_ns = lull__now_ns() + RELOOK_NS;
		lull__futex_wait(&lull__hazptr.event, event, left_until(wake_ns));
	}
	return true;
}

static bool await_old(uint64_t deadline_ns)
{
	struct lull__vigil vigil;
	bool in_time;

	if (old_is_done())
		return true;
	lull__vigil_begin(&vigil, LULL_WAIT_HAZPTR_BARRIER, 0);
	in_time = sleep_for_old(&vigil, deadline_ns);
	lull__vigil_end(&vigil);
	return in_time;
}

/* One generation of a barrier that also waits for what hazard pointers protect. */
static bool flush_protected(uint64_t deadline_ns, bool *offspring)
{
	bool in_time;

	while (!lull__trylock(&lull__rc.barrier_lock)) {
		if (is_past(deadline_ns))
			return false;
		lull__lock_await(&lull__rc.barrier_lock, left_until(deadline_ns));
	}
	lull_store_relaxed(&lull__rc.mark_old, 1u);
	in_time = flush_and_wait(deadline_ns, offspring);
	lull_store_relaxed(&lull__rc.mark_old, 0u);
	if (in_time)
		in_time = await_old(deadline_ns);
	lull__unlock_wake(&lull__rc.barrier_lock, INT_MAX);
	return in_time;
}

static int barrier(const char *call, uint64_t deadline_ns, bool hazptr)
{
	bool online = lull__self.state & LULL__STATE_ONLINE;
	bool offspring = true, in_time = true;

	lull__rcu_no_section(call);
	if (lull__self.callback_depth)
		lull__die("%s in a callback would wait for itself for ever", call);
	if (hazptr && !deadline_ns)
		lull__check_protects_none(call);
	lull__ensure_registered();
	if (online)
		lull_rcu_offline();
	for (int i = 0; i < GENERATIONS && offspring && in_time; i++)
		in_time = hazptr ? flush_protected(deadline_ns, &offspring) : flush_and_wait(deadline_ns, &offspring);
	if (online)
		lull_rcu_online();
	return in_time ? 0 : -ETIMEDOUT;
}

void lull_rcu_barrier(void)
{
	barrier("lull_rcu_barrier", 0, false);
}

void lull_hazptr_barrier(void)
{
	barrier("lull_hazptr_barrier", 0, true);
}

int lull_hazptr_barrier_timeout(uint64_t timeout_ms)
{
	return barrier("lull_hazptr_barrier_timeout", lull__deadline_ns(timeout_ms), true);
}

int lull_reclaim_drain(uint64_t timeout_ms)
{
	return barrier("lull_reclaim_drain", lull__deadline_ns(timeout_ms), true);
}

/* Reclaim what is ready in one queue, in small steps until @deadline_ns. Returns how many. */
static size_t run_in_steps(struct lull__queue *q, size_t most, uint64_t deadline_ns)
{
	size_t count = 0, bytes = 0, got;

	do {
		size_t left = most - count;

		got = lull__queue_run(q, left < POLL_STEP ? left : POLL_STEP, &bytes);
		count += got;
	} while (got == POLL_STEP && !is_past(deadline_ns));
	lull__note_done(count, bytes);
	return count;
}

/* What can become ready without waiting does. */
static void poll_queue(struct lull__queue *q)
{
	uint64_t put = lull__queue_put(q);

	lull__queue_advance(q);
	if (q->ready == q->wait && q->wait < put && (!is_settled(q) || q->relooking)) {
		lull__queue_ask(q, put);
		lull__queue_advance(q);
	}
}

static size_t run_polled(struct lull__queue *taken, bool calls, size_t most, uint64_t deadline_ns)
{
	size_t count = 0;

	for (struct lull__queue *q = taken; q && count < most; q = q->next_taken) {
		if (lull__kind_is_call(q->kind) == calls)
			count += run_in_steps(q, most - count, deadline_ns);
		if (count && is_past(deadline_ns)) /* a step at least, however short the time */
			break;
	}
	return count;
}

/* Was something kept because of slots that say nothing of it yet? */
static bool is_unsettled(struct lull__queue *q)
{
	return lull_load_relaxed(&q->kept) && !is_settled(q);
}

/* The same, unless somebody is at it, who looks again at the end. */
static bool is_left_unsettled(struct lull__queue *q)
{
	return is_unsettled(q) && !lull_load_relaxed(&q->lock.word);
}

static void settle_polled(struct lull__queue *taken)
{
	bool unsettled = false;

	for (struct lull__queue *q = taken; q; q = q->next_taken)
		unsettled |= is_unsettled(q);
	if (unsettled)
		lull__hazptr_settle(taken);
}

static bool anything_unsettled(void)
{
	struct lull__bag *bag;

	lull__for_each_bag(bag)
		for (int kind = 0; kind < LULL__KINDS; kind++)
			if (is_left_unsettled(&bag->queue[kind]))
				return true;
	return false;
}

/* What begins to wait from here on notifies again. */
static void end_of_poll(void)
{
	size_t before, items, bytes;

	if (lull_load_relaxed(&lull__rc.mode) != LULL_RECLAIM_POLL || lull_load_relaxed(&lull__rc.sleep) != AWAKE)
		return;
	lull__reclaim_backlog(&before, &bytes);
	lull_store_relaxed(&lull__rc.sleep, (uint32_t)ASLEEP);
	lull_fence_heavy(); /* REC-2, as in go_to_sleep() */
	lull__reclaim_backlog(&items, &bytes);
	if (items > before || anything_unsettled())
		lull__wake_reclaimer();
}

size_t lull_reclaim_poll(size_t max_items, uint64_t max_ns)
{
	uint64_t deadline_ns = max_ns ? lull__now_ns() + max_ns : 0;
	struct lull__queue *taken;
	size_t count;

	if (lull__self.callback_depth)
		lull__die("lull_reclaim_poll in a callback");
	lull__ensure_registered();
	taken = take_due(PASS_ALL, false, false);
	for (struct lull__queue *q = taken; q; q = q->next_taken)
		poll_queue(q);
	settle_polled(taken);
	count = run_polled(taken, false, max_items, deadline_ns);
	taken = give_back_frees(taken);
	count += run_polled(taken, true, max_items - count, deadline_ns);
	give_back(taken);
	end_of_poll();
	return count;
}

/* ---- configuration and counters ------------------------------------------------------------- */

static const struct lull_reclaim_config at_start = CONFIG_AT_START;

void lull_reclaim_default_config(struct lull_reclaim_config *config)
{
	*config = at_start;
}

static void owner_leaves(struct lull__bag *bag, struct lull__queue *q)
{
	lull__lock(&q->lock);
	lull_store_relaxed(&q->owner_helps, 0u);
	lull__queue_revoke(q);
	lull_fence_heavy(); /* REC-8 */
	if (bag != lull__self.bag) /* else it is not inside: this is not a callback */
		lull__queue_await_owner(q);
	lull__queue_release(q);
}

/* Owners that have begun to run callbacks do so no more; under CALLER they begin again. */
static void owners_leave(void)
{
	struct lull__bag *bag;

	lull__for_each_bag(bag) {
		for (int kind = 0; kind < LULL__KINDS; kind++)
			if (lull__kind_is_call((uint32_t)kind) && lull_load_relaxed(&bag->queue[kind].put))
				owner_leaves(bag, &bag->queue[kind]);
	}
}

int lull_reclaim_configure(const struct lull_reclaim_config *config)
{
	size_t items, bytes;
	sigset_t saved;

	if ((unsigned)config->mode > LULL_RECLAIM_CALLER ||
	    (unsigned)config->on_hard > LULL_RECLAIM_HELP || config->linger_ms == 0 ||
	    (config->hard_items && config->hard_items < config->soft_items) ||
	    (config->hard_bytes && config->hard_bytes < config->soft_bytes))
		return -EINVAL;
	if (lull__self.callback_depth)
		lull__die("lull_reclaim_configure in a callback");
	config_enter(&saved);
	lull_store_relaxed(&lull__rc.config.on_hard, config->on_hard);
	lull_store_relaxed(&lull__rc.config.soft_items, config->soft_items);
	lull_store_relaxed(&lull__rc.config.soft_bytes, config->soft_bytes);
	lull_store_relaxed(&lull__rc.config.hard_items, config->hard_items);
	lull_store_relaxed(&lull__rc.config.hard_bytes, config->hard_bytes);
	lull_store_relaxed(&lull__rc.config.linger_ms, config->linger_ms);
	lull__rc.config.notify = config->notify;
	lull__rc.config.notify_arg = config->notify_arg;
	lull_store_relaxed(&lull__rc.mode, (uint32_t)config->mode);
	lull__reclaim_limits(&lull__stats->hard_items, &lull__stats->hard_bytes);
	config_leave(&saved);
	owners_leave();
	/* Whoever is to see to what waits under the new mode hears of it. */
	lull_store_relaxed(&lull__rc.sleep, (uint32_t)ASLEEP);
	lull_fence_heavy(); /* REC-2, as in go_to_sleep() */
	lull__reclaim_backlog(&items, &bytes);
	/* A barrier that began in between may have found `sleep` as the last mode left it. */
	if (items || (config->mode != LULL_RECLAIM_POLL &&
		      lull_load_relaxed(&lull__rc.flush_wanted) > lull_load_relaxed(&lull__rc.flush_done)))
		lull__wake_reclaimer();
	/* A barrier may have to do itself what the thread did. */
	lull_add_release(&lull__rc.flush_event, 1u); /* REC-7 */
	lull__futex_wake(&lull__rc.flush_event, INT_MAX);
	lull__hazptr_wake();
	return 0;
}

void lull__reclaim_limits(uint64_t *items, uint64_t *bytes)
{
	lull_store_relaxed(items, (uint64_t)lull_load_relaxed(&lull__rc.config.hard_items));
	lull_store_relaxed(bytes, (uint64_t)lull_load_relaxed(&lull__rc.config.hard_bytes));
}

void lull_reclaim_stats(struct lull_reclaim_counts *stats)
{
	struct lull__bag *bag;

	memset(stats, 0, sizeof(*stats));
	lull__reclaim_backlog(&stats->items, &stats->bytes);
	lull__for_each_bag(bag)
		for (int kind = 0; kind < LULL__KINDS; kind++)
			stats->total_items += lull_load_relaxed(&bag->queue[kind].put);
	lull__note_peak(stats->items, stats->bytes);
	stats->peak_items = lull_load_relaxed(&lull__rc.peak_items);
	stats->peak_bytes = lull_load_relaxed(&lull__rc.peak_bytes);
	stats->passes = lull_load_relaxed(&lull__rc.passes);
	stats->wakeups = lull_load_relaxed(&lull__rc.wakeups);
}

void lull_reclaim_reset_peak(void)
{
	lull_store_relaxed(&lull__rc.peak_items, (size_t)0);
	lull_store_relaxed(&lull__rc.peak_bytes, (size_t)0);
	lull_store_relaxed(&lull__stats->peak_items, (uint64_t)0);
	lull_store_relaxed(&lull__stats->peak_bytes, (uint64_t)0);
}

/* The owners of all other bags, the background thread and whoever held a lock are not here. */
void lull__reclaim_fork_child(void)
{
	struct lull__bag *bag;

	lull__rc.items = lull__rc.bytes = 0;
	lull__for_each_bag(bag) {
		for (int kind = 0; kind < LULL__KINDS; kind++) {
			struct lull__queue *q = &bag->queue[kind];

			q->lock.word = 0;
			q->revoked = 0;
			if (bag != lull__self.bag)
				q->busy = 0;
			lull__queue_fork_child(q, q->busy);
			q->noted = q->put;
			q->noted_bytes = q->put_bytes;
			lull__rc.items += (size_t)(q->put - q->done);
			lull__rc.bytes += (size_t)(q->put_bytes - q->done_bytes);
		}
		if (bag != lull__self.bag && bag->state == BAG_OWNED)
			bag->state = BAG_ORPHAN;
	}
	lull__rc.config_lock.word = 0;
	lull__rc.barrier_lock.word = 0;
	lull__rc.overflow_lock.word = 0;
	lull__rc.mark_old = 0;
	lull__rc.old = 0;
	lull__rc.thread = NO_THREAD;
	lull__rc.sleep = ASLEEP;
	lull__rc.flush_done = lull__rc.flush_wanted;
}
