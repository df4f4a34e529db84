/* SPDX-License-Identifier: MIT */
/*
 * stats_events.c - the page of stats.h, field by field: what one event of each kind changes. The cases that count
 * to the number run in a child, whose page begins with zeros and whose events are all its own.
 */
#include <sys/syscall.h>

#include <lull/mutex.h>

#include "watch/page.h"

/* ---- places --------------------------------------------------------------------------------------- */

static struct lull_head head;

static void *calls(void *unused)
{
	lull_rcu_call(&head, sleepy_callback);
	await_flag(&inside, 1);
	return unused;
}

/* How many places are taken, by waits of @kind: no others are going on. */
static int places_taken(enum lull_wait_kind kind)
{
	int count = 0;

	for (unsigned i = 0; i < LULL_STATS_WAITS; i++) {
		uint32_t shown = READ(waits[i].kind);

		must(shown == LULL_WAIT_NONE || shown == (uint32_t)kind);
		count += shown != LULL_WAIT_NONE;
	}
	return count;
}

static void await_places(enum lull_wait_kind kind, int count)
{
	AWAIT(places_taken(kind) == count);
}

static const struct lull_stats_wait *place_taken(void)
{
	for (unsigned i = 0; i < LULL_STATS_WAITS; i++)
		if (READ(waits[i].kind) != LULL_WAIT_NONE)
			return &lull_stats_page()->waits[i];
	must(!"a place is taken");
	return NULL;
}

/* One wait: it is on the page with its kind, its waiter and its holder, and then it is gone. */
static void wait_once(enum lull_wait_kind kind, void *(*hold)(void *), void (*wait)(void))
{
	const struct lull_stats_wait *shown;
	uint64_t began_ns = now_ns();
	pthread_t holder, waiter = pthread_self();

	lull_store_release(&inside, 0);
	lull_store_release(&leave, 0);
	holder = start_holder(hold, NULL);
	if (wait)
		waiter = start_waiter(wait);
	await_places(kind, 1);
	shown = place_taken();
	/* Written later, in any order. */
	AWAIT(lull_load_relaxed(&shown->tid) == holder_tid && lull_load_relaxed(&shown->holders) == 1);
	EQUAL(lull_load_relaxed(&shown->waiter_tid), wait ? lull_load_relaxed(&waiter_tid) : 0);
	must(lull_load_relaxed(&shown->since_ns) >= began_ns && lull_load_relaxed(&shown->since_ns) <= now_ns());
	EQUAL(lull_load_relaxed(&shown->depth), kind == LULL_WAIT_GP || kind == LULL_WAIT_SHAZPTR);
	if (kind == LULL_WAIT_CALLBACK)
		EQUAL(lull_load_relaxed(&shown->site), (uintptr_t)sleepy_callback);
	let_go();
	join_thread(holder);
	if (wait)
		join_thread(waiter);
	await_places(kind, 0);
}

TEST(places)
{
	NEEDS_THREADS_IN_CHILD();
	/* Wait as often as would use all places up if none came back; and the last wait is shown like the first. */
	EXPECT_FINE {
		alarm(100);
		report_to(count_stall, NULL, 20); /* callbacks are shown when they have lasted half as long */
		for (unsigned i = 0; i <= LULL_STATS_WAITS; i++) {
			for (const struct held_up *h = held_up; h->what != LULL_WAIT_HAZPTR_BARRIER; h++)
				wait_once(h->what, h->holds, h->wait);
			wait_once(LULL_WAIT_CALLBACK, calls, NULL);
			lull_rcu_barrier();
		}
	}
	EXPECT_FINE {
		alarm(100);
		lull_debug_set_stall_hook(count_stall, NULL);
		for (unsigned i = 0; i <= LULL_STATS_WAITS; i++)
			wait_once(LULL_WAIT_HAZPTR_BARRIER, with_retired, hazptr_barrier);
	}
}

/* ---- grace periods --------------------------------------------------------------------------------- */

