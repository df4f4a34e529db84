/* SPDX-License-Identifier: MIT */
/*
 * test_worker.c - when the reclaimer's thread works: callbacks that trickle in come in batches.
 *
 * What load on the machine does to a test here, it does to both sides of each comparison.
 */
#include <lull/fence.h>

#include "support.h"

static int runs;

static void count_run(struct lull_head *head)
{
	lull_add_relaxed(&runs, 1);
	free(head);
}

static void call(void)
{
	lull_rcu_call(malloc(sizeof(struct lull_head)), count_run);
}

static void await_ns(uint64_t until_ns)
{
	while (now_ns() < until_ns)
		;
}

/* A call every 10 us: no more than 2000 heavy fences a second. */
static void test_fences(void **state)
{
	uint64_t begin_ns, end_ns, fences;

	(void)state;
	call();
	lull_rcu_barrier();
	begin_ns = now_ns();
	fences = lull_fence_heavy_count();
	for (uint64_t i = 1; i <= 30000; i++) {
		call();
		await_ns(begin_ns + i * 10000);
	}
	end_ns = now_ns();
	fences = lull_fence_heavy_count() - fences;
	if (fences * 1000 > (end_ns - begin_ns) / 500 + 20000)
		print_error("%lu fences in %lu us\n", (unsigned long)fences, (unsigned long)(end_ns - begin_ns) / 1000);
	assert_true(fences * 1000 <= (end_ns - begin_ns) / 500 + 20000);
	lull_rcu_barrier();
	assert_int_equal(runs, 30001);
}

/* A call every millisecond need not wake the thread, which looks by itself for a while. */
static void test_wakeups(void **state)
{
	struct lull_reclaim_counts before, after;
	uint64_t begin_ns, last_ns;
	unsigned late = 0;

	(void)state;
	call();
	lull_rcu_barrier();
	lull_reclaim_stats(&before);
	begin_ns = last_ns = now_ns();
	for (uint64_t i = 1; i <= 300; i++) {
		call();
		await_ns(begin_ns + i * 1000000);
		late += now_ns() - last_ns > 2000000; /* this thread was not run, and the other one sleeps by now */
		last_ns = now_ns();
	}
	lull_reclaim_stats(&after);
	if (after.wakeups - before.wakeups > 20 + late)
		print_error("%lu wake-ups, %u late\n", (unsigned long)(after.wakeups - before.wakeups), late);
	assert_true(after.wakeups - before.wakeups <= 20 + late);
	lull_rcu_barrier();
}

/* Then it falls asleep for good. */
static void test_sleeps(void **state)
{
	struct lull_reclaim_counts before, after;

	(void)state;
	call();
	lull_rcu_barrier();
	nap_ms(300);
	lull_reclaim_stats(&before);
	nap_ms(300);
	lull_reclaim_stats(&after);
	assert_int_equal(after.wakeups, before.wakeups);
	assert_int_equal(after.passes, before.passes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fences),
		cmocka_unit_test(test_wakeups),
		cmocka_unit_test(test_sleeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
