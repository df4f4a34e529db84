/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * backlog.c - how much may wait: floods, lingering readers, large objects, many threads.
 *
 * No test measures a time. A deferral that is held back sleeps, and the kernel counts how often a thread sleeps.
 */
#include <limits.h>

#include <lull/bridge.h>
#include <lull/hazptr.h>

#include "reader.h"

#define MIB ((size_t)1 << 20)

/* Sanitizers and qemu-user run all this some ten times slower, and debug builds keep a table of what is deferred. */
#if UNDER_TSAN || UNDER_ASAN || defined(LULL_TEST_EMULATED)
#define LESS 8
#elif defined(LULL_DEBUG)
#define LESS 4
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

SETUP
{
	lull_hazptr_barrier();
	set_mode(LULL_RECLAIM_THREAD);
	set_stall_ms(0);
	lull_reclaim_reset_peak();
	lull_store_relaxed(&runs, 0);
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

/* How often a bound is tried. A machine may stop for a second the one thread that all others wait for: seldom. */
#define TRIES 5

static size_t peak_of_flood(void)
{
	pthread_t threads[FLOODERS];

	lull_reclaim_reset_peak();
	lull_store_relaxed(&runs, 0);
	for (int i = 0; i < FLOODERS; i++)
		threads[i] = start_thread(floods, NULL);
	for (int i = 0; i < FLOODERS; i++)
		join_thread(threads[i]);
	lull_rcu_barrier();
	assert_int_equal(runs, FLOODERS * FLOOD);
	return counts().peak_items;
}

/* Four threads defer more than one can run. The limit configured at the start is 32 MiB of 256-byte objects. */
TEST(flood_of_calls)
{
	const size_t most = 32 * MIB / sizeof(struct object);
	size_t peak = SIZE_MAX;

	for (int i = 0; i < TRIES && peak > most; i++) {
		peak = peak_of_flood();
		if (peak > most)
			print_message("peak: %zu items\n", peak);
	}
	assert_true(peak <= most);
}

/* A thread that floods may hold a lock that the callbacks take: it is only slower. */
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void free_under_lock(struct lull_head *head)
{
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
	free_object(head);
}

TEST(flood_under_lock)
{
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

static void defers_pure(void)
{
	lull_rcu_call_pure(&new_object()->head, free_object);
}

static void defers_bridge_free(void)
{
	lull_rcu_free_hazptr(new_object());
}

static void defers_bridge_call(void)
{
	lull_rcu_call_hazptr(&new_object()->head, free_object);
}

#define MANY 14000
#define SOFT 4096 /* soft_items at the start */

/* Defer many objects in a thread of its own. Returns how often that slept. */
struct run {
	void (*defer)(void);
	int many;
	bool in_section;
	long slept, slept_again;
	uint64_t grace_periods; /* meanwhile */
};

static void *runs_on(void *arg)
{
	struct run *run = arg;
	long before;

	if (run->in_section)
		lull_rcu_read_lock();
	run->defer();
	before = sleeps();
	for (int i = 1; i < run->many; i++)
		run->defer();
	run->slept = sleeps() - before;
	if (run->in_section)
		lull_rcu_read_unlock();
	return NULL;
}

static long sleeps_while_deferring(void (*defer)(void), int many, bool in_section)
{
	struct run run = { .defer = defer, .many = many, .in_section = in_section };
	pthread_t thread = start_hold_up();

	join_thread(start_thread(runs_on, &run));
	end_hold_up(thread);
	lull_rcu_barrier();
	return run.slept;
}

/*
 * Is a thread not held back that defers so? On a busy machine it may also sleep because another has its turn, but not each
 * time; under valgrind it does.
 */
static bool goes_on(void (*defer)(void), int many, bool in_section)
{
	for (int tries = 0; tries < 10; tries++)
		if (sleeps_while_deferring(defer, many, in_section) < 40)
			return true;
	return under_valgrind();
}

/*
 * Past the soft limit each 64 deferrals are held back for a moment: all kinds that wait for a grace period. A thread that
 * frees what it defers itself is so past twice the limit, and up to there it is not.
 */
TEST(lingering_reader)
{
	static const struct {
		void (*defer)(void);
		int limit;
	} kind[] = { { defers_free, 2 * SOFT },
		     { defers_call, SOFT },
		     { defers_pure, 2 * SOFT },
		     { defers_bridge_free, 2 * SOFT },
		     { defers_bridge_call, SOFT } };

	for (size_t i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
		long past;

		if (!goes_on(kind[i].defer, kind[i].limit, false))
			fail_msg("kind %zu is held back up to the limit", i);
		past = sleeps_while_deferring(kind[i].defer, MANY, false);
		if (past < (MANY - kind[i].limit) / 64 - 8)
			fail_msg("kind %zu slept %ld times past the limit", i, past);
	}
}

static int deferred_enough, reader_has_left;

/* Defer until it is held back, and then as many again when the reader has left. */
static void *runs_past_reader(void *arg)
{
	struct run *run = arg;
	uint64_t number;
	long before;

	for (int i = 0; i < 2 * SOFT + 64; i++)
		lull_rcu_free(new_object());
	before = sleeps();
	for (int i = 0; i < 4 * 64; i++)
		lull_rcu_free(new_object());
	run->slept = sleeps() - before;
	lull_store_release(&deferred_enough, 1);
	await_flag(&reader_has_left, 1);
	before = sleeps();
	number = lull_load_relaxed(&lull__rcu_gp);
	for (int i = 0; i < run->many; i++)
		lull_rcu_free(new_object());
	run->slept_again = sleeps() - before;
	run->grace_periods = (lull_load_relaxed(&lull__rcu_gp) - number) / LULL__RCU_STEP;
	return NULL;
}

#define LOOKS 100 /* at the limits, each with a chance to be held back */

/* A thread is held back for the reader: without one it goes on after one grace period at most, and does not sleep. */
FIRST_TEST(reader_has_left)
{
	struct run run = { .many = LOOKS * 64 };
	struct lull_reclaim_config config;
	bool went_on = false;

	lull_reclaim_default_config(&config);
	config.linger_ms = 1000000; /* nothing is taken for abandoned */
	assert_int_equal(lull_reclaim_configure(&config), 0);
	for (int tries = 0; tries < 10 && !went_on; tries++) {
		pthread_t reader = start_hold_up(), thread;

		deferred_enough = reader_has_left = 0;
		thread = start_thread(runs_past_reader, &run);
		await_flag(&deferred_enough, 1);
		end_hold_up(reader);
		lull_store_release(&reader_has_left, 1);
		join_thread(thread);
		lull_rcu_barrier();
		/* Preempted at a look, a thread finds its time up, and does not sleep. */
		went_on = run.slept >= 3 && run.slept_again < LOOKS / 2 && run.grace_periods < 10 * LOOKS;
		if (!went_on)
			print_message("%ld: %ld sleeps, %lu grace periods\n", run.slept, run.slept_again, (unsigned long)run.grace_periods);
	}
	assert_true(went_on || under_valgrind());
}

/* In a section a deferral cannot wait for anything, nor when the configuration forbids it. */
TEST(not_held_back)
{
	struct lull_reclaim_config config;

	assert_true(goes_on(defers_call, MANY, true));
	assert_true(goes_on(defers_free, MANY, true));
	lull_reclaim_default_config(&config);
	config.soft_wait_us = 0;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	assert_true(goes_on(defers_call, MANY, false));
	assert_true(goes_on(defers_free, MANY, false));
}

/* Past the hard limit, too, and not only said. */
#ifndef LULL_TEST_CORE
TEST(past_hard_limit)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.soft_items = config.hard_items = 2048;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	start_hearing();
	assert_true(sleeps_while_deferring(defers_call, MANY, false) >= (MANY - 2048) / 64 - 8);
	stop_hearing();
	assert_int_equal(heard_lines, 1);
}
#endif

/* ---- limits in bytes -------------------------------------------------------------------------------------------- */

static void defers_4k(void)
{
	lull_rcu_free_sized(malloc(16), 4096);
}

static void defers_6k(void)
{
	lull_rcu_free_sized(malloc(16), 6144);
}

static void set_bytes(size_t soft, size_t hard)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.soft_bytes = soft;
	config.hard_bytes = hard;
	config.linger_ms = 1000000; /* nothing is taken for abandoned */
	assert_int_equal(lull_reclaim_configure(&config), 0);
}

