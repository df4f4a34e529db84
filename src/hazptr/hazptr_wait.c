/* SPDX-License-Identifier: MIT */
/*
 * hazptr_wait.c - synchronize: wait until no slot that named an address does so any more.
 *
 * A waiter takes the next tick of a clock, t. From then on it needs to know two things of each slot:
 * whether it names the address, and when it was last seen to change. The waiter sets WAITED in the
 * state of the slots that name the address. A thread that sets such a slot stamps it with the clock,
 * takes WAITED off and wakes those that sleep for this slot. A slot with a stamp of t or later is not waited for,
 * whatever it names: it was set after the unlinking. So each slot holds a waiter up until it is next
 * set, and no longer. Each scan visits all slots again.
 *
 * A waiter sleeps for one of the slots that hold it up, whichever: it cannot go on before that one is set. So a reader
 * that sets a slot wakes the threads whose wait may end with that, and no herd.
 *
 * The wait ends with one complete scan that finds nothing, not with the sum of several: a protection
 * may move from a thread's slot to a list (detach) after a scan has passed the list, but within one
 * scan it cannot be missed in both places.
 */
#include <errno.h>

#include <lull/hazptr_fenced.h>

#include "../base/message.h"
#include "../base/process.h"
#include "../base/wait.h"
#include "hazptr_wait.h"
#include "slots.h"

#define SPIN_LOOKS     32	  /* before going to sleep: a few microseconds, ... */
#define SPIN_SLOTS     1024	  /* ... if there are not more slots than these: a look holds the registry's lock */
/* Readers that make no fence when they clear may wake no thread: scan again, first after RECHECK_NS. */
#define RECHECK_NS      100000u
#define RECHECK_DOUBLES 12	  /* each time after twice as long, up to 0.4 s */

struct slot_wait {
	uintptr_t addr;
	size_t len;
	uint64_t stamp;
	bool flag; /* set WAITED in the slots that are found */
	unsigned held;
	const struct lull_hazptr *last;	 /* the last slot that was found; may be gone by now */
	const struct lull_hazptr *awaited; /* this thread sleeps for this one ... */
	bool awaited_found;		   /* ... which was among them */
	uint32_t owner; /* of one of the slots */
	uint32_t self;	/* this thread's tid, to find its own protection; 0: found, or not asked for */
};

static void visit_held(struct lull_hazptr *h, uintptr_t addr, uint32_t owner, void *arg)
{
	struct slot_wait *w = arg;

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
	w->last = h;
	w->awaited_found |= h == w->awaited;
	w->owner = owner;
	if (w->flag && LULL__BUSTED(HAZPTR_NO_RECHECK))
		lull__busted_linger();
	if (w->flag)
		lull_or_relaxed(&h->state, (uint64_t)LULL__HAZPTR_WAITED);
}

static unsigned count_holders(struct slot_wait *w, bool flag)
{
	w->held = 0;
	w->awaited_found = false;
	w->flag = flag;
	lull__hazptr_for_each_slot(visit_held, w);
	return w->held;
}

/* Blame the owner of one of the slots. */
static unsigned blame_slots(void *arg, struct lull_stall *first, unsigned *holders)
{
	const struct slot_wait *w = arg;

	*first = (struct lull_stall){ .tid = w->owner, .slots = w->held };
	*holders = w->held;
	return 1;
}

