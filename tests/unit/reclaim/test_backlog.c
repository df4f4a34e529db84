/* SPDX-License-Identifier: MIT */
/*
 * test_backlog.c - how much may wait: floods, lingering readers, large objects, many threads.
 *
 * No test measures a time. A deferral that is held back sleeps, and the kernel counts how often a thread sleeps.
 */
#include <lull/bridge.h>
#include <lull/hazptr.h>

#include "reader_support.h"

#define MIB ((size_t)1 << 20)

/* ThreadSanitizer runs all this some twenty times slower, and qemu-user too. */
#if UNDER_TSAN || defined(LULL_TEST_EMULATED)
#define LESS 8
#else
#define LESS 1
#endif

struct object {
	struct lull_head head;
	char rest[240];
};

static int runs;

static void free_object(struct lull_head *head)
{
	lull_add_relaxed(&runs, 1);
	free(lull_container_of(head, struct object, head));
}

static struct object *new_object(void)
{
	struct object *object = malloc(sizeof(*object));

	assert_non_null(object);
	return object;
}

static struct lull_reclaim_counts counts(void)
{
	struct lull_reclaim_counts counts;

	lull_reclaim_stats(&counts);
	return counts;
}

/* How often this thread has slept so far. */
static long sleeps(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_nvcsw;
}

static int setup(void **state)
{
	(void)state;
	lull_hazptr_barrier();
	set_mode(LULL_RECLAIM_THREAD);
	set_stall_ms(0);
	lull_reclaim_reset_peak();
	lull_store_relaxed(&runs, 0);
	return 0;
}

/* ---- nobody lingers -------------------------------------------------------------------------------------------- */

#define FLOODERS 4
#define FLOOD	 (400000 / LESS)

static void *floods(void *unused)
{
	for (int i = 0; i < FLOOD; i++)
		lull_rcu_call(&new_object()->head, free_object);
	return unused;
}

/* Four threads defer more than one can run. As configured at the start, 32 MiB of 256-byte objects is the most. */
static void test_flood_of_calls(void **state)
{
	pthread_t threads[FLOODERS];

	(void)state;
	for (int i = 0; i < FLOODERS; i++)
		threads[i] = start_thread(floods, NULL);
	for (int i = 0; i < FLOODERS; i++)
		join_thread(threads[i]);
	lull_rcu_barrier();
	assert_int_equal(runs, FLOODERS * FLOOD);
	if (counts().peak_items > 32 * MIB / sizeof(struct object))
		print_error("peak: %zu items\n", counts().peak_items);
	assert_true(counts().peak_items <= 32 * MIB / sizeof(struct object));
}

/* Who floods may hold a lock that the callbacks take: it is only slower. */
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void free_under_lock(struct lull_head *head)
{
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
	free_object(head);
}

static void test_flood_under_lock(void **state)
{
	(void)state;
	pthread_mutex_lock(&held);
	for (int i = 0; i < 8000; i++)
		lull_rcu_call(&new_object()->head, free_under_lock);
	pthread_mutex_unlock(&held);
	lull_rcu_barrier();
	assert_int_equal(runs, 8000);
}

/* ---- a reader lingers ------------------------------------------------------------------------------------------ */

static void defers_free(void)
{
	lull_rcu_free(new_object());
}

static void defers_call(void)
{
	lull_rcu_call(&new_object()->head, free_object);
}

static void defers_bridge_free(void)
{
	lull_rcu_free_hazptr(new_object());
}

static void defers_bridge_call(void)
{
	lull_rcu_call_hazptr(&new_object()->head, free_object);
}

#define MANY 10000
#define SOFT 4096 /* soft_items at the start */

/* Defer MANY objects in a thread of its own. Returns how often that slept. */
struct run {
	void (*defer)(void);
	bool in_section;
	long slept;
};

static void *runs_on(void *arg)
{
	struct run *run = arg;
	long before;

	if (run->in_section)
		lull_rcu_read_lock();
	run->defer();
	before = sleeps();
	for (int i = 1; i < MANY; i++)
		run->defer();
	run->slept = sleeps() - before;
	if (run->in_section)
		lull_rcu_read_unlock();
	return NULL;
}

static long sleeps_while_deferring(void (*defer)(void), bool in_section)
{
	struct run run = { defer, in_section, 0 };
	pthread_t thread = start_hold_up();

	join_thread(start_thread(runs_on, &run));
	end_hold_up(thread);
	lull_rcu_barrier();
	return run.slept;
}

/* Past the soft limit each 64 deferrals are held back for a moment: all kinds that wait for a grace period. */
static void test_lingering_reader(void **state)
{
	static void (*const kinds[])(void) = { defers_free, defers_call, defers_bridge_free, defers_bridge_call };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		long slept = sleeps_while_deferring(kinds[i], false);

		if (slept < (MANY - SOFT) / 64 - 8)
			print_error("kind %zu slept %ld times\n", i, slept);
		assert_true(slept >= (MANY - SOFT) / 64 - 8);
	}
}

