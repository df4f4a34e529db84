/* SPDX-License-Identifier: MIT */
/*
 * hazwait.c - synchronize: wait until no slot that named an address does so any more.
 *
 * A waiter takes the next tick of a clock, t. From then on it needs to know of each slot only whether
 * that names the address and when it was last seen to change. It says WAITED in the state of those
 * that do; whoever sets such a slot stamps it with the clock, takes WAITED off and wakes all
 * waiters. A slot with a stamp of t or later is not waited for, whatever it says: what it says was
 * said after the unlinking. So each slot holds a waiter up until it is next set, and no longer, and
 * a waiter remembers nothing about slots; it looks at all of them again.
 *
 * One complete look that finds nothing ends the wait, not the sum of several: a protection may move
 * from a thread's slot to a list (detach) after the look at the list, but not between the two in one
 * look.
 */
#include <errno.h>

#include <lull/hazptr_fenced.h>

#include "slots.h"
#include "../watch/stall.h"

#define SPIN_LOOKS     32	  /* before going to sleep: a few microseconds */
#define RELOOK_NS      100000u	  /* readers make no fence when they clear: look again by oneself after this, */
#define RELOOK_DOUBLES 12	  /* ... and twice that, and so on, up to 0.4 s */

struct wait {
	uintptr_t addr;
	size_t len;
	uint64_t stamp;
	bool flag; /* say WAITED in what is found */
	unsigned held;
	uint32_t owner; /* of one of the slots */
	uint32_t self;	/* this thread's tid, to find its own protection; 0: not looked for */
};

static void visit(struct lull_hazptr *h, uintptr_t addr, uint32_t owner, void *arg)
{
	struct wait *w = arg;

	if (addr - w->addr >= w->len)
		return;
	/*
	 * ORDER HAZ-8: the unlinking before the tick, and the stamp before whatever the caller
	 * frees; pairs with HAZ-8 in lull__hazptr_slow(); without it as there;
	 * model/hazptr/stamp.litmus
	 */
	if (lull_load_acquire(&h->state) / LULL__HAZPTR_STAMP >= w->stamp)
		return;
	if (w->self && owner == w->self)
		w->self = 0;
	w->held++;
	w->owner = owner;
	if (w->flag && LULL__BUSTED(HAZPTR_NO_RECHECK))
		lull__busted_linger();
	if (w->flag)
		lull_or_relaxed(&h->state, (uint64_t)LULL__HAZPTR_WAITED);
}

static unsigned look(struct wait *w, bool flag)
{
	w->held = 0;
	w->flag = flag;
	lull__hazptr_look(visit, w);
	return w->held;
}

/* The earlier of two points in time, where 0 is never. */
static uint64_t earlier(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static bool sleep_until_seen(struct wait *w, struct lull__vigil *vigil, uint64_t deadline_ns, bool full)
{
	uint64_t now_ns;
	/* A reader of hazptr_fenced.h may miss WAITED unless it is interrupted. */
	bool relook = full || lull__fence_full_mode;
	struct lull_stall stall;
	unsigned doubled = 0;

	for (;;) {
		/*
		 * ORDER HAZ-9: the event before WAITED; pairs with HAZ-9 in lull__hazptr_slow();
		 * without it as there; model/hazptr/event.tpl
		 */
		uint32_t event = lull_load_acquire(&lull__hazptr.event);
		uint64_t until_ns = deadline_ns;

		if (look(w, true) == 0)
			return true;
		/*
		 * ORDER HAZ-5: WAITED before the second look at the slot; pairs with HAZ-5 in
		 * lull__hazptr_set(); without it nobody wakes us; model/hazptr/wake.tpl
		 *
		 * Also where another waiter said WAITED before: its fence may be yet to come, and
		 * when it then sees that the slot is clear, it goes and wakes nobody;
		 * model/hazptr/wake-two.tpl
		 */
		lull__hazptr_fence(full);
		if (!LULL__BUSTED(HAZPTR_NO_RECHECK) && look(w, false) == 0)
			return true;
		stall = (struct lull_stall){ .tid = w->owner, .slots = w->held };
		lull__vigil_holder(vigil, &stall, w->held);
		if (lull__vigil_due(vigil))
			lull__vigil_report(vigil, &stall);
		now_ns = lull__now_ns();
		if (deadline_ns && now_ns >= deadline_ns)
			return false;
		until_ns = earlier(until_ns, lull__vigil_report_ns(vigil));
		if (relook) {
			until_ns = earlier(until_ns, now_ns + ((uint64_t)RELOOK_NS << doubled));
			doubled += doubled < RELOOK_DOUBLES;
		}
		lull__futex_wait(&lull__hazptr.event, event,
				 !until_ns ? 0 : until_ns > now_ns ? until_ns - now_ns : 1);
	}
}

bool lull__hazptr_wait(const char *call, const void *addr, size_t len, uint64_t deadline_ns, bool full)
{
	struct wait w = { .addr = (uintptr_t)addr, .len = len };
	struct lull__vigil vigil;
	bool in_time;

	lull__ensure_registered();
	w.self = call ? lull__self.tid : 0;
	/*
	 * ORDER HAZ-8: the unlinking before the tick; pairs with HAZ-8 in lull__hazptr_slow();
	 * without it as there; model/hazptr/stamp.litmus
	 */
	w.stamp = lull_add_release(&lull__hazptr.clock, (uint64_t)1) + 1;
	lull__hazptr_fence(full);
	for (int i = 0; i < SPIN_LOOKS; i++) {
		if (look(&w, false) == 0)
			return true;
		if (call && !w.self)
			lull__die("%s of %p, which this thread (tid %u) protects, would wait for itself for ever",
				  call, addr, lull__self.tid);
		for (int pause = 0; pause <= i; pause++)
			lull_cpu_relax();
	}
	if (call)
		lull__check_may_block(call);
	lull__vigil_begin(&vigil, LULL_WAIT_HAZPTR, 0);
	in_time = sleep_until_seen(&w, &vigil, deadline_ns, full);
	lull__vigil_end(&vigil);
	return in_time;
}

static int wait_ms(const char *call, const void *addr, size_t len, uint64_t timeout_ms, bool full)
{
	return lull__hazptr_wait(call, addr, len, lull__deadline_ns(timeout_ms), full) ? 0 : -ETIMEDOUT;
}

void lull_hazptr_synchronize(const void *addr)
{
	lull__hazptr_wait("lull_hazptr_synchronize", addr, 1, 0, false);
}

void lull_hazptr_synchronize_range(const void *addr, size_t len)
{
	lull__hazptr_wait("lull_hazptr_synchronize_range", addr, len, 0, false);
}

int lull_hazptr_synchronize_timeout(const void *addr, uint64_t timeout_ms)
{
	return wait_ms("lull_hazptr_synchronize_timeout", addr, 1, timeout_ms, false);
}

int lull_hazptr_synchronize_range_timeout(const void *addr, size_t len, uint64_t timeout_ms)
{
	return wait_ms("lull_hazptr_synchronize_range_timeout", addr, len, timeout_ms, false);
}

void lull_hazptr_fenced_synchronize(const void *addr)
{
	lull__hazptr_wait("lull_hazptr_fenced_synchronize", addr, 1, 0, true);
}

int lull_hazptr_fenced_synchronize_range_timeout(const void *addr, size_t len, uint64_t timeout_ms)
{
	return wait_ms("lull_hazptr_fenced_synchronize_range_timeout", addr, len, timeout_ms, true);
}
