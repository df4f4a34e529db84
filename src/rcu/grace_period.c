/* SPDX-License-Identifier: MIT */
/*
 * grace_period.c - grace periods: begin one, wait until all readers from before have left, share it.
 *
 * One thread at a time leads; the others sleep on the leader's lock. It starts a grace period by storing the next
 * number in `started`, making a heavy fence, and storing the number in `lull__rcu_gp` for readers to carry. It scans
 * all threads' words, and when none is older it stores `completed`. A grace period need not end under the leader that
 * began it: a caller that only polls goes away, and the next leader scans again, without a fence.
 *
 * The heavy fence is for threads that make light ones. Online threads make full fences, and so does a thread that
 * registers; so a grace period that finds no other threads begins with a full fence only.
 *
 * A grace period must see each thread outside its old section once. So its first scan looks at all records, the next one
 * moves those in the way to the front of the registry, and from then on scans look at these only.
 *
 * One grace period is open at a time: the next one begins when it is over, however many ask for it meanwhile. If each new
 * cookie began one of its own, a thread that polls an old cookie would wait for the newest one's readers, and never end.
 *
 * A cookie is the number of the first grace period that starts after the cookie was taken.
 *
 * The leader may have so low a priority that the scheduler does not run it for seconds. So a caller that has waited for
 * LAG_NS while the leader scanned nothing, and does not sleep for a reader, makes the open grace period, or the next
 * one, beside it, with fences and a scan of its own. Nothing is taken from the leader. The three numbers only grow, by
 * compare-and-swap, whoever stores them, and a grace period claims no more than its own fences and scans have shown; so
 * it does not matter how many are made at a time, nor which step the leader takes next, however late.
 */
#include <limits.h>

#include "../base/events.h"
#include "../base/fault.h"
#include "../base/process.h"
#include "../base/registry.h"
#include "../base/wait.h"
#include "grace_period.h"
#include "holdouts.h"
#include "section.h"

#define SPIN_SCANS    64 /* scans before going to sleep: a few microseconds */
#define TIMED_EVERY    8 /* time one in so many of those for which no thread sleeps: see stats.h */
#define LAG_NS  1000000u /* a leader that has scanned nothing for so long may not be running */
#define LAG_DOUBLES   10 /* a waiter looks ever more rarely, down to once a second: it is late by no more than it has waited */

/* What a grace period waits for. */
struct period {
	uint64_t number;
	uint32_t front; /* so many records at the front of the registry contain all that it waits for */
	bool sparse;	/* ... and many others */
};

static struct {
	struct lull__lock leader;
	uint64_t started;   /* number of the newest grace period that has started */
	uint64_t completed; /* number of the newest grace period that is over */
	uint64_t fenced;    /* number of the newest one that has made a heavy fence; an older one may overwrite it */
	uint64_t sleeps_at; /* one more than the event after which the leader sleeps; 0: it is awake */
	uint64_t seen_looks; /* a thread that is not the leader has seen the leader's looks at this count, ... */
	uint64_t seen_ns;    /* ... at this time, or has made a grace period beside it then */
	/* The leader's: */
	struct period open; /* the last one that a leader began */
	uint64_t began_ns;  /* when it started, or a thread first slept for it; 0: not timed */
	bool slept;	    /* a thread has slept for it */
	/* State of the grace period that leaders sleep for, one after the other: */
	uint64_t clock_for;
	struct lull__wait wait;
} gp __attribute__((aligned(LULL__CACHELINE))) = {
	.started = LULL__RCU_STEP, .completed = LULL__RCU_STEP,
};

#define FRONT_ALL UINT32_MAX
#define FRONT_FEW 16u /* more looks than this, and than holdouts twice, are worth moving records */

uint64_t lull__rcu_looks, lull__rcu_beside;

/* ---- scanning readers ----------------------------------------------------------------------- */

/*
 * Count the threads that may be in a section from before grace period @open. The leader alone moves records.
 *
 * A thread that was out of the way once is not looked at again. It may come to carry an old number after
 * that (it was stopped between loading the number and storing its word), but finds nothing that this grace
 * period frees.
 */