/* In a section a deferral cannot wait for anything, nor when the configuration forbids it. */
static void test_not_held_back(void **state)
{
	struct lull_reclaim_config config;

	(void)state;
	assert_true(sleeps_while_deferring(defers_call, true) < 40);
	assert_true(sleeps_while_deferring(defers_free, true) < 40);
	lull_reclaim_default_config(&config);
	config.soft_wait_us = 0;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	assert_true(sleeps_while_deferring(defers_call, false) < 40);
	assert_true(sleeps_while_deferring(defers_free, false) < 40);
}

/* Past the hard limit, too, and not only said. */
static void test_past_hard_limit(void **state)
{
	struct lull_reclaim_config config;

	(void)state;
	lull_reclaim_default_config(&config);
	config.soft_items = config.hard_items = 2048;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	start_hearing();
	assert_true(sleeps_while_deferring(defers_call, false) >= (MANY - 2048) / 64 - 8);
	stop_hearing();
	assert_int_equal(heard_lines, 1);
}

/* ---- large objects --------------------------------------------------------------------------------------------- */

struct large {
	size_t size;
	int many;
	void (*defer)(void *ptr);
};

static void *defers_large(void *arg)
{
	const struct large *large = arg;

	for (int i = 0; i < large->many; i++) {
		void *ptr = malloc(large->size);

		assert_non_null(ptr);
		large->defer(ptr);
	}
	return NULL;
}

static size_t peak_of(const struct large *large, int threads)
{
	pthread_t thread[FLOODERS];

	lull_hazptr_barrier();
	lull_reclaim_reset_peak();
	for (int i = 0; i < threads; i++)
		thread[i] = start_thread(defers_large, (void *)(uintptr_t)large);
	for (int i = 0; i < threads; i++)
		join_thread(thread[i]);
	lull_hazptr_barrier();
	return counts().peak_bytes;
}

/* The soft limit is 16 MiB; above that may be what each thread adds between two looks, and what is just being freed. */
static void test_large_objects(void **state)
{
	static void (*const kinds[])(void *ptr) = { lull_rcu_free, lull_hazptr_retire, lull_rcu_free_hazptr };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct large mib = { MIB, 500, kinds[i] }, ten = { 10 * MIB, 100, kinds[i] }, huge = { 64 * MIB, 20, kinds[i] };
		size_t one = peak_of(&mib, 1), four = peak_of(&mib, 4), ten_mib = peak_of(&ten, 1), huge_mib = peak_of(&huge, 1);

		if (one > 32 * MIB || four > 64 * MIB || ten_mib > 64 * MIB || huge_mib > 200 * MIB)
			print_error("kind %zu: %zu, %zu, %zu, %zu MiB\n", i, one / MIB, four / MIB, ten_mib / MIB, huge_mib / MIB);
		assert_true(one <= 32 * MIB);
		assert_true(four <= 64 * MIB);
		assert_true(ten_mib <= 64 * MIB);
		assert_true(huge_mib <= 200 * MIB);
	}
}

/* ---- the bound of hazptr.h ----------------------------------------------------------------------------------------- */

#define RETIRERS 64
#define RETIRED	 (20000 / LESS)

static int retirers_ready;

static void *retires(void *unused)
{
	lull_add_release(&retirers_ready, 1);
	await_flag(&retirers_ready, RETIRERS);
	for (int i = 0; i < RETIRED; i++)
		lull_hazptr_retire(malloc(64));
	return unused;
}

/* One bound for the process, whatever the number of threads: 4096 + 3 for each slot + 128 for each thread. */
static void test_bound_of_retired(void **state)
{
	pthread_t threads[RETIRERS];
	size_t bound = 4096 + 3 * 8 * (RETIRERS + 4) + 128 * RETIRERS;

	(void)state;
	for (int i = 0; i < RETIRERS; i++)
		threads[i] = start_thread(retires, NULL);
	for (int i = 0; i < RETIRERS; i++)
		join_thread(threads[i]);
	if (counts().peak_items > bound)
		print_error("peak: %zu, bound %zu\n", counts().peak_items, bound);
	assert_true(counts().peak_items <= bound);
	lull_hazptr_barrier();
	assert_int_equal(waiting(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_flood_of_calls, setup),
		cmocka_unit_test_setup(test_flood_under_lock, setup),
		cmocka_unit_test_setup(test_lingering_reader, setup),
		cmocka_unit_test_setup(test_not_held_back, setup),
#ifndef LULL_TEST_CORE
		cmocka_unit_test_setup(test_past_hard_limit, setup),
#endif
		cmocka_unit_test_setup(test_large_objects, setup),
		cmocka_unit_test_setup(test_bound_of_retired, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
