/* SPDX-License-Identifier: MIT */
/*
 * rcu.c - grace periods, and the parts of a read section that are rare.
 *
 * One thread at a time leads (the leader's lock). It starts a grace period by storing the next
 * number in `started`, making a heavy fence, and storing the number in `lull__rcu_gp` for readers
 * to carry. It scans all threads' words, and when none is older it stores `completed`. A grace
 * period need not end under the leader who began it: who only polls goes away and the next leader
 * scans again, without a fence.
 *
 * A cookie is the number of the first grace period that starts after the cookie was taken. Callers
 * whose cookie is covered by the one that runs sleep on the leader's lock.
 */
#include <limits.h>
#include <stdio.h>

#include "../base/events.h"

#define SPIN_SCANS    64 /* scans before going to sleep: a few microseconds */
#define TIMED_EVERY    8 /* of those that nobody sleeps for: see stats.h */
#define REPORT_AT_MOST 4 /* threads named in one stall report */

uint64_t lull__rcu_gp __attribute__((aligned(LULL__CACHELINE))) = LULL__RCU_STEP;

static struct {
	struct lull__lock leader;
	uint64_t started;   /* number of the newest grace period that has started */
	uint32_t event;	    /* changes when a thread that is waited for leaves its section */
	uint64_t completed; /* number of the newest grace period that is over */
	uint64_t began_ns;  /* when the newest one started, or was first slept for; 0: not timed */
	bool slept;	    /* ... for that */
	/* Of the grace period that leaders sleep for, one after the other: */
	uint64_t clock_for;
	struct lull__vigil vigil;
} gp __attribute__((aligned(LULL__CACHELINE))) = {
	.started = LULL__RCU_STEP,
	.completed = LULL__RCU_STEP,
};

static uint64_t number_of(uint64_t word)
{
	return word & ~(uint64_t)LULL__RCU_LOW;
}

/* ---- the rare parts of a section ------------------------------------------------------------ */

void lull__rcu_misuse(const char *what)
{
	char name[32];

	lull__thread_name(lull__gettid(), name, sizeof(name));
	lull__die("%s (thread \"%s\", tid %u)", what, name, lull__gettid());
}

/* Here come threads that are not registered, all where light fences are real, and the runaways. */
void lull__rcu_read_lock_slow(void)
{
	struct lull__thread *self = &lull__self;

	if (!(self->rcu & LULL__RCU_REST))
		lull__rcu_misuse("lull_rcu_read_lock: nested too deep; is an unlock missing?");
	lull__ensure_registered();
	if (self->state & LULL__STATE_EXITED) {
		lull__enter_unregistered();
		return;
	}
	/*
	 * RCU-4 and RCU-2 as in lull_rcu_read_lock(), with the light fence in full where it is one. There the word
	 * rests at a value that is not 0, and so must the unlock come out of line.
	 */
	lull_store_release(&self->rcu, lull_load_relaxed(&lull__rcu_gp) | (self->rcu ? LULL__RCU_SLOW : 0));
	lull_fence_light();
}

void lull__rcu_read_unlock_slow(void)
{
	struct lull__thread *self = &lull__self;

	if (self->rcu & LULL__RCU_REST)
		lull__rcu_misuse("lull_rcu_read_unlock: not in a read section");
	/* RCU-3 and RCU-5 as in lull_rcu_read_unlock(), with the light fence in full. */
	lull_store_release(&self->rcu, (uint64_t)LULL__RCU_REST);
	lull_fence_light();
	if (lull_nonzero_relaxed(&self->flags))
		lull__rcu_wake();
	if (self->state & LULL__STATE_EXITED)
		lull__leave_unregistered();
}

