/* SPDX-License-Identifier: MIT */
/*
 * stats_exact.c - what has been deferred, reclaimed and waits, on the page of stats.h and in
 * lull_reclaim_stats(): exact when a barrier has returned, whatever thread deferred, in each mode, and in a child.
 */
#include <lull/bridge.h>

#include "watch/page.h"

/* The page has the same numbers as lull_reclaim_stats(); all of them, since each may be forgotten on its own. */
static bool same_numbers(void)
{
	const struct lull_stats_page *page = lull_stats_page();
	struct lull_reclaim_counts stats;

	lull_reclaim_stats(&stats);
	return stats.items == lull_load_relaxed(&page->waiting_items) &&
	       stats.bytes == lull_load_relaxed(&page->waiting_bytes) &&
	       stats.peak_items == lull_load_relaxed(&page->peak_items) &&
	       stats.peak_bytes == lull_load_relaxed(&page->peak_bytes) &&
	       stats.total_items == lull_load_relaxed(&page->queued_items) &&
	       stats.passes == lull_load_relaxed(&page->passes) && stats.wakeups == lull_load_relaxed(&page->wakeups);
}

#define THREADS 12
#define ROUNDS	5
#define KINDS	6
#define BYTES	40

struct counts {
	uint64_t queued, queued_bytes, done, done_bytes, waiting, waiting_bytes;
	uint64_t total; /* of lull_reclaim_stats() */
};

static struct counts now(void)
{
	struct lull_reclaim_counts stats;
	struct counts counts;

	lull_reclaim_stats(&stats);
	counts.queued = READ(queued_items);
	counts.queued_bytes = READ(queued_bytes);
	counts.done = READ(done_items);
	counts.done_bytes = READ(done_bytes);
	counts.waiting = READ(waiting_items);
	counts.waiting_bytes = READ(waiting_bytes);
	counts.total = stats.total_items;
	return counts;
}

static int runs;

static void count_run(struct lull_head *head)
{
	free(head);
	lull_add_relaxed(&runs, 1);
}

/* Defer @n objects of each kind. */
static void defer(int n)
{
	for (int i = 0; i < n; i++) {
		lull_rcu_call_sized((struct lull_head *)malloc(BYTES), count_run, BYTES);
		lull_rcu_free_sized(malloc(BYTES), BYTES);
		lull_hazptr_call_sized((struct lull_head *)malloc(BYTES), count_run, BYTES);
		lull_hazptr_retire_sized(malloc(BYTES), BYTES);
		lull_rcu_call_hazptr_sized((struct lull_head *)malloc(BYTES), count_run, BYTES);
		lull_rcu_call_sized((struct lull_head *)malloc(BYTES), count_run, BYTES);
	}
}

static void *defers(void *n)
{
	defer(*(int *)n);
	return NULL;
}

/* Threads that come, defer a few or many objects, and go; and this thread, which stays. Returns how many objects. */
static uint64_t serve(void)
{
	int each[THREADS], all = 0;
	pthread_t thread[THREADS];

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < THREADS; i++) {
			each[i] = i % 4 == 0 ? 70 + i : i;
			thread[i] = start_thread(defers, &each[i]);
			all += each[i];
		}
		defer(3);
		all += 3;
		for (int i = 0; i < THREADS; i++)
			join_thread(thread[i]);
	}
	return (uint64_t)all * KINDS;
}

/* @all objects more have been deferred, and are gone. */
static void check_served(const struct counts *before, uint64_t all)
{
	struct counts after = now();

	EQUAL(after.queued - before->queued, all);
	EQUAL(after.done - before->done, all);
	EQUAL(after.total - before->total, all);
	EQUAL(after.queued_bytes - before->queued_bytes, all * BYTES);
	EQUAL(after.done_bytes - before->done_bytes, all * BYTES);
	EQUAL(after.waiting, 0);
	EQUAL(after.waiting_bytes, 0);
}

static const struct counts none;

