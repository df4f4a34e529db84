/* SPDX-License-Identifier: MIT */
/*
 * shazptr.c - simple hazard pointers: the rare parts of a reader, the thread that scans, waiting.
 *
 * An updater takes the next tick of a clock, makes a full fence, and looks at all slots. Those that
 * are in its way it remembers by *group*: each thread has one of 64, a bit in a mask. It goes on a
 * list and sleeps. The scanning thread takes all who are on the list, makes one snapshot of all
 * slots, and clears in each one's mask the groups that the snapshot does not show to be in its way;
 * who has none left goes on. So a group has to be seen out of the way once, not now.
 *
 * That alone would not end if a slot (or one of two in a group) were in the way at each snapshot.
 * So the scanning thread says WAITED in the state of the slots of the groups that are left. Whoever
 * clears such a slot stamps it with the clock, and a slot with a stamp is in the way of those only
 * whose tick is later: what it says has been said after the stamp, by a reader that sees what was
 * unlinked before an earlier tick. So each slot holds a waiter up until it is cleared, no longer.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lull/list.h>

#include "../base/events.h"

#define GROUPS	       64u
#define NAP_NS	       100000u	 /* the first sleep without being woken; see nap_ns() */
#define NAP_SHIFT      2u	 /* each next one lasts four times as long, ... */
#define NAP_SHIFT_MOST 12u	 /* ... up to 0.4 s */
#define SEEN_AT_FIRST  64u	 /* slots in the first snapshot's memory */
#define LASTS_NS       1000000u /* before this nobody asks who is in the way */
#define REPORT_AT_MOST 4u	 /* threads named in one stall report */
#define EXIT_WAIT_NS   100000000 /* for a thread that waits for a lock of who called exit() */

/* Who waits; on that thread's stack. Under scan.lock while it is on a list, but for `done`. */
struct waiter {
	struct lull_list_head list;
	uintptr_t ptr;
	uint64_t tick;
	uint64_t groups; /* that have not been seen out of the way */
	uint32_t done;
};

/* What a slot said. */
struct seen {
	uintptr_t word;
	uint64_t state;
	uint64_t group; /* its bit */
};

struct snapshot {
	size_t room;
	struct seen slot[];
};

/* What stands in the way of one waiter, or of all who are left. */
struct in_the_way {
	uint64_t groups;
	uint64_t tick;	/* the latest */
	bool unflagged; /* by a slot that does not say WAITED */
};

static struct {
	uint64_t clock;
	uint32_t event; /* changes when somebody begins to wait or a slot is cleared for one */
	uint32_t stop;
	uint32_t skip_self_scan;
	uint32_t next_group; /* under the registry lock */
	uint64_t scans;
	struct lull__lock lock;
	struct lull_list_head queued;	/* for the next snapshot */
	struct lull_list_head scanning; /* for the one that is being made or used */
	bool running;			/* there is a thread */
	bool failed;			/* there could not be one, once */
	pthread_t thread;
	struct snapshot *snapshot; /* the scanning thread's; NULL or whole at any time, for fork */
	size_t count;
} scan __attribute__((aligned(LULL__CACHELINE))) = {
	.queued = LULL_LIST_HEAD_INIT(scan.queued),
	.scanning = LULL_LIST_HEAD_INIT(scan.scanning),
};

static uint64_t group_of(const struct lull__thread *thread)
{
	return (uint64_t)1 << thread->shazptr_group;
}

/* ---- the rare parts of a reader -------------------------------------------------------------- */

static void misuse(const char *what)
{
	char name[32];

	lull__thread_name(lull__gettid(), name, sizeof(name));
	lull__die("%s (thread \"%s\", tid %u)", what, name, lull__gettid());
}