/* The section that a grace period sleeps for has ended. */
void lull__rcu_wake(void)
{
	lull_and_relaxed(&lull__self.flags, ~LULL__FLAG_RCU_WAITED);
	/*
	 * ORDER RCU-1: the flag's clearing before the event; pairs with RCU-1 in
	 * gp_wait_holdouts(); without it the leader takes a flag for set that is being cleared and
	 * sleeps; model/rcu/event.tpl
	 */
	lull_add_release(&gp.event, 1u);
	lull__futex_wake(&gp.event, INT_MAX);
}

#ifdef LULL_DEBUG
void lull__rcu_check_section(const char *what)
{
	char line[128];

	if (lull_likely(lull_rcu_read_lock_held()))
		return;
	snprintf(line, sizeof(line), "%s: outside a read section", what);
	lull__rcu_misuse(line);
}
#endif

static bool in_section(void)
{
	struct lull__thread *self = &lull__self;

	if (self->state & LULL__STATE_ONLINE)
		return (self->rcu & LULL__RCU_DEPTH) != 0;
	return self->rcu >= LULL__RCU_STEP;
}

void lull__rcu_no_section(const char *call)
{
	char name[32];

	if (lull_likely(!in_section()))
		return;
	lull__thread_name(lull__self.tid, name, sizeof(name));
	lull__die("%s in a read section would wait for itself for ever (thread \"%s\", tid %u, "
		  "section entered at %p)",
		  call, name, lull__self.tid, lull__self.rcu_site);
}

void lull__rcu_thread_exit(void)
{
	struct lull__thread *self = &lull__self;
	char name[32];

	if (self->rcu < LULL__RCU_STEP)
		return;
	if (in_section()) {
		lull__thread_name(self->tid, name, sizeof(name));
		lull__say("thread \"%s\" (tid %u) exits in a read section (depth %u); it ends here", name,
			  self->tid, (unsigned)(self->rcu & LULL__RCU_DEPTH) + 1);
	}
	lull_store_relaxed(&self->state, self->state & ~LULL__STATE_ONLINE);
	/* RCU-3, RCU-5: an unlock. */
	lull_store_release(&self->rcu, (uint64_t)LULL__RCU_REST);
	lull_fence_light();
	if (lull_nonzero_relaxed(&self->flags))
		lull__rcu_wake();
}

/* ---- quiescent-state threads ---------------------------------------------------------------- */

static void enter_online(void)
{
	/* RCU-4 and RCU-2 as in lull_rcu_read_lock(). */
	lull_store_release(&lull__self.rcu, lull_load_relaxed(&lull__rcu_gp));
	lull_fence_light();
}

static void leave_online(void)
{
	/* RCU-3 and RCU-5 as in lull_rcu_read_unlock(). */
	lull_store_release(&lull__self.rcu, lull__rest_word());
	lull_fence_light();
	if (lull_nonzero_relaxed(&lull__self.flags))
		lull__rcu_wake();
}

void lull_rcu_online(void)
{
	lull_thread_register();
	if (lull__self.state & LULL__STATE_EXITING)
		lull__rcu_misuse("lull_rcu_online: thread is exiting");
	if (lull__self.rcu >= LULL__RCU_STEP)
		lull__rcu_misuse("lull_rcu_online: online already, or in a read section");
	lull_store_relaxed(&lull__self.state, lull__self.state | LULL__STATE_ONLINE);
	enter_online();
}

static void check_online(const char *outside, const char *nested)
{
	if (!(lull__self.state & LULL__STATE_ONLINE))
		lull__rcu_misuse(outside);
	if (in_section())
		lull__rcu_misuse(nested);
}

void lull_rcu_offline(void)
{
	check_online("lull_rcu_offline: not online", "lull_rcu_offline: in a read section");
	lull_store_relaxed(&lull__self.state, lull__self.state & ~LULL__STATE_ONLINE);
	leave_online();
}