static unsigned gp_scan(struct period *open, enum gp_scan_what what, struct holdouts *held)
{
	struct lull__thread *thread, *next, *last = &lull__registry;
	struct lull__registry_hold hold;
	uint32_t looked = 0, front = 0;

	held->count = 0;
	held->oldest = open->number;
	held->flagged_now = false;
	if (gp_nobody_reads()) /* THR-3: the fence was made when the grace period began */
		return 0;
	/*
	 * THR-1 and THR-2: threads come and go under this lock, before the scan or after it. Signals are blocked while
	 * records move: a handler that forks amid a move would leave the child with a list of the parent's records.
	 */
	if (open->sparse)
		lull__registry_enter_to_move(&hold);
	else
		lull__registry_enter(&hold);
	for (thread = lull__registry.next; thread != &lull__registry && looked < open->front; thread = next) {
		/*
		 * ORDER RCU-3: the word before whatever the caller frees; pairs with RCU-3 in
		 * lull_rcu_read_unlock(), RCU-4, RCU-6, RCU-10; without it the free is seen by a
		 * read from before the unlock; model/rcu/exit.litmus
		 */
		uint64_t word = lull__busted_word(thread, lull_load_acquire(&thread->rcu));

		next = thread->next;
		looked++;
		if (word < LULL__RCU_STEP || number_of(word) >= open->number)
			continue;
		gp_add_holdout(thread, word, what, held);
		if (open->sparse) {
			lull__registry_move(thread, last);
			last = thread;
		}
		front = open->sparse ? held->count : looked;
	}
	lull__registry_leave(&hold);
	open->front = front;
	open->sparse = front > 2 * held->count + FRONT_FEW;
	if (open == &gp.open)
		lull_store_relaxed(&lull__rcu_looks, lull__rcu_looks + looked);
	return held->count;
}

/* Raise @what to @to, unless it is there already. */
static void gp_raise(uint64_t *what, uint64_t to)
{
	uint64_t was = lull_load_relaxed(what);

	while (was < to && !lull_cas_relaxed(what, &was, to))
		;
}

/* Begin grace period @number for the calling thread, whoever else has begun it. Its scan comes after that. */
static void gp_begin(uint64_t number)
{
	gp_raise(&gp.started, number);
	/*
	 * ORDER RCU-11: unlinking before the look for online threads, before the loads of the words, and before the
	 * number; pairs with RCU-11 in end_online(), lull__thread_rise(), enter_fenced(),
	 * lull__rcu_read_lock_slow() and lull__rcu_quiescent_slow(); without it an online thread, or one that was a
	 * moment ago, finds what is freed; model/rcu/offline.litmus
	 * RCU-7: `started` before all of that; model/rcu/alone.litmus
	 */
	lull_fence_full();
	/*
	 * ORDER RCU-2: unlinking before the loads of the words; pairs with RCU-2 in
	 * lull_rcu_read_lock(); without it a reader that found the object is not seen;
	 * model/rcu/enter.tpl
	 * ORDER RCU-7: `started` before the number that readers carry; pairs with RCU-7 in
	 * lull__rcu_cookie(); without it an updater takes a cookie for this grace period although a
	 * reader with its number may still find what it unlinked; model/rcu/cookie.tpl, also where another thread
	 * has stored `started`, or the number; model/rcu/beside.tpl
	 *
	 * ORDER HAZ-11: the heavy fence before `fenced`; pairs with HAZ-11 in
	 * lull__rcu_has_fenced(); without it hazard pointers are scanned before the fence that makes
	 * them visible; model/hazptr/pass.tpl
	 */
	if (gp_wants_heavy() && !LULL__BUSTED(NO_HEAVY_FENCE)) {
		lull_fence_heavy();
		lull_store_relaxed(&gp.fenced, number);
	}
	gp_raise(&lull__rcu_gp, number);
}

/*
 * Return the number of the grace period that is to be made after @completed: the one that has begun, or else a new one.
 * Never a new one beside it: who polls an old cookie would then wait for new readers again and again.
 */
