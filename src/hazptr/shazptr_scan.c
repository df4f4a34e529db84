/* SPDX-License-Identifier: MIT */
/*
 * shazptr_scan.c - scan all simple hazard pointers: once for one waiter, or in a thread for all of them.
 *
 * An updater takes the next tick of a clock, makes a full fence, and scans all slots. It remembers
 * the slots that are in its way by *group*: each thread has one of 64, a bit in a mask. It goes on a
 * list and sleeps. The scanning thread takes all waiters from the list, makes one snapshot of all
 * slots, and clears in each waiter's mask the groups that the snapshot does not show to be in its
 * way. A waiter with an empty mask goes on. So a group has to be seen out of the way once, at any
 * time.
 *
 * That alone would not end if a slot (or one of two in a group) were in the way at each snapshot.
 * So the scanning thread sets WAITED in the state of the slots of the remaining groups. A reader that
 * clears such a slot stamps it with the clock, and a slot with a stamp is in the way only of waiters
 * with a later tick: its address was set after the stamp, by a reader that sees all unlinking from
 * before an earlier tick. So each slot holds a waiter up until it is cleared, no longer.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../base/deadline.h"
#include "../base/events.h"
#include "../base/fault.h"
#include "../base/message.h"
#include "../base/own_thread.h"
#include "../base/registry.h"
#include "shazptr_life.h"
#include "shazptr_scan.h"

#define NAP_NS	       100000u	 /* the first sleep without being woken; see lull__shazptr_nap_ns() */
#define NAP_SHIFT      2u	 /* each next one lasts four times as long, ... */
#define NAP_SHIFT_MOST 12u	 /* ... up to 0.4 s */
#define SEEN_AT_FIRST  64u	 /* slots in the first snapshot's memory */
#define SCAN_EXIT_NS   100000000 /* for a thread that waits for a lock of the thread that called exit() */

/* A copy of one slot. */
struct seen_slot {
	uintptr_t word;
	uint64_t state;
	uint64_t group; /* its bit */
};

struct lull__shazptr_snapshot {
	size_t room;
	struct seen_slot slot[];
};

struct lull__shazptr_domain lull__shazptr __attribute__((aligned(LULL__CACHELINE))) = {
	.queued = LULL_LIST_HEAD_INIT(lull__shazptr.queued),
	.scanning = LULL_LIST_HEAD_INIT(lull__shazptr.scanning),
};

static uint64_t group_of(const struct lull__thread *thread)
{
	return (uint64_t)1 << thread->shazptr_group;
}

void lull__shazptr_tell_scanners(void)
{
	/* SHAZ-5: see answer() and lull__shazptr_enqueue(). */
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

void lull__shazptr_count_scan(void)
{
	lull_add_relaxed(&lull__shazptr.scans, (uint64_t)1);
	lull__event_count(&lull__page()->shazptr_scans, 1);
}

/* Scan all slots once for @w, and store in @way what is in its way. */
void lull__shazptr_visit(const struct lull__shazptr_waiter *w, struct lull__shazptr_way *way)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;

	*way = (struct lull__shazptr_way){ .tick = w->tick };
	/*
	 * THR-1 and THR-2: threads come and go under this lock, before the scan or after it. SHAZ-4
	 * if slots have been flagged.
	 */
	lull__registry_enter(&hold);
	lull__for_each_thread(thread) {
		/*
		 * ORDER SHAZ-2: the slot before whatever the caller frees; pairs with SHAZ-2 in
		 * lull_shazptr_clear(); without it the free is seen by a read from before the
		 * clear; model/hazptr/shazptr-clear.litmus
		 */
		uintptr_t word = lull_load_acquire(&thread->shazptr);
		uint64_t state;

		if (!lull__shazptr_is_match(word, w->ptr))
			continue;
		/*
		 * ORDER SHAZ-3: the stamp before whatever the caller frees; pairs with SHAZ-3 in
		 * answer(); without it the free is seen by a read from before the stamp;
		 * model/hazptr/shazptr-stamp.litmus
		 */
		state = lull_load_acquire(&thread->shazptr_state);
		if (state / LULL__SHAZPTR_STAMP >= w->tick)
			continue;
		way->groups |= group_of(thread);
		if ((w->groups & group_of(thread)) && !(state & LULL__SHAZPTR_WAITED))
			way->unflagged = true;
	}
	lull__registry_leave(&hold);
	way->groups &= w->groups;
}