void lull__rcu_quiescent_slow(uint64_t number)
{
	check_online("lull_rcu_quiescent: not online", "lull_rcu_quiescent: in a read section");
	/*
	 * ORDER RCU-10: all loads until now before the new number; pairs with RCU-3 in gp_scan();
	 * without it an object is freed that was read before the quiescent state;
	 * model/rcu/quiescent.tpl
	 */
	lull_store_release(&lull__self.rcu, number);
	/* RCU-2 towards the next loads, RCU-5 towards the flag. */
	lull_fence_light();
	if (lull_nonzero_relaxed(&lull__self.flags))
		lull__rcu_wake();
}

/* ---- grace periods -------------------------------------------------------------------------- */

struct holdouts {
	unsigned count;
	bool flagged_now; /* some flag was set that was not set before */
	struct lull_stall named[REPORT_AT_MOST];
};

enum gp_scan_what { GP_LOOK, GP_FLAG };

static void gp_note_holdout(struct lull__thread *thread, uint64_t word, enum gp_scan_what what,
			    struct holdouts *held)
{
	if (what == GP_FLAG && LULL__BUSTED(NO_RECHECK))
		lull__busted_linger();
	if (what == GP_FLAG &&
	    !(lull_or_relaxed(&thread->flags, LULL__FLAG_RCU_WAITED) & LULL__FLAG_RCU_WAITED))
		held->flagged_now = true;
	if (what == GP_FLAG && held->count < REPORT_AT_MOST) {
		struct lull_stall *stall = &held->named[held->count];

		*stall = (struct lull_stall){ .tid = thread->tid };
		stall->site = lull_load_relaxed(&thread->rcu_site);
		stall->depth = (unsigned)(word & LULL__RCU_DEPTH) + 1;
		if (lull_load_relaxed(&thread->state) & LULL__STATE_ONLINE)
			stall->depth--;
	}
	held->count++;
}

/*
 * Look at every thread: how many may be in a section from before grace period @number? Leader only.
 */
static unsigned gp_scan(uint64_t number, enum gp_scan_what what, struct holdouts *held)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;

	held->count = 0;
	held->flagged_now = false;
	/* THR-1 and THR-2: threads come and go under this lock, before the scan or after it. */
	lull__registry_enter(&hold);
	lull__for_each_thread(thread) {
		/*
		 * ORDER RCU-3: the word before whatever the caller frees; pairs with RCU-3 in
		 * lull_rcu_read_unlock(), RCU-4, RCU-6, RCU-10; without it the free is seen by a
		 * read from before the unlock; model/rcu/exit.litmus
		 */
		uint64_t word = lull__busted_word(thread, lull_load_acquire(&thread->rcu));

		if (word >= LULL__RCU_STEP && number_of(word) < number)
			gp_note_holdout(thread, word, what, held);
	}
	lull__registry_leave(&hold);
	return held->count;
}

static uint64_t gp_begin(void)
{
	uint64_t number = gp.started + LULL__RCU_STEP;

	gp.began_ns = number / LULL__RCU_STEP % TIMED_EVERY ? 0 : lull__now_ns();
	gp.slept = false;
	lull__note_gp_start(number);
	lull_store_relaxed(&gp.started, number);
	/*
	 * ORDER RCU-2: unlinking before the look at the words; pairs with RCU-2 in
	 * lull_rcu_read_lock(); without it a reader that found the object is not seen;
	 * model/rcu/enter.tpl
	 * ORDER RCU-7: `started` before the number that readers carry; pairs with RCU-7 in
	 * lull__rcu_cookie(); without it an updater takes a cookie for this grace period although a
	 * reader with its number may still find what it unlinked; model/rcu/cookie.tpl
	 *
	 * ORDER HAZ-11: the heavy fence before the number; pairs with HAZ-11 in
	 * lull__rcu_has_begun(); without it hazard pointers are looked for before the fence that
	 * makes them seen; model/hazptr/pass.tpl
	 */
	if (!LULL__BUSTED(NO_HEAVY_FENCE))
		lull_fence_heavy();
	lull_store_relaxed(&lull__rcu_gp, number);
	return number;
}

