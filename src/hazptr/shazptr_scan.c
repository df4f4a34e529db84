/* SPDX-License-Identifier: MIT */
/*
 * shazptr_scan.c - scan all simple hazard pointers: once for one thread, or for all that wait.
 *
 * An updater takes the next tick of a clock, makes a full fence, and scans all slots. It remembers
 * the slots that are in its way by *group*: each thread has one of 64, a bit in a mask. It goes on a
 * list and sleeps. One waiter *leads*: it looks at all slots for all waiters on the list, and clears in
 * each one's mask the groups that are not in its way now. A waiter with an empty mask goes on. So a group
 * has to be seen out of the way once, at any time.
 *
 * That alone would not end if a slot (or one of two in a group) were in the way at each look.
 * So the leader sets WAITED in the state of the slots of the remaining groups. A reader that
 * clears such a slot stamps it with the clock, and a slot with a stamp is in the way only of waiters
 * with a later tick: its address was set after the stamp, by a reader that sees all unlinking from
 * before an earlier tick. So each slot holds a waiter up until it is cleared, no longer.
 *
 * The first waiter leads. It sleeps on the event, which changes when a reader or another waiter has something
 * new; the others sleep on their own words. When it goes, the oldest waiter leads. A leader may not be run for
 * seconds, or be in a signal handler. So a waiter that has slept for LEAD_LAG_NS takes the lead if no scan has
 * begun meanwhile, and the leader has no reason to sleep.
 */
#include <limits.h>

#include "../base/events.h"
#include "../base/fault.h"
#include "../base/registry.h"
#include "../base/wait.h"
#include "shazptr_life.h"
#include "shazptr_scan.h"

#define NAP_NS	       100000u	/* the first sleep without being woken; see shazptr_nap_ns() */
#define NAP_SHIFT      2u	/* each next one lasts four times as long, ... */
#define NAP_SHIFT_MOST 12u	/* ... up to 0.4 s */
#define LEAD_LAG_NS    1000000u /* a leader that has scanned nothing for so long may not be running */
#define LEAD_DOUBLES   5u	/* those that wait for one that sleeps look ever more rarely, down to every 32 ms */
#define LASTS_NS       1000000u /* a wait must last this long before readers are blamed for it */
#define SEEN_MOST      64u	/* slots that are copied before the waiters are asked about them */

/* A copy of one slot. */
struct seen_slot {
	uintptr_t word;
	uint64_t state;
	uint64_t group; /* its bit */
};

/* What is in the way of those that wait. */
struct way {
	uint64_t groups;
	uint64_t tick;	/* the latest one of the waiters */
	bool unflagged; /* one of the slots does not have WAITED */
};

struct lull__shazptr_domain lull__shazptr __attribute__((aligned(LULL__CACHELINE))) = {
	.waiters = LULL_LIST_HEAD_INIT(lull__shazptr.waiters),
};

/* The calling thread's own waiter, if it has one: a signal handler that forks finds it here. */
static __thread struct lull__shazptr_waiter *waits __attribute__((tls_model("initial-exec")));

static uint64_t group_of(const struct lull__thread *thread)
{
	return (uint64_t)1 << thread->shazptr_group;
}

void lull__shazptr_tell_leader(void)
{
	/* SHAZ-5: see answer(), enqueue() and tell_waiter(). */
	lull_add_release(&lull__shazptr.event, 1u);
	lull__futex_wake(&lull__shazptr.event, INT_MAX);
}

/* ---- one scan -------------------------------------------------------------------------------- */

bool lull__shazptr_is_match(uintptr_t word, uintptr_t ptr)
{
	if (word == LULL__SHAZPTR_WILDCARD)
		return !LULL__BUSTED(SHAZPTR_IGNORED_WILDCARD);
	return word == ptr;
}

/* Scan all slots once for @w, and return the groups that are in its way. */
uint64_t lull__shazptr_visit(const struct lull__shazptr_waiter *w)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;
	uint64_t groups = 0;

	/* THR-1 and THR-2: threads come and go under this lock, before the scan or after it. */
	lull__registry_enter(&hold);
	lull__for_each_thread(thread) {
		/*
		 * ORDER SHAZ-2: the slot before whatever the caller frees; pairs with SHAZ-2 in
		 * lull_shazptr_clear(); without it the free is seen by a read from before the
		 * clear; model/hazptr/shazptr-clear.litmus
		 */
		uintptr_t word = lull_load_acquire(&thread->shazptr);

		/*
		 * ORDER SHAZ-3: the stamp before whatever the caller frees; pairs with SHAZ-3 in
		 * answer(); without it the free is seen by a read from before the stamp;
		 * model/hazptr/shazptr-stamp.litmus
		 */
		if (lull__shazptr_is_match(word, w->ptr) &&
		    lull_load_acquire(&thread->shazptr_state) / LULL__SHAZPTR_STAMP < w->tick)
			groups |= group_of(thread);
	}
	lull__registry_leave(&hold);
	return groups;
}