static uint64_t gp_next(uint64_t completed)
{
	uint64_t next = completed + LULL__RCU_STEP, started = lull_load_relaxed(&gp.started);

	return started > next ? started : next;
}

/* End grace period @number: this thread has made its fences, or has the lead from who did, and has scanned. */
static void gp_complete(uint64_t number)
{
	uint64_t was = lull_load_relaxed(&gp.completed);

	lull__tsan_seen(sections);
	/*
	 * ORDER RCU-8: all that the scan saw before `completed`; pairs with RCU-8 in gp_is_over(); without it a thread that
	 * shares or polls a grace period frees too early; model/rcu/completed.litmus
	 */
	while (was < number && !lull_cas_release(&gp.completed, &was, number))
		;
}

static void gp_end(void)
{
	uint64_t number = gp.open.number;

	gp_complete(number);
	if (lull_likely(!gp.began_ns))
		lull__event_gp_end(number, 0, 0);
	else
		lull__event_gp_end(number, lull__now_ns() - gp.began_ns, gp.slept ? 1 : TIMED_EVERY);
	if (lull_unlikely(gp.wait.kind != LULL_WAIT_NONE))
		lull__wait_end(&gp.wait);
}

static bool gp_is_over(lull_rcu_cookie cookie)
{
	/*
	 * ORDER RCU-8: `completed` before the caller's free; pairs with RCU-8 in gp_complete(); without
	 * it as there; model/rcu/completed.litmus
	 */
	return lull_load_acquire(&gp.completed) >= cookie;
}

/* ---- waiting for readers --------------------------------------------------------------------- */

/*
 * Start the clock of a stall for the open grace period, which waits for @held. It goes on, for newer numbers
 * as well, while a reader that it was started for is in its section.
 */
static void gp_watch(const struct holdouts *held)
{
	if (gp.clock_for == gp.open.number || held->oldest < gp.clock_for)
		return;
	if (gp.wait.kind != LULL_WAIT_NONE)
		lull__wait_end(&gp.wait);
	gp.clock_for = gp.open.number;
	lull__wait_begin(&gp.wait, LULL_WAIT_GP, 0);
}

/* Blame each thread that this grace period waits for. */
static unsigned gp_blame(void *arg, struct lull_stall *first, unsigned *holders)
{
	const struct holdouts *held = arg;
	unsigned named = held->count < LULL__BLAME_MOST ? held->count : LULL__BLAME_MOST;

	for (unsigned i = 0; i < named; i++)
		first[i] = held->named[i];
	*holders = held->count;
	return named;
}

/* Sleep once, after @event: see lull__wait_sleep(). Leader only. */
static bool gp_sleep(uint32_t event, uint64_t deadline_ns, struct holdouts *held, struct lull__report *report)
{
	bool again;

	lull_store_relaxed(&gp.sleeps_at, (uint64_t)event + 1);
	again = lull__wait_sleep(&gp.wait, &lull__rcu_event, event, deadline_ns, LULL__NEVER, gp_blame, held, report);
	lull_store_relaxed(&gp.sleeps_at, (uint64_t)0);
	return again;
}

/*
 * Sleep until the open grace period waits for no thread. Returns false at the deadline, or when there is
 * something to report. Leader only.
 */
static bool gp_wait_holdouts(struct holdouts *held, uint64_t deadline_ns, struct lull__report *report)
{
	struct holdouts again;
	uint32_t event;

	gp.slept = true;
	if (!gp.began_ns)
		gp.began_ns = lull__now_ns();
	gp_watch(held);
	do {
		/*
		 * ORDER RCU-1: the event before the flags; pairs with RCU-1 in lull__rcu_wake();
		 * without it as there; model/rcu/event.tpl
		 */
		event = lull_load_acquire(&lull__rcu_event);
		if (gp_scan(&gp.open, GP_FLAG, held) == 0)
			return true;
		if (held->flagged_now && !LULL__BUSTED(NO_RECHECK)) {
			/*
			 * ORDER RCU-5: the flag before the second load of the word; pairs with
			 * RCU-5 in lull_rcu_read_unlock(); without it the leader is never woken;
			 * model/rcu/wake.tpl
			 */
			lull_fence_heavy();
			if (gp_scan(&gp.open, GP_COUNT, &again) == 0)
				return true;
		}
	} while (gp_sleep(event, deadline_ns, held, report));
	return false;
}