/* Here come threads that are not registered, and who has a slot that is in use. */
void lull__shazptr_acquire_slow(uintptr_t addr)
{
	struct lull__thread *self = &lull__self;

	if (self->shazptr == LULL__SHAZPTR_REST) {
		lull__ensure_registered();
		if (self->state & LULL__STATE_EXITED) {
			lull__shazptr_enter_unregistered(addr);
			return;
		}
	}
	if (self->shazptr == 0) {
		lull_store_fence(&self->shazptr, addr); /* SHAZ-1 */
		return;
	}
	lull_store_relaxed(&self->shazptr_nested, self->shazptr_nested + 1);
	/*
	 * ORDER SHAZ-1: the wildcard before the caller's loads; pairs with SHAZ-1 in
	 * shazptr_synchronize(); without it the scan takes the slot for the outer acquisition's
	 * and misses the inner one; model/hazptr/shazptr-wildcard.litmus
	 */
	lull_store_fence(&self->shazptr, LULL__SHAZPTR_WILDCARD);
	if (LULL__BUSTED(SHAZPTR_NESTED))
		lull_store_relaxed(&self->shazptr, addr);
}

static uint64_t stamp_of_now(void)
{
	return lull_load_relaxed(&scan.clock) * LULL__SHAZPTR_STAMP;
}

static void tell_scanners(void)
{
	/* SHAZ-5: see answer() and enqueue(). */
	lull_add_release(&scan.event, 1u);
	lull__futex_wake(&scan.event, INT_MAX);
}

/*
 * Somebody waits for this slot, which says 0 now. A signal handler in between, which uses the slot,
 * leaves it at 0 and may have answered already.
 */
static void answer(void)
{
	struct lull__thread *self = &lull__self;
	uint64_t state = lull_load_relaxed(&self->shazptr_state);
	/*
	 * Relaxed: there is a full fence between this and the loads of the next reader here.
	 *
	 * ORDER SHAZ-3: the clock before the next acquisition's loads (that fence), and all use of
	 * the objects before the stamp; pairs with SHAZ-3 in shazptr_synchronize() and
	 * SHAZ-3 in shazptr_look() and copy_slots(); without it a slot passes for one whose reader
	 * sees the unlinking although it does not; model/hazptr/shazptr-stamp.litmus
	 */
	uint64_t stamp = stamp_of_now(), answered;

	do {
		if (!(state & LULL__SHAZPTR_WAITED))
			return;
		answered = stamp | (state & LULL__SHAZPTR_LATE);
	} while (!lull_cas_release(&self->shazptr_state, &state, answered));
	/*
	 * ORDER SHAZ-5: taking WAITED off before the event; pairs with SHAZ-5 in scan_thread() and
	 * wait_alone(); without it a scanner takes WAITED for set that is being taken off, and
	 * sleeps; model/hazptr/shazptr-event.litmus
	 */
	tell_scanners();
}

void lull__shazptr_clear_slow(void)
{
	answer();
	if (lull_load_relaxed(&lull__self.shazptr_state) & LULL__SHAZPTR_LATE)
		lull__shazptr_leave_unregistered();
}

#ifdef LULL_DEBUG
void lull__shazptr_check_addr(uintptr_t addr)
{
	if (lull_unlikely(!addr || addr >= LULL__SHAZPTR_REST))
		misuse("lull_shazptr_acquire: not an address");
}

void lull__shazptr_check_owner(const struct lull__thread *owner)
{
	if (lull_unlikely(owner != &lull__self))
		misuse("lull_shazptr_clear: acquired by another thread");
	if (lull_unlikely(!lull__shazptr_held()))
		misuse("lull_shazptr_clear: cleared already");
}
#endif

/* ---- threads come and go; the registry lock is held, signals are blocked --------------------- */

/*
 * A new slot is stamped as if it had just been cleared: no series of short-lived threads holds
 * anybody up. SHAZ-3.
 */
void lull__shazptr_thread_enter(void)
{
	struct lull__thread *self = &lull__self;

	self->shazptr_group = scan.next_group++ % GROUPS;
	lull_store_relaxed(&self->shazptr_state, stamp_of_now());
	lull_store_relaxed(&self->shazptr, (uintptr_t)0);
}

