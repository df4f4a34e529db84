/* SPDX-License-Identifier: MIT */
/*
 * domain.c - grace periods for readers whose words are liburcu's.
 *
 * They work as those of src/rcu/grace_period.c do: one thread at a time leads; it makes a heavy fence, stores a new
 * number for sections to carry, and waits until no thread's word carries an older one. A cookie is the number of the
 * first grace period that begins after it was taken. Readers that were compiled elsewhere differ:
 *
 * The number has 32 bits. One grace period is open at a time, so a word is of this one, or of the one before, or
 * of none; a section that carries any number but the newest is waited for. A thread would have to be stopped between
 * loading the number and storing its word for exactly 2^32 grace periods to be mistaken.
 *
 * A section begins with a relaxed store, without the order that lull's own sections have (RCU-4). Where processors
 * let a load pass a later store, a second heavy fence stands in for that, before the grace period ends.
 *
 * Sections end with a look at a futex that is not private, or, in the flavor bp, with nothing: a grace period that
 * waits for those sleeps a little, and looks again.
 */
#include <limits.h>
#include <linux/futex.h>

#include "../../src/base/events.h"
#include "../../src/base/fault.h"
#include "../../src/base/message.h"
#include "../../src/base/process.h"
#include "domain.h"

#define URCU_SPINS  64	    /* before going to sleep: a few microseconds */
#define URCU_NAP_LEAST_NS 50000  /* between two looks at readers that wake no thread ... */
#define URCU_NAP_MOST_NS  1000000 /* ... growing to this */
#define URCU_LOOK_NS	     1000000000 /* a sleep that readers end is as long as this at most, for reports */

#define TIMED_ONE_IN 8	    /* of those that no thread sleeps for, as in src/rcu/grace_period.c */

void lull__urcu_wake(struct urcu_domain *d, struct urcu_record *record)
{
	if (record->slow)
		lull_and_relaxed(record->slow, ~URCU_SLOW_WAITED);
	if (!d->futex)
		return;
	/*
	 * ORDER URCU-12: the flag that is taken away before the look at the futex; pairs with URCU-12 in sleep_for();
	 * without it this store may come behind the flag of the next sleep, of which the futex told nothing yet, and
	 * the thread's next section ends without a wake; model/urcu/flag-stale.litmus
	 */
	lull_fence_full();
	if (lull_load_relaxed(d->futex) != (uint32_t)-1)
		return;
	lull_store_relaxed(d->futex, 0u);
	lull__futex_wake_bits(d->futex, INT_MAX, FUTEX_BITSET_MATCH_ANY, true);
}

/* ---- scanning readers ------------------------------------------------------------------------------ */

unsigned long lull__urcu_word(const struct urcu_domain *d, uint64_t number)
{
	return d->readers == URCU_ONLINE ? number << 1 | 1 : number << 32 | 1;
}

/* May a thread with this @word be in a section from before the open grace period? */
static bool is_holdout(const struct urcu_domain *d, unsigned long word)
{
	if (d->readers == URCU_ONLINE)
		return word && word != d->number;
	return (word & URCU_NEST_MASK) && word >> 32 != d->number >> 32;
}

struct holdouts {
	struct urcu_domain *domain;
	unsigned count;
	struct lull_stall named[LULL__BLAME_MOST];
};

/* Let @record's thread wake the leader when its section ends. */
static void flag(struct urcu_record *record)
{
	if (record->slow)
		lull_or_relaxed(record->slow, URCU_SLOW_WAITED);
	if (record->waiting)
		lull_store_relaxed(record->waiting, 1);
}

/*
 * Count the threads that may be in a section from before the open grace period. Leader only, with signals held (see
 * lull__urcu_hold_signals).
 */