/* Wait as gp_wait_holdouts() does, awake for a while. Leader only. */
static bool gp_wait(uint64_t deadline_ns, struct lull__report *report)
{
	struct holdouts held;

	if (LULL__BUSTED(NO_WAIT))
		return true;
	for (int i = 0; i < SPIN_SCANS; i++) {
		if (gp_scan(&gp.open, GP_COUNT, &held) == 0)
			return true;
		for (int pause = 0; pause <= i / 8; pause++)
			lull_cpu_relax();
	}
	return gp_wait_holdouts(&held, deadline_ns, report);
}

lull_rcu_cookie lull__rcu_cookie(void)
{
	/*
	 * ORDER RCU-7: the caller's unlinking before the load of `started`; pairs with RCU-7 in
	 * gp_begin(); without it a grace period that began before the unlinking is taken for one
	 * that covers it; model/rcu/cookie.tpl
	 */
	lull_fence_full();
	return lull_load_relaxed(&gp.started) + (LULL__BUSTED(STALE_COOKIE) ? 0 : LULL__RCU_STEP);
}

/* Begin a grace period, unless a leader has begun one that is open. Leader only. */
static void gp_open(void)
{
	uint64_t completed = lull_load_relaxed(&gp.completed), number;

	if (gp.open.number > completed)
		return;
	number = gp_next(completed);
	gp.began_ns = number / LULL__RCU_STEP % TIMED_EVERY ? 0 : lull__now_ns();
	gp.slept = false;
	lull__event_gp_start(number);
	gp_begin(number);
	gp.open = (struct period){ .number = number, .front = FRONT_ALL };
}

/* Push the open grace period along, without waiting. Returns whether one has ended. Leader only. */
static bool gp_push(void)
{
	struct holdouts held;

	gp_open();
	if (gp_scan(&gp.open, GP_COUNT, &held) != 0)
		return false;
	gp_end();
	return true;
}

/* Does the leader sleep for readers, and no reader has woken it? */
static bool gp_sleeps(void)
{
	return lull_load_relaxed(&gp.sleeps_at) == (uint64_t)lull_load_relaxed(&lull__rcu_event) + 1;
}

/* Has the leader looked at nothing for LAG_NS? Of all that ask, one gets the answer yes, once in LAG_NS. */
static bool gp_lags(void)
{
	uint64_t looks = lull_load_relaxed(&lull__rcu_looks), seen_ns = lull_load_relaxed(&gp.seen_ns);
	uint64_t now_ns = lull__now_ns();

	if (looks != lull_load_relaxed(&gp.seen_looks)) {
		lull_store_relaxed(&gp.seen_looks, looks);
		lull_store_relaxed(&gp.seen_ns, now_ns);
		return false;
	}
	/* Another thread may have stored a later time. */
	return now_ns >= seen_ns + LAG_NS && lull_cas_relaxed(&gp.seen_ns, &seen_ns, now_ns);
}

/*
 * Make a grace period beside the leader, if that seems not to run. The calling thread has failed to become the leader.
 * Nothing can be done about a thread that is stopped with the lock of the registry.
 */
static void gp_go_beside(void)
{
	struct period own = { .front = FRONT_ALL };
	struct holdouts held;

	if (!gp_lags() || gp_sleeps() || lull_load_relaxed(&lull__registry_lock.word))
		return;
	lull_add_relaxed(&lull__rcu_beside, (uint64_t)1);
	own.number = gp_next(lull_load_relaxed(&gp.completed));
	gp_begin(own.number);
	if (gp_scan(&own, GP_COUNT, &held) == 0)
		gp_complete(own.number);
}