static void gp_end(uint64_t number)
{
	/*
	 * ORDER RCU-8: all that the scan saw before `completed`; pairs with RCU-8 in gp_is_over();
	 * without it who shares or polls a grace period frees too early; model/rcu/completed.litmus
	 */
	lull_store_release(&gp.completed, number);
	if (lull_likely(!gp.began_ns))
		lull__note_gp_end(number, 0, 0);
	else
		lull__note_gp_end(number, lull__now_ns() - gp.began_ns, gp.slept ? 1 : TIMED_EVERY);
	if (lull_unlikely(gp.vigil.kind != LULL_WAIT_NONE))
		lull__vigil_end(&gp.vigil);
}

static bool gp_is_over(lull_rcu_cookie cookie)
{
	/*
	 * ORDER RCU-8: `completed` before the caller's free; pairs with RCU-8 in gp_end(); without
	 * it as there; model/rcu/completed.litmus
	 */
	return lull_load_acquire(&gp.completed) >= cookie;
}

/* Time left until @deadline_ns: 0 for "no limit", 1 at the least otherwise. */
static uint64_t left_until(uint64_t deadline_ns)
{
	uint64_t now_ns;

	if (!deadline_ns)
		return 0;
	now_ns = lull__now_ns();
	return deadline_ns > now_ns ? deadline_ns - now_ns : 1;
}

static bool is_past(uint64_t deadline_ns)
{
	return deadline_ns && lull__now_ns() >= deadline_ns;
}

/* The clock of a stall. A newer number does not restart it while a reader that it started for is there. */
static void gp_watch(uint64_t number)
{
	struct holdouts held;

	if (gp.clock_for == number || gp_scan(gp.clock_for, GP_LOOK, &held) != 0)
		return;
	if (gp.vigil.kind != LULL_WAIT_NONE)
		lull__vigil_end(&gp.vigil);
	gp.clock_for = number;
	lull__vigil_begin(&gp.vigil, LULL_WAIT_GP, 0);
}

/* For whom it waits: one report per thread. */
static void gp_report(struct holdouts *held)
{
	for (unsigned i = 0; i < held->count && i < REPORT_AT_MOST; i++)
		lull__vigil_report(&gp.vigil, &held->named[i]);
}

/* Sleep until no thread is in a section from before @number; false at the deadline. Leader only. */
static bool gp_wait_holdouts(uint64_t number, uint64_t deadline_ns)
{
	struct holdouts held, again;
	uint64_t report_ns;

	gp.slept = true;
	if (!gp.began_ns)
		gp.began_ns = lull__now_ns();
	gp_watch(number);
	while (!is_past(deadline_ns)) {
		/*
		 * ORDER RCU-1: the event before the flags; pairs with RCU-1 in lull__rcu_wake();
		 * without it as there; model/rcu/event.tpl
		 */
		uint32_t event = lull_load_acquire(&gp.event);
		uint64_t until_ns = deadline_ns;

		if (gp_scan(number, GP_FLAG, &held) == 0)
			return true;
		if (held.flagged_now && !LULL__BUSTED(NO_RECHECK)) {
			/*
			 * ORDER RCU-5: the flag before the second look at the word; pairs with
			 * RCU-5 in lull_rcu_read_unlock(); without it nobody wakes us;
			 * model/rcu/wake.tpl
			 */
			lull_fence_heavy();
			if (gp_scan(number, GP_LOOK, &again) == 0)
				return true;
		}
		lull__vigil_holder(&gp.vigil, &held.named[0], held.count);
		if (lull__vigil_due(&gp.vigil)) {
			gp_report(&held);
			continue;
		}
		report_ns = lull__vigil_report_ns(&gp.vigil);
		if (report_ns && (!until_ns || report_ns < until_ns))
			until_ns = report_ns;
		lull__futex_wait(&gp.event, event, left_until(until_ns));
	}
	return false;
}