void lull__shazptr_thread_leave(void)
{
	lull_store_relaxed(&lull__self.shazptr, LULL__SHAZPTR_REST);
}

/* The record has just been linked in, or was so for a read section. The caller makes the fence. */
void lull__shazptr_late_enter(uintptr_t addr)
{
	struct lull__thread *self = &lull__self;

	lull_store_relaxed(&self->shazptr_state, stamp_of_now() | LULL__SHAZPTR_LATE);
	lull_store_relaxed(&self->shazptr, addr);
}

/* The record may be taken out, unless a read section needs it. */
void lull__shazptr_late_leave(void)
{
	lull_and_relaxed(&lull__self.shazptr_state, ~(uint64_t)LULL__SHAZPTR_LATE);
	lull_store_relaxed(&lull__self.shazptr, LULL__SHAZPTR_REST);
}

/* ---- threads come and go; no lock ------------------------------------------------------------ */

bool lull__shazptr_held(void)
{
	uintptr_t word = lull__self.shazptr;

	return word != 0 && word != LULL__SHAZPTR_REST;
}

void lull__shazptr_not_held(const char *call)
{
	char line[128];

	if (lull_likely(!lull__shazptr_held()))
		return;
	snprintf(line, sizeof(line), "%s while the thread's simple hazard pointer is in use", call);
	misuse(line);
}

void lull__shazptr_thread_exit(void)
{
	struct lull__thread *self = &lull__self;
	char name[32];

	if (!lull__shazptr_held())
		return;
	lull__thread_name(self->tid, name, sizeof(name));
	lull__say("thread \"%s\" (tid %u) exits with its simple hazard pointer in use (depth %u); "
		  "it is cleared here",
		  name, self->tid, self->shazptr_nested + 1);
	lull_store_relaxed(&self->shazptr_nested, 0u);
	lull_store_release(&self->shazptr, (uintptr_t)0); /* SHAZ-2, as lull_shazptr_clear() */
	answer();
}

/* The scanning thread, and who else waited, are not here. */
void lull__shazptr_fork_child(void)
{
	scan.lock.word = 0;
	lull_list_init(&scan.queued);
	lull_list_init(&scan.scanning);
	scan.running = false;
	scan.stop = 0;
}

/* ---- looking --------------------------------------------------------------------------------- */

static bool is_match(uintptr_t word, uintptr_t ptr)
{
	if (word == LULL__SHAZPTR_WILDCARD)
		return !LULL__BUSTED(SHAZPTR_IGNORED_WILDCARD);
	return word == ptr;
}

static void count_scan(void)
{
	lull_add_relaxed(&scan.scans, (uint64_t)1);
	lull__count(&lull__stats->shazptr_scans, 1);
}

/* One look for one waiter. */
static void shazptr_look(const struct waiter *w, struct in_the_way *way)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;

	*way = (struct in_the_way){ .tick = w->tick };
	/*
	 * THR-1 and THR-2: threads come and go under this lock, before the look or after it. SHAZ-4
	 * when slots have been flagged.
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

		if (!is_match(word, w->ptr))
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
 * Say WAITED in all slots of the groups that are in the way, whatever they say just now, so that a
 * reader which comes and goes does not slip through again and again.
 */
static void flag_slots(const struct in_the_way *way)
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
	 * ORDER SHAZ-4: WAITED before the next look at the slots; pairs with SHAZ-4 in
	 * shazptr_look() and copy_slots(); without it a reader that clears meanwhile is overlooked
	 * for longer than its 0 is under way (see nap_ns()); model/hazptr/shazptr-wake.litmus
	 */
	lull_fence_full();
}

/* ---- the scanning thread: snapshots ---------------------------------------------------------- */