static unsigned urcu_scan(struct urcu_domain *d, bool flags, struct holdouts *held)
{
	held->domain = d;
	held->count = 0;
	if (!d->waits)
		return 0;
	lull__lock(&d->registry); /* THR-1, THR-2 */
	for (struct urcu_record *r = d->list.next; r != &d->list; r = r->next) {
		/*
		 * ORDER URCU-2: the word before whatever the caller frees; pairs with URCU-2 in urcu_leave(); without
		 * it as there; model/urcu/exit-fenced.litmus
		 */
		unsigned long word = lull_load_acquire(r->word);

		if (!is_holdout(d, word))
			continue;
		if (flags)
			flag(r);
		if (held->count < LULL__BLAME_MOST) {
			held->named[held->count] = (struct lull_stall){ .tid = r->tid };
			held->named[held->count].depth =
				d->readers == URCU_ONLINE ? 0 : (unsigned)(word & URCU_NEST_MASK);
		}
		held->count++;
	}
	lull__unlock(&d->registry);
	return held->count;
}

static unsigned look_at_readers(struct urcu_domain *d, bool flags, struct holdouts *held)
{
	struct urcu_hold hold;

	lull__urcu_hold_signals(d, &hold);
	urcu_scan(d, flags, held);
	lull__urcu_release_signals(&hold);
	return held->count;
}

/*
 * With full fences: has liburcu, loaded in the middle of it all, told inlined readers that they may make light ones? It
 * does that only where membarrier works.
 */
static void take_back_light(const struct urcu_domain *d)
{
	if (!lull__fence_full_mode || !d->has_light || !lull_load_relaxed(d->has_light))
		return;
	lull_store_relaxed(d->has_light, 0);
	if (!lull__membarrier_register() || lull__membarrier() != 0)
		lull__die("liburcu-%s says that membarrier(2) works, and it does not", d->name);
}

/*
 * Count the threads that may be in a section, but for the calling one, whose own section is no reason to wait.
 *
 * The count last: a handler's first section may count this thread in between, and one more is on the safe side.
 */
static uint32_t count_others(const struct urcu_domain *d)
{
	const struct urcu_record *own = d->record();
	uint32_t own_counts = own && own->registered && !own->enrolled;

	lull_compiler_barrier();
	/*
	 * ORDER URCU-11: that the last thread has gone before whatever the caller frees; pairs with URCU-11 in
	 * lull__urcu_unregister(); without it as there; model/urcu/gone.litmus
	 */
	return lull_load_acquire(&d->count) - own_counts;
}

/* Does a caller that has unlinked something need no grace period? */
static bool urcu_is_needless(const struct urcu_domain *d)
{
	/*
	 * ORDER URCU-10: unlinking before the count of threads; pairs with URCU-10 in count_reader(); without it as
	 * there; model/urcu/nobody.litmus
	 */
	lull_fence_full();
	return count_others(d) == 0;
}

/* May a thread be in a section with a light fence, but this one? Leader only, with signals held. */
static bool wants_heavy(struct urcu_domain *d)
{
	bool wants;

	if (d->readers != URCU_LIGHT || !d->waits)
		return false;
	lull__lock(&d->registry); /* THR-1 */
	wants = count_others(d) != 0;
	lull__unlock(&d->registry);
	return wants;
}

/* Several flavors may count at a time. */
static void count_end(struct urcu_domain *d)
{
	struct lull_stats_page *page = lull__page();
	unsigned weight = d->slept ? 1 : TIMED_ONE_IN, bucket;
	uint64_t ns;

	lull__event_count(&page->gp_ended, 1);
	if (lull_likely(!d->began_ns))
		return;
	ns = lull__now_ns() - d->began_ns;
	bucket = ns ? 63u - (unsigned)__builtin_clzll(ns) : 0;
	lull__event_count(&page->gp_ns[bucket < LULL_STATS_BUCKETS ? bucket : LULL_STATS_BUCKETS - 1], weight);
	lull__event_count(&page->gp_ns_sum, ns * weight);
	lull__event_raise(&page->gp_ns_max, ns);
}

