/* SPDX-License-Identifier: MIT */
/*
 * barrier.c - wait until what was deferred has been reclaimed: barriers and drain.
 */
#include <errno.h>
#include <limits.h>

#include <lull/hazptr_fenced.h>

#include "../base/callback.h"
#include "../base/fault.h"
#include "../base/message.h"
#include "../base/registry.h"
#include "../base/wait.h"
#include "../hazptr/slots.h"
#include "../rcu/section.h"
#include "backlog.h"
#include "overflow.h"
#include "pass.h"
#include "worker.h"

#define GENERATIONS    16	 /* how often a barrier follows callbacks that defer callbacks */
#define BARRIER_RECHECK_NS     10000000u

/* Make a pass in the calling thread, as no background thread will. Returns false if the time was up. */
static bool flush_here(uint64_t deadline_ns)
{
	/* Wait for a grace period before the pass, because a pass that has begun cannot be abandoned. */
	if (!lull__rcu_wait_until(lull__rcu_cookie(), deadline_ns, NULL))
		return false;
	LULL__CHECK_WAITS(LULL__NEVER, .kind = LULL__AWAITS_LATER);
	lull__pass(PASS_ALL);
	lull__notify_relisted();
	/* A poll meanwhile could not have these queues, and the program waits to be told: as at the end of a poll. */
	if (lull_load_relaxed(&lull__reclaimer.mode) == LULL_RECLAIM_POLL && lull__anything_unparked(false))
		lull__wake_reclaimer();
	return true;
}

/* Let the background thread make a pass. Returns false if the time was up. */
static bool flush_there(uint64_t deadline_ns)
{
	/* REC-7 in the other direction: deferrals before the ticket; acquire in round_of(). */
	uint64_t ticket = lull_add_release(&lull__reclaimer.flush_wanted, (uint64_t)1) + 1;

	lull__notify(NAPPING);
	for (;;) {
		uint32_t event = lull_load_acquire(&lull__reclaimer.flush_event); /* REC-7 */

		/*
		 * ORDER REC-7: the ticket before what the caller does next; pairs with REC-7 in
		 * flush_for(); without it as there; model/reclaim/flush.litmus
		 */
		if (lull_load_acquire(&lull__reclaimer.flush_done) >= ticket)
			return true;
		/* The thread could not be started, or is not woken any more: see wake_sleeper(). */
		if (lull_load_relaxed(&lull__reclaimer.thread) == CANNOT_HAVE_ONE ||
		    lull_load_relaxed(&lull__reclaimer.mode) == LULL_RECLAIM_POLL)
			return flush_here(deadline_ns);
		if (lull__is_past(deadline_ns))
			return false;
		LULL__CHECK_WAITS(deadline_ns, .kind = LULL__AWAITS_RECLAIMER, .number = ticket);
		lull__futex_wait(&lull__reclaimer.flush_event, event, deadline_ns);
	}
}

/* Wait for one generation of a barrier. *@offspring: did callbacks defer more meanwhile? */
static bool flush_and_wait(uint64_t deadline_ns, bool *offspring)
{
	/*
	 * ORDER REC-12: the count before the pass; pairs with REC-12 in defer_rarely(); without it as
	 * there; model/reclaim/barrier-offspring.litmus
	 */
	uint64_t before = lull_load_acquire(&lull__reclaimer.from_callbacks);
	bool here = lull_load_relaxed(&lull__reclaimer.mode) == LULL_RECLAIM_POLL || !lull__start_worker();
	bool in_time = LULL__BUSTED(EARLY_BARRIER) || (here ? flush_here(deadline_ns) : flush_there(deadline_ns));

	*offspring = lull_load_relaxed(&lull__reclaimer.from_callbacks) != before;
	return in_time;
}

static bool awaited_is_done(const uint64_t *count)
{
	/*
	 * ORDER REC-11: the count before what the caller does next; pairs with REC-11 in
	 * lull__awaited_done(); without it as there; model/reclaim/barrier-awaited.litmus
	 */
	return lull_load_acquire(count) == 0;
}

/* Blame a thread whose slot keeps an object parked that the barrier waits for. */
static unsigned blame_parked(void *arg, struct lull_stall *first, unsigned *holders)
{
	(void)arg;
	*first = (struct lull_stall){ .tid = lull_load_relaxed(&lull__hazptr.parked_owner) };
	first->slots = (uint32_t)lull_load_relaxed(&lull__queue_awaited);
	*holders = first->slots;
	return 1;
}