/* Memory for @room slots. The old one stays where there is none. */
static bool make_room(size_t room)
{
	struct snapshot *old = scan.snapshot, *grown;

	if (room < SEEN_AT_FIRST)
		room = SEEN_AT_FIRST;
	grown = (struct snapshot *)malloc(sizeof(*grown) + room * sizeof(grown->slot[0]));
	if (!grown)
		return false;
	grown->room = room;
	scan.snapshot = grown;
	free(old);
	return true;
}

/* Copy all slots that say something. False: there are more than there is room for; *count tells. */
static bool copy_slots(size_t room, size_t *count)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;

	*count = 0;
	lull__registry_enter(&hold);
	lull__for_each_thread(thread) {
		/* SHAZ-2 and SHAZ-3 as in shazptr_look(); after SHAZ-4 when slots were flagged. */
		uintptr_t word = lull_load_acquire(&thread->shazptr);
		uint64_t state = lull_load_acquire(&thread->shazptr_state);

		if (word == 0 || word == LULL__SHAZPTR_REST)
			continue;
		if (*count < room) {
			struct seen *seen = &scan.snapshot->slot[*count];

			*seen = (struct seen){ word, state, group_of(thread) };
		}
		++*count;
	}
	lull__registry_leave(&hold);
	return *count <= room;
}

static int by_word(const void *a, const void *b)
{
	uintptr_t one = ((const struct seen *)a)->word, other = ((const struct seen *)b)->word;

	return one < other ? -1 : one > other;
}

/*
 * All slots that say something, sorted by what they say. False when there is no memory for it.
 */
static bool take_snapshot(void)
{
	while (!copy_slots(scan.snapshot ? scan.snapshot->room : 0, &scan.count))
		if (!make_room(2 * scan.count))
			return false;
	if (scan.count)
		qsort(scan.snapshot->slot, scan.count, sizeof(scan.snapshot->slot[0]), by_word);
	return true;
}