/* With signals held. */
static void urcu_begin(struct urcu_domain *d)
{
	lull__event_count(&lull__page()->gp_started, 1);
	/* A word is not 0 while a section lasts, nor after an inlined one: called readers take 0 for "outside, and fast". */
	lull_store_relaxed(&d->started, d->started + ((uint32_t)(d->started + 1) ? 1 : 2));
	d->began_ns = d->started % TIMED_ONE_IN ? 0 : lull__now_ns();
	d->slept = false;
	/*
	 * ORDER URCU-10: unlinking before the count of threads; pairs with URCU-10 in count_reader(); without it as
	 * there; model/urcu/nobody.litmus
	 * URCU-4: unlinking before the words of online threads; RCU-7: `started` before all of that.
	 */
	lull_fence_full();
	/*
	 * ORDER URCU-11: that the last thread has gone before whatever the caller frees; pairs with URCU-11 in
	 * lull__urcu_unregister(); without it as there; model/urcu/gone.litmus
	 */
	d->waits = lull_load_acquire(&d->count) != 0;
	/*
	 * ORDER URCU-1: unlinking before the number and the loads of the words; pairs with URCU-1 in urcu_enter();
	 * without it as there; model/urcu/enter.tpl
	 */
	if (wants_heavy(d))
		lull_fence_heavy();
	take_back_light(d);
	lull_store_relaxed(&d->number, lull__urcu_word(d, d->started));
	lull_store_relaxed(d->ctr, d->number);
}

static void urcu_end(struct urcu_domain *d)
{
	/*
	 * ORDER URCU-2: the words before whatever the caller frees; pairs with URCU-2 in urcu_leave(); without it
	 * as there; model/urcu/exit.tpl (Inlined readers make a light fence and a relaxed store there.)
	 */
#if !defined(__x86_64__) /* whose loads do not come after later stores */
	struct urcu_hold hold;

	lull__urcu_hold_signals(d, &hold);
	if (wants_heavy(d))
		lull_fence_heavy();
	lull__urcu_release_signals(&hold);
#endif
	lull_store_release(&d->completed, d->started); /* RCU-8 */
	count_end(d);
}

static bool urcu_is_over(const struct urcu_domain *d, uint64_t cookie)
{
	return lull_load_acquire(&d->completed) >= cookie; /* RCU-8 */
}

/* ---- waiting for readers --------------------------------------------------------------------------- */

static unsigned blame(void *arg, struct lull_stall *first, unsigned *holders)
{
	const struct holdouts *held = arg;
	unsigned named = held->count < LULL__BLAME_MOST ? held->count : LULL__BLAME_MOST;
	size_t waiting = lull__urcu_waiting(held->domain);

	for (unsigned i = 0; i < named; i++) {
		first[i] = held->named[i];
		first[i].waiting_items = waiting;
		first[i].waiting_bytes = waiting * sizeof(struct rcu_head); /* the heads alone: nobody knows how much a callback frees */
	}
	*holders = held->count;
	return named;
}

/* Blame those that are in the way, and report that if it is time; do not sleep. */
static void tell(struct lull__wait *wait, struct holdouts *held)
{
	uint32_t word = 0;

	lull__wait_sleep(wait, &word, 1, LULL__NEVER, LULL__NEVER, blame, held, NULL);
}

/* Sleep, for a while at most, until a reader has left that this grace period waits for. Returns false: none is in the way. */
static bool sleep_for(struct urcu_domain *d, uint64_t nap_ns, struct lull__wait *wait, struct holdouts *held)
{
	if (!d->futex) {
		tell(wait, held);
		lull__nap(nap_ns);
		return look_at_readers(d, false, held) != 0;
	}
	lull_store_relaxed(d->futex, (uint32_t)-1);
	/*
	 * ORDER URCU-12: the futex before the flags; pairs with URCU-12 in lull__urcu_wake(); without it as there;
	 * model/urcu/flag-stale.litmus
	 */
	lull_fence_full();
	if (look_at_readers(d, true, held) == 0)
		return false;
	/*
	 * ORDER URCU-3: the futex before the second look at the words; pairs with URCU-3 in urcu_leave(); without it
	 * as there; model/urcu/wake.tpl
	 * ORDER URCU-4: the flags before the second look at the words; pairs with URCU-4 in set_word(); without it as
	 * there; model/urcu/flag.tpl
	 */
	if (d->readers == URCU_LIGHT)
		lull_fence_heavy();
	else
		lull_fence_full();
	if (look_at_readers(d, false, held) == 0)
		return false;
	tell(wait, held);
	lull__futex_wait_bits(d->futex, (uint32_t)-1, FUTEX_BITSET_MATCH_ANY, lull__now_ns() + URCU_LOOK_NS, true);
	return look_at_readers(d, false, held) != 0;
}