#define LONG_MS 50

TEST(histogram)
{
	/* One in eight is timed, and counts for eight. The sum fits the buckets, and so does the longest. */
	EXPECT_FINE {
		uint64_t least = 0, most = 0, longest = 0, fences = lull_fence_heavy_count();

		for (int i = 0; i < 80; i++)
			lull_rcu_gp_wait(lull_rcu_gp_start());
		EQUAL(READ(gp_started), 80);
		EQUAL(READ(gp_ended), 80);
		EQUAL(in_histogram(), 80);
		for (unsigned i = 0; i < LULL_STATS_BUCKETS; i++) {
			uint64_t n = READ(gp_ns[i]);

			EQUAL(n % 8, 0);
			least += n * (i ? UINT64_C(1) << i : 0);
			most += n * ((UINT64_C(2) << i) - 1);
			longest = n ? i : longest;
		}
		must(READ(gp_ns_sum) >= least && READ(gp_ns_sum) <= most);
		EQUAL(READ(gp_ns_sum) % 8, 0);
		must(READ(gp_ns_max) >= (longest ? UINT64_C(1) << longest : 0) && READ(gp_ns_max) < UINT64_C(2) << longest);
		EQUAL(READ(heavy_fences), lull_fence_heavy_count() - fences);
	}
	NEEDS_THREADS_IN_CHILD();
	/* One for which a thread sleeps is timed and counts once, from the time at which it went to sleep. */
	EXPECT_FINE {
		pthread_t reader, waiter;
		uint64_t ended, counted;
		unsigned bucket = 0;

		reader = start_holder(in_section, NULL);
		ended = READ(gp_ended);
		counted = in_histogram();
		waiter = start_waiter(lull_rcu_synchronize);
		await_places(LULL_WAIT_GP, 1);
		nap_ms(LONG_MS);
		let_go();
		join_thread(waiter);
		join_thread(reader);
		EQUAL(READ(gp_ended), ended + 1);
		EQUAL(in_histogram(), counted + 1);
		while (UINT64_C(2) << bucket <= READ(gp_ns_max))
			bucket++;
		must(READ(gp_ns_max) >= LONG_MS * UINT64_C(1000000));
		EQUAL(READ(gp_ns[bucket]), 1);
		must(READ(gp_ns_sum) >= READ(gp_ns_max));
	}
}

/* ---- limits ---------------------------------------------------------------------------------------- */

TEST(limits)
{
	EXPECT_FINE {
		struct lull_reclaim_config config;

		lull_reclaim_default_config(&config);
		config.hard_items = 54321;
		config.hard_bytes = 98765432;
		must(lull_reclaim_configure(&config) == 0);
		EQUAL(READ(hard_items), 54321);
		EQUAL(READ(hard_bytes), 98765432);
		config.soft_items = config.soft_bytes = config.hard_items = config.hard_bytes = 0;
		must(lull_reclaim_configure(&config) == 0);
		EQUAL(READ(hard_items), 0);
		EQUAL(READ(hard_bytes), 0);
	}
}

/* ---- hazard pointers -------------------------------------------------------------------------------- */

#define KEPT	3
#define RETIRED 5