/* Below 4 KiB an object waits for its turn until the limits are looked at: a 16th of a small limit may come late. */
TEST(small_limit)
{
	long slept;

	set_bytes(64 << 10, 0);
	slept = sleeps_while_deferring(defers_4k, 200, false);
	if (slept < (200 - 16) / 6 - 4)
		print_error("%ld sleeps\n", slept);
	assert_true(slept >= (200 - 16) / 6 - 4);
	slept = sleeps_while_deferring(defers_6k, 100, false);
	if (slept < 100 - 11 - 8)
		print_error("%ld sleeps\n", slept);
	assert_true(slept >= 100 - 11 - 8);
}

#ifndef LULL_TEST_CORE
static int counted_late, may_end;

/* Memory that this thread frees in its last turns is in the backlog until it defers once more, which it never does. */
static void *frees_more_than_it_says(void *unused)
{
	pthread_t thread = start_hold_up();

	for (int i = 0; i < SOFT; i++)
		lull_rcu_free_sized(malloc(16), 4000);
	end_hold_up(thread);
	for (int i = 0; i < 64 + 63; i++)
		lull_rcu_free_sized(malloc(16), 4000);
	lull_store_release(&counted_late, 1);
	await_flag(&may_end, 1);
	return unused;
}

static size_t least_heard;