/* Sleep until the open grace period waits for no thread. Leader only. */
static void urcu_await(struct urcu_domain *d, struct holdouts *held)
{
	uint64_t nap_ns = URCU_NAP_LEAST_NS;
	struct lull__wait wait;

	d->slept = true;
	if (!d->began_ns)
		d->began_ns = lull__now_ns();
	lull__wait_begin(&wait, LULL_WAIT_GP, 0);
	while (sleep_for(d, nap_ns, &wait, held))
		nap_ns = nap_ns * 2 < URCU_NAP_MOST_NS ? nap_ns * 2 : URCU_NAP_MOST_NS;
	if (d->futex)
		lull_store_relaxed(d->futex, 0u);
	lull__wait_end(&wait);
}

/* ---- asking for a grace period ---------------------------------------------------------------------- */

uint64_t lull__urcu_cookie(struct urcu_domain *d)
{
	lull_fence_full(); /* RCU-7 */
	return lull_load_relaxed(&d->started) + 1;
}

/*
 * Begin a grace period, unless one is open, and look at most @looks times, for a few microseconds, in which signals wait:
 * they are held once for all of it. Returns whether it waits for no thread. Leader only.
 */
static bool open_and_look(struct urcu_domain *d, int looks, struct holdouts *held)
{
	struct urcu_hold hold;
	int spins = 0;

	lull__urcu_hold_signals(d, &hold);
	if (d->started == d->completed)
		urcu_begin(d);
	while (urcu_scan(d, false, held) != 0 && ++spins < looks)
		for (int pause = 0; pause <= spins / 8; pause++)
			lull_cpu_relax();
	lull__urcu_release_signals(&hold);
	return held->count == 0;
}

static bool urcu_advance(struct urcu_domain *d)
{
	struct holdouts held;

	if (!open_and_look(d, 1, &held))
		return false;
	urcu_end(d);
	return true;
}

bool lull__urcu_poll(struct urcu_domain *d, uint64_t cookie)
{
	if (urcu_is_over(d, cookie))
		return true;
	lull__urcu_init();
	if (!lull__trylock(&d->leader))
		return false;
	/* The one that was open may have begun before the cookie was taken: then the next one, too. */
	if (!urcu_is_over(d, cookie) && urcu_advance(d) && !urcu_is_over(d, cookie))
		urcu_advance(d);
	lull__unlock_wake(&d->leader, INT_MAX);
	return urcu_is_over(d, cookie);
}

void lull__urcu_synchronize(struct urcu_domain *d)
{
	struct holdouts held;
	uint64_t cookie;

	lull__urcu_init();
	if (urcu_is_needless(d)) {
		take_back_light(d); /* for readers that come */
		return;
	}
	cookie = lull__urcu_cookie(d);
	while (!urcu_is_over(d, cookie)) {
		if (!lull__trylock(&d->leader)) {
			lull__lock_await(&d->leader, LULL__NEVER);
			continue;
		}
		if (!urcu_is_over(d, cookie)) {
			if (!open_and_look(d, URCU_SPINS, &held))
				urcu_await(d, &held);
			urcu_end(d);
		}
		lull__unlock_wake(&d->leader, INT_MAX);
	}
}