/*
 * Set WAITED in all slots of the groups of @way, whatever they hold now, so that a reader that comes
 * and goes is not missed again and again.
 */
static void flag_slots(const struct way *way)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;

	lull__registry_enter(&hold);
	lull__for_each_thread(thread) {
		if ((way->groups & group_of(thread)) &&
		    lull_load_relaxed(&thread->shazptr_state) / LULL__SHAZPTR_STAMP < way->tick)
			lull_or_relaxed(&thread->shazptr_state, (uint64_t)LULL__SHAZPTR_WAITED);
	}
	lull__registry_leave(&hold);
	/*
	 * ORDER SHAZ-4: WAITED before the next scan of the slots; pairs with SHAZ-4 in
	 * look_for_all(); without it a reader that clears meanwhile is overlooked
	 * for longer than its 0 is under way (see shazptr_nap_ns()); model/hazptr/shazptr-wake.litmus
	 */
	lull_fence_full();
}

/* ---- the list of waiters --------------------------------------------------------------------- */

/* Take the lock of the list. Without signals: a handler that forks finds the list whole, and is not waited for. */
static void list_enter(sigset_t *saved)
{
	lull__block_signals(saved);
	lull__lock(&lull__shazptr.lock);
}

static void list_leave(const sigset_t *saved)
{
	lull__unlock(&lull__shazptr.lock);
	lull__restore_signals(saved);
}

/* Change the word of @w, and wake it, also from its sleep on the event if it @led. Under the lock. */
static void tell_waiter(struct lull__shazptr_waiter *w, enum lull__shazptr_word word, bool led)
{
	/*
	 * ORDER SHAZ-6: all loads of the scans, and the last use of the waiter, before DONE; pairs
	 * with SHAZ-6 in wait_in_line(); without it the waiter frees too early, or its stack is
	 * overwritten; model/hazptr/shazptr-wait.litmus
	 */
	lull_store_release(&w->word, (uint32_t)word);
	if (w == waits)
		return;
	/* From here on a waiter that is done is only an address: the kernel does not read what is there. */
	lull__futex_wake(&w->word, 1);
	/*
	 * ORDER SHAZ-5: the word before the event; pairs with SHAZ-5 in wait_in_line(); without it a thread that
	 * leads no more sleeps on the event; model/hazptr/shazptr-lead.litmus
	 */
	if (led)
		lull__shazptr_tell_leader();
}

static void leave_line(struct lull__shazptr_waiter *w)
{
	lull_list_del(&w->list);
	if (w == lull__shazptr.leader)
		lull__shazptr.leader = NULL;
}

static void release_waiter(struct lull__shazptr_waiter *w)
{
	bool led = w == lull__shazptr.leader;

	leave_line(w);
	tell_waiter(w, LULL__SHAZPTR_DONE, led);
}

/* Let the oldest waiter lead if none does. */
static void have_leader(void)
{
	if (lull__shazptr.leader || lull_list_empty(&lull__shazptr.waiters))
		return;
	lull__shazptr.leader = lull_list_first_entry(&lull__shazptr.waiters, struct lull__shazptr_waiter, list);
	lull_store_relaxed(&lull__shazptr.asleep_at, (uint64_t)0);
	tell_waiter(lull__shazptr.leader, LULL__SHAZPTR_LEADS, false);
}

/* ---- the leader ------------------------------------------------------------------------------ */

/* Note which of the slots in @seen are in the way of which waiters. */
static void ask_waiters(const struct seen_slot *seen, unsigned count, struct way *left)
{
	struct lull__shazptr_waiter *w;

	lull_list_for_each_entry(w, &lull__shazptr.waiters, list) {
		uintptr_t ptr = LULL__BUSTED(SHAZPTR_FORGOTTEN_POINTER) ? 0 : w->ptr;

		for (unsigned i = 0; i < count; i++) {
			if (!lull__shazptr_is_match(seen[i].word, ptr) || !(seen[i].group & w->groups) ||
			    seen[i].state / LULL__SHAZPTR_STAMP >= w->tick)
				continue;
			w->found |= seen[i].group;
			left->unflagged |= !(seen[i].state & LULL__SHAZPTR_WAITED);
		}
	}
}