static void hear_count(const char *line)
{
	size_t items;

	if (sscanf(line, "%zu deferred", &items) == 1 && items < lull_load_relaxed(&least_heard))
		lull_store_relaxed(&least_heard, items);
}

static void *comes_and_goes(void *unused)
{
	for (int i = 0; i < 2000 / LESS; i++) {
		for (int j = 0; j < 200; j++)
			lull_rcu_call(&new_object()->head, free_object);
		lull_rcu_barrier();
	}
	return unused;
}

/* The message says what was more than the limit, though others reclaim meanwhile. */
TEST(hard_limit_message)
{
	struct lull_reclaim_config config;
	pthread_t threads[2];

	lull_reclaim_default_config(&config);
	config.soft_items = config.hard_items = 100;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	least_heard = SIZE_MAX;
	lull_debug_set_message_hook(hear_count);
	for (int i = 0; i < 2; i++)
		threads[i] = start_thread(comes_and_goes, NULL);
	for (int i = 0; i < 2; i++)
		join_thread(threads[i]);
	lull_debug_set_message_hook(NULL);
	if (least_heard <= 100)
		print_error("%zu\n", least_heard);
	assert_true(least_heard > 100 && least_heard != SIZE_MAX);
}

/* No message says that nothing waits, more than the limit. */
TEST(hard_limit_is_exact)
{
	pthread_t thread;

	counted_late = may_end = 0;
	set_bytes(0, 0);
	thread = start_thread(frees_more_than_it_says, NULL);
	await_flag(&counted_late, 1);
	lull_rcu_barrier();
	set_bytes(0, 100000);
	start_hearing();
	lull_rcu_free_sized(malloc(16), 7000);
	check_silence();
	stop_hearing();
	lull_store_release(&may_end, 1);
	join_thread(thread);
}
#endif

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

/* Do @threads threads that defer @large let at most @most MiB wait? */
static void check_peak(const struct large *large, int threads, size_t most)
{
	size_t peak = SIZE_MAX;

	for (int i = 0; i < TRIES && peak > most * MIB; i++) {
		peak = peak_of(large, threads);
		if (peak > most * MIB)
			print_message("%d threads, objects of %zu MiB: %zu of %zu MiB wait\n", threads, large->size / MIB,
				      peak / MIB, most);
	}
	assert_true(peak <= most * MIB);
}

/*
 * Past the soft limit of 16 MiB threads reclaim themselves, and are held back. Above it may be what each thread adds
 * between two looks and what is just being freed: on an idle machine at most 20, 30, 30 and 130 MiB. A thread that is
 * preempted while it frees does not hold the others back for long, so a busy machine has several times that.
 * Without a limit it is 500, 2000, 1000 and 1280 MiB.
 */
TEST(large_objects)
{
	static void (*const kinds[])(void *ptr) = { lull_rcu_free, lull_hazptr_retire, lull_rcu_free_hazptr };

	for (size_t i = 0; i < 3; i++) {
		check_peak(&(struct large){ MIB, 500, kinds[i] }, 1, 128);
		check_peak(&(struct large){ MIB, 500, kinds[i] }, 4, 400);
		check_peak(&(struct large){ 10 * MIB, 100, kinds[i] }, 1, 256);
		check_peak(&(struct large){ 64 * MIB, 20, kinds[i] }, 1, 600);
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
TEST(bound_of_retired)
{
	pthread_t threads[RETIRERS];
	size_t bound = 4096 + 3 * 8 * (RETIRERS + 4) + 128 * RETIRERS;

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