/* Wait until no slot names an entry that passes have marked. Returns false if the time is up, or if there is a report. */
static bool sleep_for_awaited(struct lull__wait *wait, uint64_t deadline_ns, struct lull__report *report)
{
	while (!awaited_is_done(&lull__queue_awaited)) {
		/* HAZ-9: before the slots are scanned. */
		uint32_t event = lull_load_acquire(&lull__hazptr.event);
		bool here = lull_load_relaxed(&lull__reclaimer.mode) == LULL_RECLAIM_POLL ||
			    lull_load_relaxed(&lull__reclaimer.thread) != HAS_THREAD;
		uint64_t again_ns = LULL__NEVER;

		if (here && !flush_here(deadline_ns))
			return false;
		if (awaited_is_done(&lull__queue_awaited))
			break;
		/* Not parked, or LULL__PARKED_RECHECK: perhaps no other thread will check again. */
		if (here && (lull__fence_full_mode || lull__anything_unparked(true) || lull__overflow_waiting()))
			again_ns = lull__now_ns() + BARRIER_RECHECK_NS;
		LULL__CHECK_WAITS(deadline_ns, .kind = LULL__AWAITS_PARKED);
		if (!lull__wait_sleep(wait, &lull__hazptr.event, event, deadline_ns, again_ns, blame_parked, NULL, report))
			return false;
	}
	return true;
}

/* Take the lock of barriers. Returns false if the time is up. */
static bool lock_barriers(uint64_t deadline_ns)
{
	while (!lull__trylock(&lull__reclaimer.barrier_lock)) {
		if (lull__is_past(deadline_ns))
			return false;
		lull__lock_await(&lull__reclaimer.barrier_lock, deadline_ns);
	}
	return true;
}

/* Hold the lock of barriers, but not during a report: its hook must not hold up other barriers. */
static bool await_awaited(uint64_t deadline_ns, bool *locked)
{
	struct lull__report report = { .named = 0 };
	struct lull__wait wait;
	bool in_time;

	if (awaited_is_done(&lull__queue_awaited))
		return true;
	lull__wait_begin(&wait, LULL_WAIT_HAZPTR_BARRIER, 0);
	while (!(in_time = sleep_for_awaited(&wait, deadline_ns, &report)) && report.named) {
		lull__unlock_wake(&lull__reclaimer.barrier_lock, INT_MAX);
		lull__wait_report(&report);
		report.named = 0;
		*locked = lock_barriers(deadline_ns);
		if (!*locked)
			break;
	}
	lull__wait_end(&wait);
	return in_time;
}

/* Wait for one generation of a barrier that also waits for objects that hazard pointers protect. */
static bool flush_protected(uint64_t deadline_ns, bool *offspring)
{
	bool in_time, locked = lock_barriers(deadline_ns);

	if (!locked)
		return false;
	LULL__CHECK(awaited, NULL, true);
	lull_store_relaxed(&lull__reclaimer.mark_awaited, 1u);
	in_time = flush_and_wait(deadline_ns, offspring);
	lull_store_relaxed(&lull__reclaimer.mark_awaited, 0u);
	if (in_time)
		in_time = await_awaited(deadline_ns, &locked);
	if (locked)
		lull__unlock_wake(&lull__reclaimer.barrier_lock, INT_MAX);
	return in_time;
}

/* Go offline, if the calling thread is online, for a wait by @call. Aborts where that would wait for itself. */
static bool enter_wait(const char *call)
{
	bool online = lull__self.state & LULL__STATE_ONLINE;

	lull__rcu_no_section(call);
	if (lull__self.callback_depth)
		lull__die("%s in %s would wait for itself for ever", call, lull__where_called_back());
	lull__ensure_known();
	if (online)
		lull_rcu_offline();
	return online;
}

static int leave_wait(bool online, bool in_time)
{
	LULL__CHECK_WAITS(LULL__NEVER, .kind = LULL__AWAITS_NOTHING);
	if (online)
		lull_rcu_online();
	lull__backlog_publish();
	return in_time ? 0 : -ETIMEDOUT;
}

static int await_reclaimed(const char *call, uint64_t deadline_ns, bool hazptr)
{
	bool online = enter_wait(call), offspring = true, in_time = true;

	for (int i = 0; i < GENERATIONS && offspring && in_time; i++)
		in_time = hazptr ? flush_protected(deadline_ns, &offspring) : flush_and_wait(deadline_ns, &offspring);
	return leave_wait(online, in_time);
}