/*
 * Set WAITED in all slots of the groups of @way, whatever they hold now, so that a reader that comes
 * and goes is not missed again and again.
 */
void lull__shazptr_flag(const struct lull__shazptr_way *way)
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
	 * lull__shazptr_visit() and copy_slots(); without it a reader that clears meanwhile is overlooked
	 * for longer than its 0 is under way (see lull__shazptr_nap_ns()); model/hazptr/shazptr-wake.litmus
	 */
	lull_fence_full();
}

/* ---- the scanning thread: snapshots ---------------------------------------------------------- */

/*
 * Make a snapshot with memory for @room slots. Returns false, and keeps the current one, if there is no
 * memory.
 */
static bool make_room(size_t room)
{
	struct lull__shazptr_snapshot *old = lull__shazptr.snapshot, *grown;

	if (room < SEEN_AT_FIRST)
		room = SEEN_AT_FIRST;
	grown = (struct lull__shazptr_snapshot *)malloc(sizeof(*grown) + room * sizeof(grown->slot[0]));
	if (!grown)
		return false;
	grown->room = room;
	lull__shazptr.snapshot = grown;
	free(old);
	return true;
}

/*
 * Copy all slots that are in use and store their number in *@count. Returns false if that is more than
 * @room.
 */
static bool copy_slots(size_t room, size_t *count)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;

	*count = 0;
	lull__registry_enter(&hold);
	lull__for_each_thread(thread) {
		/* SHAZ-2 and SHAZ-3 as in lull__shazptr_visit(); after SHAZ-4 when slots were flagged. */
		uintptr_t word = lull_load_acquire(&thread->shazptr);
		uint64_t state = lull_load_acquire(&thread->shazptr_state);

		if (word == 0 || word == LULL__SHAZPTR_REST)
			continue;
		if (*count < room) {
			struct seen_slot *seen = &lull__shazptr.snapshot->slot[*count];

			*seen = (struct seen_slot){ word, state, group_of(thread) };
		}
		++*count;
	}
	lull__registry_leave(&hold);
	return *count <= room;
}

static int by_word(const void *a, const void *b)
{
	uintptr_t one = ((const struct seen_slot *)a)->word, other = ((const struct seen_slot *)b)->word;

	return one < other ? -1 : one > other;
}

/* Copy all slots that are in use, sorted by address. Returns false if there is no memory. */
static bool take_snapshot(void)
{
	while (!copy_slots(lull__shazptr.snapshot ? lull__shazptr.snapshot->room : 0, &lull__shazptr.count))
		if (!make_room(2 * lull__shazptr.count))
			return false;
	if (lull__shazptr.count)
		qsort(lull__shazptr.snapshot->slot, lull__shazptr.count, sizeof(lull__shazptr.snapshot->slot[0]), by_word);
	return true;
}