/* In processes of their own, as all tests here: others' leftovers do not count. */
TEST(exact)
{
	static const enum lull_reclaim_mode modes[] = { LULL_RECLAIM_THREAD, LULL_RECLAIM_CALLER, LULL_RECLAIM_POLL };

	NEEDS_THREADS_IN_CHILD();
	for (int i = 0; i < 3; i++)
		EXPECT_FINE {
			struct counts before;
			uint64_t all;

			set_mode(modes[i]);
			lull_hazptr_barrier();
			before = now();
			all = serve();
			lull_hazptr_barrier();
			check_served(&before, all);
			EQUAL((uint64_t)runs, all / KINDS * 4);
		}
}

TEST(poll)
{
	/* A poll that has reclaimed everything says so, too. */
	EXPECT_FINE {
		set_mode(LULL_RECLAIM_POLL);
		defer(20);
		while (runs < 20 * 4 || waiting())
			lull_reclaim_poll(33, 0);
		check_served(&none, 20 * KINDS);
	}
}

TEST(same_numbers)
{
	/* After each barrier, pass and poll, while something waits and while nothing does. */
	EXPECT_FINE {
		set_mode(LULL_RECLAIM_POLL);
		for (int i = 1; i < 100; i++) {
			lull_rcu_read_lock();
			defer(i % 7);
			lull_rcu_read_unlock();
			if (i % 3)
				lull_reclaim_poll((size_t)i, 0);
			else
				lull_hazptr_barrier();
			must(same_numbers());
			if (i == 50)
				lull_reclaim_reset_peak();
		}
		lull_hazptr_barrier();
		must(same_numbers());
	}
	NEEDS_THREADS_IN_CHILD();
	/* The background thread may be about to count a pass or a time that it was woken: then, when it has. */
	EXPECT_FINE {
		struct lull_reclaim_counts stats;

		alarm(60);
		do {
			serve();
			lull_hazptr_barrier();
			AWAIT(same_numbers());
			lull_reclaim_stats(&stats);
		} while (!stats.passes || !stats.wakeups);
	}
}

TEST(server)
{
	NEEDS_THREADS_IN_CHILD();
	/* A server makes no barrier: when all its callbacks have run, the page knows that soon. */
	EXPECT_FINE {
		uint64_t all = serve();

		alarm(60);
		AWAIT(lull_load_relaxed(&lull_stats_page()->done_items) >= all);
		check_served(&none, all);
	}
}

static void parent(void)
{
	pthread_t reader;
	uint64_t was;

	set_stall_ms(0); /* under valgrind a fork may take longer than a stall */
	defer(300); /* the parent's alone */
	lull_hazptr_barrier();
	reader = start_holder(in_section, NULL);
	defer(100);
	was = now().total;
	/* A child's page begins with what waits: that is the child's to reclaim. */
	EXPECT_FINE {
		struct lull_reclaim_counts stats;
		struct counts before;
		uint64_t all;

		alarm(100);
		lull_reclaim_stats(&stats);
		EQUAL(stats.peak_items, stats.items); /* the parent's peak was higher */
		EQUAL(stats.peak_bytes, stats.bytes);
		EQUAL(stats.total_items, stats.items);
		EQUAL(stats.passes, 0);
		EQUAL(stats.wakeups, 0);
		runs = 0;
		lull_hazptr_barrier();
		AWAIT(same_numbers());
		before = now();
		EQUAL(before.queued_bytes, stats.bytes);
		EQUAL(before.queued, stats.items);
		EQUAL(before.done, stats.items);
		EQUAL(before.waiting, 0);
		all = serve();
		lull_hazptr_barrier();
		check_served(&before, all);
	}
	EQUAL(now().total, was);
	let_go();
	join_thread(reader);
	lull_hazptr_barrier();
	EQUAL(now().queued, 400 * KINDS);
	EQUAL(now().done, 400 * KINDS);
}

TEST(child)
{
	NEEDS_THREADS_IN_CHILD();
	expect_fine(parent);
}