/* Look at all slots for all waiters, a few at a time: a copy is in the cache, and a waiter may be on a page of its own. */
static void look_for_all(struct way *left)
{
	struct seen_slot seen[SEEN_MOST];
	struct lull__registry_hold hold;
	struct lull__thread *thread;
	unsigned count = 0;

	lull__registry_enter(&hold);
	lull__for_each_thread(thread) {
		/* SHAZ-2 and SHAZ-3 as in lull__shazptr_visit(); after SHAZ-4 when slots were flagged. */
		uintptr_t word = lull_load_acquire(&thread->shazptr);
		uint64_t state = lull_load_acquire(&thread->shazptr_state);

		if (word == 0 || word == LULL__SHAZPTR_REST)
			continue;
		seen[count++] = (struct seen_slot){ word, state, group_of(thread) };
		if (count == SEEN_MOST) {
			ask_waiters(seen, count, left);
			count = 0;
		}
	}
	lull__registry_leave(&hold);
	ask_waiters(seen, count, left);
}

/* Scan once for all waiters, and store in @left what is in the way of those that still wait. */
static void scan_for_all(struct way *left)
{
	struct lull__shazptr_waiter *w, *next;
	sigset_t saved;

	*left = (struct way){ 0 };
	lull__event_count(&lull__page()->shazptr_scans, 1);
	list_enter(&saved);
	lull_store_relaxed(&lull__shazptr.scans, lull__shazptr.scans + 1);
	look_for_all(left);
	lull_list_for_each_entry_safe(w, next, &lull__shazptr.waiters, list) {
		w->groups = w->found;
		w->found = 0;
		if (!w->groups) {
			release_waiter(w);
			continue;
		}
		left->groups |= w->groups;
		if (left->tick < w->tick)
			left->tick = w->tick;
	}
	have_leader();
	list_leave(&saved);
}

/*
 * Return how long to sleep before the next scan. A reader makes no fence between clearing its slot and
 * loading WAITED. So the load may come first and find nothing, while the 0, still on its way out of the
 * processor, is not seen by the scan after flag_slots(): then the leader goes to sleep and is
 * not woken. The 0 arrives in far less than a microsecond, so a second scan after NAP_NS finds it. By
 * then WAITED has been visible for as long, and a reader that clears later does not miss it. The naps
 * after that are needed only by the language, which does not promise how long a store is under way.
 * They grow, so that a slow reader costs a few scans.
 */
static uint64_t shazptr_nap_ns(unsigned *shift)
{
	uint64_t ns = (uint64_t)NAP_NS << *shift;

	if (*shift < NAP_SHIFT_MOST)
		*shift += NAP_SHIFT;
	return ns;
}

/* Blame the threads whose slots hold up the waiter @arg. */
static unsigned blame_readers(void *arg, struct lull_stall *first, unsigned *holders)
{
	const struct lull__shazptr_waiter *w = arg;
	struct lull__registry_hold hold;
	struct lull__thread *thread;
	unsigned count = 0, named;

	lull__registry_enter(&hold);
	lull__for_each_thread(thread) {
		if (!lull__shazptr_is_match(lull_load_relaxed(&thread->shazptr), w->ptr) ||
		    lull_load_relaxed(&thread->shazptr_state) / LULL__SHAZPTR_STAMP >= w->tick)
			continue;
		if (count < LULL__BLAME_MOST)
			first[count] = (struct lull_stall){ .tid = thread->tid,
							    .depth = lull_load_relaxed(&thread->shazptr_nested) + 1 };
		count++;
	}
	lull__registry_leave(&hold);
	named = count < LULL__BLAME_MOST ? count : LULL__BLAME_MOST;
	for (unsigned i = 0; i < named; i++)
		first[i].slots = count;
	*holders = count;
	return named;
}

/* Scan, and sleep until there is something new. Returns false if the time of @w is up. */
static bool lead(struct lull__shazptr_waiter *w, struct lull__wait *wait, uint32_t event, uint64_t deadline_ns, unsigned *shift)
{
	struct way left;

	scan_for_all(&left);
	if (lull_load_relaxed(&w->word) == LULL__SHAZPTR_DONE)
		return true;
	if (left.unflagged && !lull__is_past(deadline_ns)) {
		flag_slots(&left);
		*shift = 0;
		return true;
	}
	/* The first nap is one after which the next scan is due whatever happens: see shazptr_nap_ns(). */
	lull_store_relaxed(&lull__shazptr.asleep_at, *shift ? (uint64_t)event + 1 : 0);
	return lull__wait_sleep(wait, &lull__shazptr.event, event, deadline_ns, lull__now_ns() + shazptr_nap_ns(shift),
				blame_readers, w, NULL);
}

/* ---- the other waiters ----------------------------------------------------------------------- */