/* The first slot in the snapshot that does not say less than @word. */
static size_t first_of(uintptr_t word)
{
	size_t from = 0, to = scan.count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (scan.snapshot->slot[middle].word < word)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Add to @way what the slots that say @word do to @w. */
static void look_at_equals(const struct waiter *w, uintptr_t word, struct in_the_way *way)
{
	for (size_t i = first_of(word); i < scan.count; i++) {
		const struct seen *seen = &scan.snapshot->slot[i];

		if (seen->word != word)
			return;
		if (seen->state / LULL__SHAZPTR_STAMP >= w->tick || !(seen->group & w->groups))
			continue;
		way->groups |= seen->group;
		if (!(seen->state & LULL__SHAZPTR_WAITED))
			way->unflagged = true;
	}
}

/* As shazptr_look(), in the snapshot. */
static void look_in_snapshot(const struct waiter *w, struct in_the_way *way)
{
	*way = (struct in_the_way){ .tick = w->tick };
	look_at_equals(w, LULL__BUSTED(SHAZPTR_FORGOTTEN_POINTER) ? 0 : w->ptr, way);
	if (!LULL__BUSTED(SHAZPTR_IGNORED_WILDCARD))
		look_at_equals(w, LULL__SHAZPTR_WILDCARD, way);
}

/* ---- the scanning thread: rounds ------------------------------------------------------------- */

static void let_go(struct waiter *w)
{
	lull_list_del(&w->list);
	/*
	 * ORDER SHAZ-6: what the looks at the slots saw, and the last use of the waiter, before
	 * `done`; pairs with SHAZ-6 in sleep_until(); without it the waiter frees too early, or its
	 * stack is overwritten; model/hazptr/shazptr-wait.litmus
	 */
	lull_store_release(&w->done, 1u);
	/* From here on only an address, which the kernel does not look behind. */
	lull__futex_wake(&w->done, 1);
}

/*
 * Who came after this is for the next snapshot: the one that is made now may be older than what was
 * unlinked. True when somebody waits.
 */
static bool begin_scan(void)
{
	bool any;

	lull__lock(&scan.lock);
	lull_list_splice_tail(&scan.queued, &scan.scanning);
	lull_list_init(&scan.queued);
	any = !lull_list_empty(&scan.scanning);
	lull__unlock(&scan.lock);
	return any;
}

/* Let go of those whose last group has been seen out of the way. @left: of the others. */
static void scan_for_all(struct in_the_way *left)
{
	struct waiter *w, *next;
	bool have_snapshot;

	*left = (struct in_the_way){ 0 };
	if (!begin_scan())
		return;
	count_scan();
	have_snapshot = take_snapshot();
	lull__lock(&scan.lock);
	lull_list_for_each_entry_safe(w, next, &scan.scanning, list) {
		struct in_the_way way;

		(have_snapshot ? look_in_snapshot : shazptr_look)(w, &way);
		w->groups = way.groups;
		if (!w->groups) {
			let_go(w);
			continue;
		}
		left->groups |= way.groups;
		left->unflagged |= way.unflagged;
		if (left->tick < w->tick)
			left->tick = w->tick;
	}
	lull__unlock(&scan.lock);
}

/*
 * A reader makes no fence between clearing its slot and looking for WAITED. So it may be that its
 * look comes first and finds nothing, and that its 0, still on its way out of the processor, is not
 * there for our look after flag_slots(), and that we go to sleep and are not woken. The 0 arrives
 * in far less than a microsecond, and so a second look by ourselves after NAP_NS finds it. By then
 * WAITED has been there for as long, and is not missed by a reader that clears later. So the naps
 * that follow are there for the language, which does not promise how long anything is under way;
 * they grow, and a reader that takes its time costs a few looks.
 */
static uint64_t nap_ns(unsigned *shift)
{
	uint64_t ns = (uint64_t)NAP_NS << *shift;

	if (*shift < NAP_SHIFT_MOST)
		*shift += NAP_SHIFT;
	return ns;
}

static void *scan_thread(void *unused)
{
	struct in_the_way left;
	unsigned shift = 0;

	(void)unused;
	lull__ensure_registered();
	lull__fine_timers();
	pthread_setname_np(pthread_self(), "lull-scan");
	for (;;) {
		/*
		 * ORDER SHAZ-5: the event before the look at WAITED, at the slots and at the list
		 * of waiters; pairs with SHAZ-5 in answer() and enqueue(); without it as there;
		 * model/hazptr/shazptr-event.litmus
		 */
		uint32_t event = lull_load_acquire(&scan.event);

		if (lull_load_relaxed(&scan.stop))
			return NULL;
		scan_for_all(&left);
		if (left.unflagged) {
			flag_slots(&left);
			shift = 0;
		} else if (left.groups) {
			lull__futex_wait(&scan.event, event, nap_ns(&shift));
		} else {
			lull__futex_wait(&scan.event, event, 0);
		}
	}
}

/* Under scan.lock, so that nobody queues for a thread that does not come. 0 or an errno value. */
static int start_thread(void)
{
	sigset_t all, saved;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &saved);
	err = pthread_create(&scan.thread, NULL, scan_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	scan.running = err == 0;
	return err;
}

/* exit(): end the thread, so that leak checkers find nothing of it. */
__attribute__((destructor)) static void stop_thread(void)
{
	bool running;

	if (!lull__trylock(&scan.lock)) /* perhaps held by who is exiting, in a handler */
		return;
	running = scan.running;
	lull__unlock(&scan.lock);
	if (!running || pthread_equal(scan.thread, pthread_self()))
		return;
	lull_store_relaxed(&scan.stop, 1u);
	tell_scanners(); /* SHAZ-5 */
	if (lull__join(scan.thread, EXIT_WAIT_NS)) {
		scan.running = false;
		free(scan.snapshot);
		scan.snapshot = NULL;
	}
	lull_store_relaxed(&scan.stop, 0u);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* When who waits gets up by itself: to give up, and to report. */
struct timer {
	uint64_t deadline_ns; /* 0: none */
	bool lasts;	      /* it has slept for a while already */
	struct lull__vigil vigil;
};

/* Those that are in the way: the first few in @named, and how many in all. */
static unsigned name_holders(const struct waiter *w, struct lull_stall named[REPORT_AT_MOST])
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;
	unsigned count = 0;

	lull__registry_enter(&hold);
	lull__for_each_thread(thread) {
		if (!is_match(lull_load_relaxed(&thread->shazptr), w->ptr) ||
		    lull_load_relaxed(&thread->shazptr_state) / LULL__SHAZPTR_STAMP >= w->tick)
			continue;
		if (count < REPORT_AT_MOST)
			named[count] = (struct lull_stall){
				.tid = thread->tid,
				.depth = lull_load_relaxed(&thread->shazptr_nested) + 1,
			};
		count++;
	}
	lull__registry_leave(&hold);
	return count;
}

static void look_at_holders(struct timer *timer, const struct waiter *w)
{
	struct lull_stall named[REPORT_AT_MOST];
	unsigned count = name_holders(w, named);

	if (count)
		lull__vigil_holder(&timer->vigil, &named[0], count);
	if (!lull__vigil_due(&timer->vigil))
		return;
	for (unsigned i = 0; i < count && i < REPORT_AT_MOST; i++) {
		named[i].slots = count;
		lull__vigil_report(&timer->vigil, &named[i]);
	}
}

/*
 * Report what is due. False when the time is up, else *ns is how long to sleep at most (0: no
 * limit).
 */
static bool time_is_left(struct timer *timer, const struct waiter *w, uint64_t *ns)
{
	uint64_t now_ns = lull__now_ns(), until_ns = timer->deadline_ns, report_ns;

	if (until_ns && now_ns >= until_ns)
		return false;
	if (timer->lasts)
		look_at_holders(timer, w);
	report_ns = timer->lasts ? lull__vigil_report_ns(&timer->vigil) : timer->vigil.since_ns + LASTS_NS;
	timer->lasts = timer->lasts || now_ns >= report_ns;
	if (report_ns && (!until_ns || report_ns < until_ns))
		until_ns = report_ns;
	*ns = !until_ns ? 0 : until_ns > now_ns ? until_ns - now_ns : 1;
	return true;
}

/* No thread is to be had: scan for oneself. */
static bool wait_alone(struct waiter *w, struct timer *timer)
{
	struct in_the_way way;
	unsigned shift = 0;
	uint64_t ns, nap;

	for (;;) {
		uint32_t event = lull_load_acquire(&scan.event); /* SHAZ-5 as in scan_thread() */

		count_scan();
		shazptr_look(w, &way);
		w->groups = way.groups;
		if (!w->groups)
			return true;
		if (!time_is_left(timer, w, &ns))
			return false;
		if (way.unflagged) {
			flag_slots(&way);
			shift = 0;
			continue;
		}
		nap = nap_ns(&shift);
		lull__futex_wait(&scan.event, event, ns && ns < nap ? ns : nap);
	}
}

static bool enqueue(struct waiter *w)
{
	bool first_failure;
	int err;

	lull__lock(&scan.lock);
	err = scan.running ? 0 : start_thread();
	if (!err)
		lull_list_add_tail(&w->list, &scan.queued);
	first_failure = err && !scan.failed;
	scan.failed |= first_failure;
	lull__unlock(&scan.lock);
	if (first_failure)
		lull__say("cannot start the scanning thread of simple hazard pointers (%s): "
			  "who waits scans",
			  strerror(err));
	/*
	 * ORDER SHAZ-5: the waiter on its list before the event; pairs with SHAZ-5 in
	 * scan_thread(); without it the thread sleeps and nobody looks for this waiter;
	 * model/hazptr/shazptr-queue.litmus
	 */
	if (!err)
		tell_scanners();
	return !err;
}

/* The time is up. False unless the scanning thread has been faster. */
static bool withdraw(struct waiter *w)
{
	bool done;

	lull__lock(&scan.lock);
	done = lull_load_relaxed(&w->done);
	if (!done)
		lull_list_del(&w->list);
	lull__unlock(&scan.lock);
	return done;
}

static bool sleep_until(struct waiter *w, struct timer *timer)
{
	uint64_t ns;

	if (!enqueue(w))
		return wait_alone(w, timer);
	/*
	 * ORDER SHAZ-6: `done` before the caller's free and before this stack is used again; pairs
	 * with SHAZ-6 in let_go(); without it as there; model/hazptr/shazptr-wait.litmus
	 */
	while (!lull_load_acquire(&w->done)) {
		if (!time_is_left(timer, w, &ns))
			return withdraw(w);
		lull__futex_wait(&w->done, 0, ns);
	}
	return true;
}

static bool wait_until(struct waiter *w, uint64_t deadline_ns)
{
	struct timer timer = { .deadline_ns = deadline_ns };
	bool done;

	lull__vigil_begin(&timer.vigil, LULL_WAIT_SHAZPTR, 0);
	done = sleep_until(w, &timer);
	lull__vigil_end(&timer.vigil);
	return done;
}

static bool shazptr_synchronize(const char *call, const void *ptr, uint64_t deadline_ns)
{
	struct waiter w = { .ptr = (uintptr_t)ptr, .groups = ~(uint64_t)0 };
	struct in_the_way way;

	if (!ptr)
		return true; /* nobody can have acquired that */
	if (lull__shazptr_held() && is_match(lull__self.shazptr, w.ptr))
		lull__die("%s of %p, which this thread (tid %u) has acquired%s, would wait for "
			  "itself for ever",
			  call, ptr, lull__self.tid,
			  lull__self.shazptr == LULL__SHAZPTR_WILDCARD ? " by a wildcard" : "");
	lull__ensure_registered();
	/*
	 * ORDER SHAZ-3: the unlinking before the tick; pairs with SHAZ-3 in answer(); without it a
	 * reader is stamped with the tick and finds the object all the same;
	 * model/hazptr/shazptr-stamp.litmus
	 */
	w.tick = lull_add_release(&scan.clock, (uint64_t)1) + 1;
	/*
	 * ORDER SHAZ-1: the unlinking before the look at the slots, by whomever; pairs with SHAZ-1
	 * in lull__shazptr_acquire(); without it a reader that found the object is not seen;
	 * model/hazptr/shazptr-enter.litmus
	 */
	lull_fence_full();
	if (!lull_load_relaxed(&scan.skip_self_scan)) {
		shazptr_look(&w, &way);
		w.groups = way.groups;
		if (!w.groups)
			return true;
	}
	lull__check_may_block(call);
	return wait_until(&w, deadline_ns);
}

void lull_shazptr_synchronize(const void *ptr)
{
	shazptr_synchronize("lull_shazptr_synchronize", ptr, 0);
}

int lull_shazptr_synchronize_timeout(const void *ptr, uint64_t timeout_ms)
{
	uint64_t deadline_ns = lull__deadline_ns(timeout_ms);
	bool done = shazptr_synchronize("lull_shazptr_synchronize_timeout", ptr, deadline_ns);

	return done ? 0 : -ETIMEDOUT;
}

void lull_shazptr_set_skip_self_scan(bool skip)
{
	lull_store_relaxed(&scan.skip_self_scan, (uint32_t)skip);
}

bool lull_shazptr_skip_self_scan(void)
{
	return lull_load_relaxed(&scan.skip_self_scan) != 0;
}

uint64_t lull_shazptr_scan_count(void)
{
	return lull_load_relaxed(&scan.scans);
}