void lull_rcu_barrier(void)
{
	await_reclaimed("lull_rcu_barrier", LULL__NEVER, false);
}

void lull_hazptr_barrier(void)
{
	LULL__CHECK(protects_none, "lull_hazptr_barrier");
	await_reclaimed("lull_hazptr_barrier", LULL__NEVER, true);
}

int lull_hazptr_barrier_timeout(uint64_t timeout_ms)
{
	if (timeout_ms == UINT64_MAX)
		LULL__CHECK(protects_none, "lull_hazptr_barrier_timeout");
	return await_reclaimed("lull_hazptr_barrier_timeout", lull__deadline_in_ms(timeout_ms), true);
}

/* ---- drain ------------------------------------------------------------------------------------------ */

/*
 * A drain waits for all that was deferred before it, and for its descendants: callbacks that these callbacks defer,
 * and so on. Two passes take all that was there. The second one is for a callback that had begun before the drain: it may
 * have deferred something behind the first pass, and has returned when that ends. While the passes go on, each callback
 * that a callback defers counts as a descendant. After that only those that descendants defer do. So the drain ends
 * although other callbacks go on deferring.
 */

/* A handler may have forked meanwhile: then this is the child, where the thread is not counted. */
static void count_off(uint32_t *count)
{
	if (lull_load_relaxed(count))
		lull_sub_relaxed(count, 1u);
}

/* Describe the slots that keep objects parked: one of these may be among those that the caller waits for. */
static void visit_parked(struct lull_hazptr *h, uintptr_t addr, uint32_t owner, void *arg)
{
	struct lull_stall *first = arg;

	if (!addr || !(lull_load_relaxed(&h->state) & LULL__HAZPTR_PARKED))
		return;
	if (!first->slots++)
		first->tid = owner;
}

unsigned lull__blame_parked(void *arg, struct lull_stall *first, unsigned *holders)
{
	(void)arg;
	*first = (struct lull_stall){ .tid = 0 };
	lull__hazptr_for_each_slot(visit_parked, first);
	*holders = first->slots;
	return first->slots != 0;
}

static bool drain_is_done(void)
{
	return awaited_is_done(&lull__descendants) && !lull__overflow_waiting();
}

static bool await_descendants(uint64_t deadline_ns)
{
	struct lull__wait wait;
	bool in_time = true;

	lull__wait_begin(&wait, LULL_WAIT_HAZPTR_BARRIER, 0);
	while (in_time && !drain_is_done()) {
		uint32_t event = lull_load_acquire(&lull__hazptr.event); /* HAZ-9: before the slots are scanned */
		uint64_t deferred = lull_load_relaxed(&lull__reclaimer.from_callbacks), again_ns = LULL__NEVER;

		if (lull_load_relaxed(&lull__reclaimer.mode) == LULL_RECLAIM_POLL || !lull__start_worker()) {
			in_time = flush_here(deadline_ns);
			again_ns = lull__now_ns();
			if (lull_load_relaxed(&lull__reclaimer.from_callbacks) == deferred)
				again_ns += BARRIER_RECHECK_NS;
		} else if (lull__overflow_waiting()) {
			again_ns = lull__now_ns() + BARRIER_RECHECK_NS;
		}
		if (in_time && !drain_is_done())
			in_time = lull__wait_sleep(&wait, &lull__hazptr.event, event, deadline_ns, again_ns,
						   lull__blame_parked, NULL, NULL);
	}
	lull__wait_end(&wait);
	return in_time;
}

int lull_reclaim_drain(uint64_t timeout_ms)
{
	uint64_t deadline_ns = lull__deadline_in_ms(timeout_ms);
	bool online = enter_wait("lull_reclaim_drain"), in_time = true, any;

	if (deadline_ns == LULL__NEVER)
		LULL__CHECK(protects_none, "lull_reclaim_drain");
	lull_add_relaxed(&lull__reclaimer.drains, 1u);
	lull_add_relaxed(&lull__reclaimer.flushing, 1u);
	for (int i = 0; i < 2 && in_time; i++)
		in_time = flush_protected(deadline_ns, &any);
	count_off(&lull__reclaimer.flushing);
	if (in_time && (any || !drain_is_done())) /* the last pass is for memory that the callbacks have deferred */
		in_time = await_descendants(deadline_ns) && flush_protected(deadline_ns, &any);
	count_off(&lull__reclaimer.drains);
	return leave_wait(online, in_time);
}