static bool sleep_until_seen(struct slot_wait *w, struct lull__wait *wait, uint64_t deadline_ns, bool full)
{
	/* A reader of hazptr_fenced.h may miss WAITED if no heavy fence interrupts it. */
	bool recheck = full || lull__fence_full_mode, is_waited;
	uint64_t again_ns;
	unsigned doubled = 0;
	uint32_t *word, event;

	do {
		LULL__CHECK_WAITS(deadline_ns, .kind = LULL__AWAITS_HAZPTR, .what = (const void *)w->addr, .len = w->len,
				  .number = w->stamp);
		again_ns = LULL__CHECK_CIRCLE(LULL__NEVER);
		w->awaited = w->last;
		word = lull__hazptr_event_of(w->awaited);
		/*
		 * ORDER HAZ-9: the event before WAITED; pairs with HAZ-9 in lull__hazptr_slow();
		 * without it as there; model/hazptr/event.tpl
		 */
		event = lull_load_acquire(word);
		if (count_holders(w, true) == 0)
			return true;
		is_waited = w->awaited_found; /* else it has no WAITED from after the event */
		/*
		 * ORDER HAZ-5: WAITED before the second load of the slot; pairs with HAZ-5 in
		 * lull__hazptr_set(); without it the waiter is never woken; model/hazptr/wake.tpl
		 *
		 * The fence is needed even if another waiter has set WAITED: its fence may be yet to
		 * come, and if it then sees that the slot is clear, it leaves and wakes no thread;
		 * model/hazptr/wake-two.tpl
		 */
		lull__hazptr_fence(full);
		if (!LULL__BUSTED(HAZPTR_NO_RECHECK) && count_holders(w, false) == 0)
			return true;
		if (recheck) {
			again_ns = lull__earlier(again_ns, lull__now_ns() + ((uint64_t)RECHECK_NS << doubled));
			doubled += doubled < RECHECK_DOUBLES;
		}
	} while (is_waited && w->awaited_found ?
			 lull__wait_sleep(wait, word, event, deadline_ns, again_ns, blame_slots, w, NULL) :
			 !lull__is_past(deadline_ns));
	return false;
}

bool lull__hazptr_wait(const char *call, const void *addr, size_t len, uint64_t deadline_ns, bool full)
{
	struct slot_wait w = { .addr = (uintptr_t)addr, .len = len };
	struct lull__wait wait;
	unsigned looks = lull__hazptr_slots() > SPIN_SLOTS ? 1 : SPIN_LOOKS;
	bool in_time;

	lull__ensure_known();
	lull__retry();
	w.self = call ? lull__self.tid : 0;
	/*
	 * ORDER HAZ-8: the unlinking before the tick; pairs with HAZ-8 in lull__hazptr_slow();
	 * without it as there; model/hazptr/stamp.litmus
	 */
	w.stamp = lull_add_release(&lull__hazptr.clock, (uint64_t)1) + 1;
	/*
	 * ORDER HAZ-12: unlinking before the look at the lists; pairs with HAZ-12 in lull__hazptr_link(); without it as
	 * there; model/hazptr/listed.litmus
	 * THR-3. Threads' own slots first, as in HAZ-7.
	 */
	lull_fence_full();
	if (!lull__is_alone() || lull__hazptr_listed())
		lull__hazptr_fence(full);
	else if (!lull__is_linked())
		return true;
	for (unsigned i = 0; i < looks; i++) {
		if (count_holders(&w, false) == 0)
			return true;
		if (call && !w.self)
			lull__die("%s of %p, which this thread (tid %u) protects, would wait for itself for ever",
				  call, addr, lull__self.tid);
		if (call && full)
			LULL__CHECK(fenced_waits, call, addr, len);
		for (unsigned pause = 0; pause <= i; pause++)
			lull_cpu_relax();
	}
	if (call)
		LULL__CHECK(may_block, call);
	lull__wait_begin(&wait, LULL_WAIT_HAZPTR, 0);
	in_time = sleep_until_seen(&w, &wait, deadline_ns, full);
	lull__wait_end(&wait);
	LULL__CHECK_WAITS(deadline_ns, .kind = LULL__AWAITS_NOTHING);
	return in_time;
}

static int wait_ms(const char *call, const void *addr, size_t len, uint64_t timeout_ms, bool full)
{
	return lull__hazptr_wait(call, addr, len, lull__deadline_in_ms(timeout_ms), full) ? 0 : -ETIMEDOUT;
}

void lull_hazptr_synchronize(const void *addr)
{
	lull__hazptr_wait("lull_hazptr_synchronize", addr, 1, LULL__NEVER, false);
}

void lull_hazptr_synchronize_range(const void *addr, size_t len)
{
	lull__hazptr_wait("lull_hazptr_synchronize_range", addr, len, LULL__NEVER, false);
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
	lull__hazptr_wait("lull_hazptr_fenced_synchronize", addr, 1, LULL__NEVER, true);
}

int lull_hazptr_fenced_synchronize_range_timeout(const void *addr, size_t len, uint64_t timeout_ms)
{
	return wait_ms("lull_hazptr_fenced_synchronize_range_timeout", addr, len, timeout_ms, true);
}