/* Take the lead away from a thread that does not seem to run. It becomes the youngest waiter, the last one to lead again. */
static void take_lead(struct lull__shazptr_waiter *w)
{
	struct lull__shazptr_waiter *before;
	sigset_t saved;

	list_enter(&saved);
	if (lull_load_relaxed(&w->word) == LULL__SHAZPTR_WAITS) {
		before = lull__shazptr.leader;
		lull_list_del(&before->list);
		lull_list_add_tail(&before->list, &lull__shazptr.waiters);
		tell_waiter(before, LULL__SHAZPTR_WAITS, true);
		lull__shazptr.leader = w;
		tell_waiter(w, LULL__SHAZPTR_LEADS, false);
	}
	list_leave(&saved);
}

/* Does the leader sleep, and no thread has told it anything? */
static bool leader_sleeps(void)
{
	return lull_load_relaxed(&lull__shazptr.asleep_at) == (uint64_t)lull_load_relaxed(&lull__shazptr.event) + 1;
}

/* Sleep until another thread's scan, or its end, changes the word of @w. Returns false if the time of @w is up. */
static bool follow(struct lull__shazptr_waiter *w, struct lull__wait *wait, uint64_t deadline_ns, unsigned *doubled)
{
	uint64_t scans = lull_load_relaxed(&lull__shazptr.scans), until_ns = lull__now_ns() + (LEAD_LAG_NS << *doubled);

	while (lull_load_relaxed(&w->word) == LULL__SHAZPTR_WAITS && !lull__is_past(until_ns))
		if (!lull__wait_sleep(wait, &w->word, LULL__SHAZPTR_WAITS, deadline_ns, until_ns, blame_readers, w, NULL))
			return false;
	*doubled += *doubled < LEAD_DOUBLES;
	if (scans == lull_load_relaxed(&lull__shazptr.scans) && !leader_sleeps())
		take_lead(w);
	return true;
}

static void enqueue(struct lull__shazptr_waiter *w)
{
	sigset_t saved;
	bool other_leads;

	list_enter(&saved);
	waits = w;
	lull_list_add_tail(&w->list, &lull__shazptr.waiters);
	have_leader();
	other_leads = lull__shazptr.leader != w;
	list_leave(&saved);
	/*
	 * ORDER SHAZ-5: the waiter on the list before the event; pairs with SHAZ-5 in
	 * wait_in_line(); without it the leader sleeps and does not scan for this waiter;
	 * model/hazptr/shazptr-queue.litmus
	 */
	if (other_leads)
		lull__shazptr_tell_leader();
}

/* Take @w off the list, as its time is up. Returns true if a scan has finished with it before. */
static bool withdraw(struct lull__shazptr_waiter *w)
{
	sigset_t saved;
	bool done;

	list_enter(&saved);
	done = lull_load_relaxed(&w->word) == LULL__SHAZPTR_DONE;
	if (!done) {
		leave_line(w);
		have_leader();
	}
	list_leave(&saved);
	return done;
}

static bool wait_in_line(struct lull__shazptr_waiter *w, struct lull__wait *wait, uint64_t deadline_ns)
{
	unsigned shift = 0, doubled = 0;

	enqueue(w);
	for (;;) {
		/*
		 * ORDER SHAZ-5: the event before the loads of the word, of WAITED, of the slots and of the list;
		 * pairs with SHAZ-5 in answer(), enqueue() and tell_waiter(); without it as there;
		 * model/hazptr/shazptr-event.litmus
		 */
		uint32_t event = lull_load_acquire(&lull__shazptr.event);
		/*
		 * ORDER SHAZ-6: DONE before the caller's free and before this stack is used again; pairs
		 * with SHAZ-6 in tell_waiter(); without it as there; model/hazptr/shazptr-wait.litmus
		 */
		uint32_t word = lull_load_acquire(&w->word);

		if (word == LULL__SHAZPTR_DONE)
			return true;
		if (word == LULL__SHAZPTR_LEADS ? !lead(w, wait, event, deadline_ns, &shift) :
						  !follow(w, wait, deadline_ns, &doubled))
			return withdraw(w);
	}
}

bool lull__shazptr_wait(struct lull__shazptr_waiter *w, uint64_t deadline_ns)
{
	struct lull__wait wait;
	bool done;

	lull__wait_begin(&wait, LULL_WAIT_SHAZPTR, LASTS_NS);
	done = wait_in_line(w, &wait, deadline_ns);
	waits = NULL;
	lull__wait_end(&wait);
	return done;
}

/* Begin afresh in the child: the other threads that waited do not exist here. */
void lull__shazptr_fork_child(uint32_t old_tid)
{
	(void)old_tid;
	lull__shazptr.lock.word = 0;
	lull_list_init(&lull__shazptr.waiters);
	lull__shazptr.leader = NULL;
	/* It goes on where it forked. It does not wait for itself, and the other readers are in the parent. */
	if (waits) {
		lull_store_relaxed(&waits->word, (uint32_t)LULL__SHAZPTR_DONE);
		lull_add_relaxed(&lull__shazptr.event, 1u);
	}
}