TEST(slots)
{
	/* Three of five retired objects are protected: so says the last scan, and so do those before and after. */
	EXPECT_FINE {
		struct lull_hazptr_hold hold[KEPT];
		void *ptr[RETIRED];
		uint64_t scans;

		set_mode(LULL_RECLAIM_POLL);
		for (int i = 0; i < RETIRED; i++) {
			ptr[i] = malloc(16);
			if (i < KEPT)
				lull_hazptr_acquire(&hold[i], &ptr[i]);
		}
		EQUAL(READ(scans), 0);
		for (int i = 0; i < RETIRED; i++)
			lull_hazptr_retire(ptr[i]);
		lull_reclaim_poll(SIZE_MAX, 0);
		scans = READ(scans);
		must(scans >= 1);
		EQUAL(READ(slots_in_use), KEPT);
		EQUAL(READ(kept), KEPT);
		for (int i = KEPT; i > 0; i--)
			lull_hazptr_release(&hold[i - 1], ptr[i - 1]);
		while (waiting())
			lull_reclaim_poll(SIZE_MAX, 0);
		must(READ(scans) > scans);
		EQUAL(READ(kept), 0);
		EQUAL(READ(shazptr_scans), 0);
	}
	NEEDS_THREADS_IN_CHILD();
	/* Scans for simple ones are counted apart. */
	EXPECT_FINE {
		alarm(60);
		wait_once(LULL_WAIT_SHAZPTR, with_simple_slot, shazptr_synchronize);
		must(lull_shazptr_scan_count() > 0);
		EQUAL(READ(shazptr_scans), lull_shazptr_scan_count());
		EQUAL(READ(scans), 0);
	}
}

/* ---- locks ------------------------------------------------------------------------------------------- */

static struct lull_mutex lock;

static void *locks(void *unused)
{
	lull_mutex_lock(&lock);
	lull_mutex_unlock(&lock);
	return unused;
}

TEST(mutex_sleeps)
{
	NEEDS_THREADS_IN_CHILD();
	/* A lock for which a thread sleeps counts once, and one that is free does not. */
	EXPECT_FINE {
		alarm(60);
		for (uint64_t n = 0; n < 3; n++) {
			pthread_t waiter;

			lull_mutex_lock(&lock);
			waiter = start_thread(locks, NULL);
			AWAIT(READ(mutex_sleeps) != n);
			nap_ms(5);
			lull_mutex_unlock(&lock);
			join_thread(waiter);
			EQUAL(READ(mutex_sleeps), n + 1);
		}
		for (int i = 0; i < 100; i++)
			locks(NULL);
		EQUAL(READ(mutex_sleeps), 3);
	}
}

/* ---- stalls ------------------------------------------------------------------------------------------ */

static struct lull_stall last;

static void note_stall(const struct lull_stall *stall, void *arg)
{
	last = *stall;
	count_stall(stall, arg);
}

/* Wait for a reader until the page counts @enough stalls. */
static void wait_until_stalls(uint64_t enough)
{
	pthread_t reader, waiter;

	inside = leave = 0;
	lull_debug_set_stall_ms(10);
	reader = start_holder(in_section, NULL);
	waiter = start_waiter(lull_rcu_synchronize);
	AWAIT(READ(stalls) >= enough);
	let_go();
	join_thread(waiter);
	join_thread(reader);
}

TEST(stalls)
{
	NEEDS_THREADS_IN_CHILD();
	/* Each report counts, also one of the limit, and one whose line gets lost. */
	EXPECT_FINE {
		struct lull_reclaim_config config;
		uint64_t counted;

		alarm(60);
		lull_debug_set_stall_hook(note_stall, NULL);
		EQUAL(READ(stalls), 0);
		wait_until_stalls(3);
		EQUAL(READ(stalls), (unsigned)stalls);
		lull_debug_set_stall_ms(0);
		lull_reclaim_default_config(&config);
		config.soft_items = config.hard_items = 100;
		must(lull_reclaim_configure(&config) == 0);
		counted = READ(stalls);
		lull_rcu_read_lock();
		for (int i = 0; i < 300; i++)
			lull_rcu_free(malloc(10));
		lull_rcu_read_unlock();
		EQUAL(READ(stalls), counted + 1);
		EQUAL(READ(stalls), (unsigned)stalls);
		must(last.what == LULL_WAIT_LIMIT && last.tid == (uint32_t)gettid());
		must(last.waiting_items > 100 && last.waiting_items <= 100 + 64);
		lull_debug_set_stall_hook(NULL, NULL);
		close(2); /* its lines are not read */
		wait_until_stalls(READ(stalls) + 1);
	}
}