static bool gp_wait(uint64_t number, uint64_t deadline_ns)
{
	struct holdouts held;

	if (LULL__BUSTED(NO_WAIT))
		return true;
	for (int i = 0; i < SPIN_SCANS; i++) {
		if (gp_scan(number, GP_LOOK, &held) == 0)
			return true;
		for (int pause = 0; pause <= i / 8; pause++)
			lull_cpu_relax();
	}
	return gp_wait_holdouts(number, deadline_ns);
}

lull_rcu_cookie lull__rcu_cookie(void)
{
	/*
	 * ORDER RCU-7: the caller's unlinking before the look at `started`; pairs with RCU-7 in
	 * gp_begin(); without it a grace period that began before the unlinking is taken for one
	 * that covers it; model/rcu/cookie.tpl
	 */
	lull_fence_full();
	if (LULL__BUSTED(STALE_COOKIE))
		return lull_load_relaxed(&gp.started);
	return lull_load_relaxed(&gp.started) + LULL__RCU_STEP;
}

/* Make the newest grace period one that covers @cookie. Leader only. */
static uint64_t gp_covering(lull_rcu_cookie cookie)
{
	return gp.started >= cookie ? gp.started : gp_begin();
}

bool lull__rcu_advance(lull_rcu_cookie cookie)
{
	struct holdouts held;
	uint64_t number;

	if (gp_is_over(cookie))
		return true;
	if (!lull__trylock(&gp.leader))
		return false;
	if (!gp_is_over(cookie)) {
		number = gp_covering(cookie);
		if (gp_scan(number, GP_LOOK, &held) == 0)
			gp_end(number);
	}
	lull__unlock_wake(&gp.leader, INT_MAX);
	return gp_is_over(cookie);
}

bool lull__rcu_has_begun(lull_rcu_cookie cookie)
{
	/*
	 * ORDER HAZ-11: the grace period's number, which its heavy fence comes before, before the
	 * caller's look at slots; pairs with HAZ-11 in gp_begin(); without it the look runs ahead
	 * of the fence; model/hazptr/pass.tpl
	 */
	return lull_load_acquire(&lull__rcu_gp) >= cookie;
}

bool lull__rcu_wait_until(lull_rcu_cookie cookie, uint64_t deadline_ns)
{
	bool online = lull__self.state & LULL__STATE_ONLINE;
	uint64_t number;

	/* A thread that waits holds nothing: report it now, not when a scan stumbles over it. */
	if (online && !LULL__BUSTED(ONLINE_WAITS))
		leave_online();
	while (!gp_is_over(cookie) && !is_past(deadline_ns)) {
		if (!lull__trylock(&gp.leader)) {
			lull__lock_await(&gp.leader, left_until(deadline_ns));
			continue;
		}
		if (!gp_is_over(cookie)) {
			number = gp_covering(cookie);
			if (gp_wait(number, deadline_ns))
				gp_end(number);
		}
		lull__unlock_wake(&gp.leader, INT_MAX);
	}
	if (online)
		enter_online();
	return gp_is_over(cookie);
}

void lull__rcu_wait(lull_rcu_cookie cookie)
{
	lull__rcu_wait_until(cookie, 0);
}

void lull_rcu_synchronize(void)
{
	lull__rcu_no_section("lull_rcu_synchronize");
	lull__ensure_registered();
	lull__rcu_wait(lull__rcu_cookie());
}

lull_rcu_cookie lull_rcu_gp_start(void)
{
	lull_rcu_cookie cookie;

	lull__ensure_registered();
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
 * The leader of the parent's grace period is not here. The next one in the child covers its
 * cookies.
 */
void lull__rcu_fork_child(void)
{
	gp.leader.word = 0;
	gp.clock_for = 0;
	gp.vigil.kind = LULL_WAIT_NONE;
	gp.started = lull__rcu_gp; /* the one after may have been started and not be known to readers */
	lull__self.flags = 0;
}