bool lull__rcu_advance(lull_rcu_cookie cookie)
{
	if (gp_is_over(cookie))
		return true;
	lull__init(); /* an unnoticed child repairs the grace periods before it begins one, not amid that */
	if (!lull__trylock(&gp.leader)) {
		gp_go_beside();
		return gp_is_over(cookie);
	}
	/* The open one may have begun before the cookie was taken: then push the next one, too. */
	if (!gp_is_over(cookie) && gp_push() && !gp_is_over(cookie))
		gp_push();
	lull__unlock_wake(&gp.leader, INT_MAX);
	return gp_is_over(cookie);
}

bool lull__rcu_is_over(lull_rcu_cookie cookie)
{
	return gp_is_over(cookie);
}

bool lull__rcu_has_fenced(lull_rcu_cookie cookie)
{
	/*
	 * ORDER HAZ-11: `fenced`, which is stored after the heavy fence, before the caller's scan of slots; pairs with
	 * HAZ-11 in gp_begin(); without it the scan runs ahead of the fence; model/hazptr/pass.tpl
	 */
	return lull_load_acquire(&gp.fenced) >= cookie;
}

bool lull__rcu_wait_until(lull_rcu_cookie cookie, uint64_t deadline_ns, struct lull__report *later)
{
	bool online = lull__self.state & LULL__STATE_ONLINE;
	struct lull__report own, *report = later ? later : &own;
	unsigned doubled = 0;

	lull__init(); /* as in lull__rcu_advance() */
	/* An online thread that waits holds no pointer: go offline now, so that no scan waits for it. */
	if (online && !LULL__BUSTED(ONLINE_WAITS))
		lull__rcu_end_section(LULL__RCU_REST);
	report->named = 0;
	while (!gp_is_over(cookie) && !lull__is_past(deadline_ns) && !(later && later->named)) {
		LULL__CHECK_WAITS(deadline_ns, .kind = LULL__AWAITS_GP, .number = cookie);
		if (!lull__trylock(&gp.leader)) {
			gp_go_beside();
			if (!gp_is_over(cookie))
				lull__lock_await(&gp.leader, lull__earlier(deadline_ns, lull__now_ns() + (LAG_NS << doubled)));
			doubled += doubled < LAG_DOUBLES;
			continue;
		}
		report->named = 0;
		if (!gp_is_over(cookie)) {
			gp_open();
			if (gp_wait(deadline_ns, report))
				gp_end();
		}
		lull__unlock_wake(&gp.leader, INT_MAX);
		/* Meanwhile another thread leads, if one waits. */
		if (!later)
			lull__wait_report(report);
	}
	LULL__CHECK_WAITS(deadline_ns, .kind = LULL__AWAITS_NOTHING);
	if (online)
		lull__rcu_enter_online();
	lull__retry();
	return gp_is_over(cookie);
}

void lull_rcu_synchronize(void)
{
	lull__rcu_no_section("lull_rcu_synchronize");
	lull__ensure_known();
	if (gp_is_needless())
		lull__retry();
	else
		lull__rcu_wait(lull__rcu_cookie());
}

lull_rcu_cookie lull_rcu_gp_start(void)
{
	lull_rcu_cookie cookie;

	lull__ensure_known();
	cookie = lull__rcu_cookie();
	lull__rcu_advance(cookie);
	return cookie;
}

bool lull_rcu_gp_poll(lull_rcu_cookie cookie)
{
	return lull__rcu_advance(cookie);
}

void lull_rcu_gp_wait(lull_rcu_cookie cookie)
{
	if (gp_is_over(cookie))
		return;
	lull__rcu_no_section("lull_rcu_gp_wait");
	lull__rcu_wait(cookie);
}

/*
 * Begin afresh in the child: the leader of the parent's grace period does not exist here. That is open, and waits for
 * the section of the thread that forked; it needs no fence, as all other threads will be born of that one.
 */
void lull__rcu_fork_child(uint32_t old_tid)
{
	(void)old_tid;
	gp.leader.word = 0;
	gp.sleeps_at = 0;
	gp.clock_for = 0;
	gp.wait.kind = LULL_WAIT_NONE;
	lull_store_relaxed(&lull__rcu_gp, gp.started); /* the parent may have started one that its readers did not know yet */
	gp.open = (struct period){ .number = gp.started, .front = FRONT_ALL };
	lull__self.flags &= LULL__FLAG_OWES;
}