/* Find the first slot in the snapshot whose word is not less than @word. */
static size_t first_of(uintptr_t word)
{
	size_t from = 0, to = lull__shazptr.count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (lull__shazptr.snapshot->slot[middle].word < word)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Add to @way the slots with @word that are in the way of @w. */
static void add_equals(const struct lull__shazptr_waiter *w, uintptr_t word, struct lull__shazptr_way *way)
{
	for (size_t i = first_of(word); i < lull__shazptr.count; i++) {
		const struct seen_slot *seen = &lull__shazptr.snapshot->slot[i];

		if (seen->word != word)
			return;
		if (seen->state / LULL__SHAZPTR_STAMP >= w->tick || !(seen->group & w->groups))
			continue;
		way->groups |= seen->group;
		if (!(seen->state & LULL__SHAZPTR_WAITED))
			way->unflagged = true;
	}
}

/* Find in the snapshot what is in the way of @w, as lull__shazptr_visit() does in the slots. */
static void find_in_snapshot(const struct lull__shazptr_waiter *w, struct lull__shazptr_way *way)
{
	*way = (struct lull__shazptr_way){ .tick = w->tick };
	add_equals(w, LULL__BUSTED(SHAZPTR_FORGOTTEN_POINTER) ? 0 : w->ptr, way);
	if (!LULL__BUSTED(SHAZPTR_IGNORED_WILDCARD))
		add_equals(w, LULL__SHAZPTR_WILDCARD, way);
}

/* ---- the scanning thread: rounds ------------------------------------------------------------- */

static void release_waiter(struct lull__shazptr_waiter *w)
{
	lull_list_del(&w->list);
	/*
	 * ORDER SHAZ-6: all loads of the scans, and the last use of the waiter, before `done`; pairs
	 * with SHAZ-6 in sleep_until_done(); without it the waiter frees too early, or its stack is
	 * overwritten; model/hazptr/shazptr-wait.litmus
	 */
	lull_store_release(&w->done, 1u);
	/* From here on @w is only an address: the kernel does not read what is there. */
	lull__futex_wake(&w->done, 1);
}

/*
 * Take all queued waiters for the next snapshot. Waiters that come later need a later one: this one may
 * be older than their unlinking. Returns whether any thread waits.
 */
static bool begin_scan(void)
{
	bool any;

	lull__lock(&lull__shazptr.lock);
	lull_list_splice_tail(&lull__shazptr.queued, &lull__shazptr.scanning);
	lull_list_init(&lull__shazptr.queued);
	any = !lull_list_empty(&lull__shazptr.scanning);
	lull__unlock(&lull__shazptr.lock);
	return any;
}

/*
 * Wake each waiter whose last group has been seen out of the way. Store in @left what is in the way of the
 * others.
 */
static void scan_for_all(struct lull__shazptr_way *left)
{
	struct lull__shazptr_waiter *w, *next;
	bool have_snapshot;

	*left = (struct lull__shazptr_way){ 0 };
	if (!begin_scan())
		return;
	lull__shazptr_count_scan();
	have_snapshot = take_snapshot();
	lull__lock(&lull__shazptr.lock);
	lull_list_for_each_entry_safe(w, next, &lull__shazptr.scanning, list) {
		struct lull__shazptr_way way;

		(have_snapshot ? find_in_snapshot : lull__shazptr_visit)(w, &way);
		w->groups = way.groups;
		if (!w->groups) {
			release_waiter(w);
			continue;
		}
		left->groups |= way.groups;
		left->unflagged |= way.unflagged;
		if (left->tick < w->tick)
			left->tick = w->tick;
	}
	lull__unlock(&lull__shazptr.lock);
}

/*
 * Return how long to sleep before the next scan. A reader makes no fence between clearing its slot and
 * loading WAITED. So the load may come first and find nothing, while the 0, still on its way out of the
 * processor, is not seen by the scan after lull__shazptr_flag(): then the scanner goes to sleep and is
 * not woken. The 0 arrives in far less than a microsecond, so a second scan after NAP_NS finds it. By
 * then WAITED has been visible for as long, and a reader that clears later does not miss it. The naps
 * after that are needed only by the language, which does not promise how long a store is under way.
 * They grow, so that a slow reader costs a few scans.
 */
uint64_t lull__shazptr_nap_ns(unsigned *shift)
{
	uint64_t ns = (uint64_t)NAP_NS << *shift;

	if (*shift < NAP_SHIFT_MOST)
		*shift += NAP_SHIFT;
	return ns;
}

/* End the thread if no thread waits. Waiters queue under the lock, and then find that none is running. */
static bool end_unless_needed(void)
{
	bool ends;

	lull__lock(&lull__shazptr.lock);
	ends = lull_list_empty(&lull__shazptr.queued) && !lull_load_relaxed(&lull__shazptr.stop) &&
	       !lull__own_threads_stay();
	if (ends) {
		lull__shazptr.running = false;
		free(lull__shazptr.snapshot);
		lull__shazptr.snapshot = NULL;
		pthread_detach(pthread_self());
	}
	lull__unlock(&lull__shazptr.lock);
	return ends;
}

static void scan_thread(void)
{
	struct lull__shazptr_way left;
	unsigned shift = 0;

	lull__ensure_registered();
	for (;;) {
		/*
		 * ORDER SHAZ-5: the event before the loads of WAITED, of the slots and of the list of
		 * waiters; pairs with SHAZ-5 in answer() and lull__shazptr_enqueue(); without it as
		 * there; model/hazptr/shazptr-event.litmus
		 */
		uint32_t event = lull_load_acquire(&lull__shazptr.event);

		if (lull_load_relaxed(&lull__shazptr.stop))
			return;
		scan_for_all(&left);
		if (left.unflagged) {
			lull__shazptr_flag(&left);
			shift = 0;
		} else if (left.groups) {
			lull__futex_wait(&lull__shazptr.event, event, lull__now_ns() + lull__shazptr_nap_ns(&shift));
		} else {
			uint64_t until_ns = lull__idle_end_ns(lull__now_ns(), 0);

			lull__thread_rest();
			lull__futex_wait(&lull__shazptr.event, event, until_ns);
			lull__thread_rise();
			if (lull__is_past(until_ns) && end_unless_needed())
				return;
		}
	}
}

static const struct lull__own_thread scanning_thread = { "lull-scan", scan_thread };

/*
 * Start the scanning thread. Returns 0 or an errno value. Under lull__shazptr.lock, so that no waiter
 * queues for a thread that could not be started.
 */
static int start_scan_thread(void)
{
	int err = lull__own_thread_start(&scanning_thread, &lull__shazptr.thread);

	lull__shazptr.running = err == 0;
	return err;
}

bool lull__shazptr_start(void)
{
	bool there;

	lull__lock(&lull__shazptr.lock);
	there = lull__shazptr.running || start_scan_thread() == 0;
	lull__unlock(&lull__shazptr.lock);
	return there;
}

/* End the scanning thread at exit(), so that leak checkers do not report it. */
__attribute__((destructor)) static void stop_scan_thread(void)
{
	bool running;

	if (!lull__trylock(&lull__shazptr.lock)) /* exit() may run in a signal handler of the holder */
		return;
	running = lull__shazptr.running && !pthread_equal(lull__shazptr.thread, pthread_self());
	lull_store_relaxed(&lull__shazptr.stop, (uint32_t)running);
	lull__unlock(&lull__shazptr.lock);
	if (!running)
		return;
	lull__shazptr_tell_scanners(); /* SHAZ-5 */
	if (lull__join(lull__shazptr.thread, SCAN_EXIT_NS)) {
		lull__shazptr.running = false;
		free(lull__shazptr.snapshot);
		lull__shazptr.snapshot = NULL;
	}
	lull_store_relaxed(&lull__shazptr.stop, 0u);
}

/* ---- waiters --------------------------------------------------------------------------------- */

bool lull__shazptr_enqueue(struct lull__shazptr_waiter *w)
{
	bool first_failure;
	int err;

	lull__lock(&lull__shazptr.lock);
	err = lull__shazptr.running ? 0 : start_scan_thread();
	if (!err)
		lull_list_add_tail(&w->list, &lull__shazptr.queued);
	first_failure = err && !lull__shazptr.failed;
	lull__shazptr.failed |= first_failure;
	lull__unlock(&lull__shazptr.lock);
	if (first_failure)
		lull__say("cannot start the scanning thread of simple hazard pointers (%s): "
			  "each waiting thread scans for itself", strerror(err));
	/*
	 * ORDER SHAZ-5: the waiter on its list before the event; pairs with SHAZ-5 in
	 * scan_thread(); without it the thread sleeps and never scans for this waiter;
	 * model/hazptr/shazptr-queue.litmus
	 */
	if (!err)
		lull__shazptr_tell_scanners();
	return !err;
}

/*
 * Take @w off its list, as its time is up. Returns true if the scanning thread has finished with it before.
 */
bool lull__shazptr_withdraw(struct lull__shazptr_waiter *w)
{
	bool done;

	lull__lock(&lull__shazptr.lock);
	done = lull_load_relaxed(&w->done);
	if (!done)
		lull_list_del(&w->list);
	lull__unlock(&lull__shazptr.lock);
	return done;
}

