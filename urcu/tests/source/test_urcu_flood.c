/* SPDX-License-Identifier: MIT */
/*
 * test_urcu_flood.c - a flood of call_rcu(): how much may wait before the caller is held back.
 */
#include "reader.h"

#include <sys/resource.h>

#include <urcu-bp.h>

#include <lull/detail/ground.h>
#include <lull/reclaim.h>

static int called;

static void callback(struct rcu_head *head)
{
	(void)head;
	lull_add_release(&called, 1);
}

static struct rcu_head flood_heads[70000];

/* Return how often the calling thread sleeps in calls from @first to @last. */
static long sleeps_of_flood(int first, int last)
{
	struct rusage before_it, after_it;

	getrusage(RUSAGE_THREAD, &before_it);
	for (int i = first; i < last; i++)
		call_rcu(&flood_heads[i], callback);
	getrusage(RUSAGE_THREAD, &after_it);
	return after_it.ru_nvcsw - before_it.ru_nvcsw;
}

/* While a reader stays. Held back by lull's own limit, the first 60,000 would sleep some 900 times. */
static void flood(void)
{
	pthread_t reader = start_hold_up();

	called = 0;
	must(sleeps_of_flood(0, 60000) < 300);
	must(sleeps_of_flood(60000, 70000) >= 30);
	end_hold_up(reader);
	rcu_barrier();
	must(called == 70000);
}

/* The program's own limit stays, when a library beside it loads liblull-urcu later. */
static void flood_past_own_limit(void)
{
	struct lull_reclaim_config config;
	pthread_t reader;

	lull_reclaim_default_config(&config);
	config.soft_items = 128;
	must(lull_reclaim_configure(&config) == 0);
	lull__ground.soft_items(65536);
	reader = start_hold_up();
	must(sleeps_of_flood(0, 2000) >= 10);
	end_hold_up(reader);
	rcu_barrier();
}

/* In processes of their own, where no worker runs callbacks. */
TEST(flood)
{
	NEEDS_THREADS_IN_CHILD();
	if (under_valgrind())
		SKIP("valgrind runs one thread at a time, and each sleeps for the others");
	expect_fine(flood);
	expect_fine(flood_past_own_limit);
}
