/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * config.c - reclaim.h to the number: what is configured at the start, what is refused, limits and no
 * limits, how much a poll reclaims, how long a drain waits, what the peaks are, how deep a barrier looks.
 */
#include <errno.h>

#include <lull/bridge.h>
#include <lull/hazptr.h>
#include <lull/stats.h>

#include "reader.h"

static int runs;

static void count_run(struct lull_head *head)
{
	lull_add_release(&runs, 1);
	free(head);
}

static struct lull_head *new_head(void)
{
	struct lull_head *head = malloc(sizeof(*head));

	assert_non_null(head);
	return head;
}

static struct lull_reclaim_counts counts(void)
{
	struct lull_reclaim_counts counts;

	lull_reclaim_stats(&counts);
	return counts;
}

SETUP
{
	lull_hazptr_barrier();
	set_mode(LULL_RECLAIM_THREAD);
	set_stall_ms(0);
	lull_store_relaxed(&runs, 0);
	alarm(100);
}

#define SLACK 64 /* of counts that are not exact: per thread and kind of deferral */

/* ---- the configuration ------------------------------------------------------------------------- */

TEST(default_config)
{
	struct lull_reclaim_config config;

	memset(&config, 0x5a, sizeof(config));
	lull_reclaim_default_config(&config);
	assert_int_equal(config.mode, LULL_RECLAIM_THREAD);
	assert_int_equal(config.on_hard, LULL_RECLAIM_TELL);
	assert_int_equal(config.soft_items, 4096);
	assert_int_equal(config.soft_bytes, 16 << 20);
	assert_int_equal(config.hard_items, 1000000);
	assert_int_equal(config.hard_bytes, 1 << 30);
	assert_int_equal(config.linger_ms, 10);
	assert_int_equal(config.soft_wait_us, 2000);
	assert_null(config.notify);
	assert_null(config.notify_arg);
	assert_int_equal(config.stack_bytes, 0);
	assert_null(config.thread_start);
	assert_int_equal(config.idle_ms, 2000);
}

/* A configuration that is refused, whatever else is wanted with it, changes neither the mode nor a limit. */
static void refuse(struct lull_reclaim_config bad)
{
	bad.mode = bad.mode > LULL_RECLAIM_CALLER ? bad.mode : LULL_RECLAIM_POLL;
	assert_int_equal(lull_reclaim_configure(&bad), -EINVAL);
	assert_int_equal(lull_stats_page()->hard_items, 1000000);
	assert_int_equal(lull_stats_page()->hard_bytes, 1 << 30);
	lull_store_relaxed(&runs, 0);
	lull_rcu_call(new_head(), count_run);
	await_flag(&runs, 1); /* no thread polls */
}

TEST(refused)
{
	struct lull_reclaim_config good, bad;

	lull_reclaim_default_config(&good);
	good.hard_items = 20000;
	good.hard_bytes = (size_t)2 << 30;
	bad = good;
	bad.mode = (enum lull_reclaim_mode)(LULL_RECLAIM_CALLER + 1);
	refuse(bad);
	bad = good;
	bad.on_hard = (enum lull_reclaim_hard)(LULL_RECLAIM_HELP + 1);
	refuse(bad);
	bad = good;
	bad.linger_ms = 0;
	refuse(bad);
	bad = good;
	bad.soft_wait_us = 1000001;
	refuse(bad);
	bad = good;
	bad.hard_items = bad.soft_items - 1;
	refuse(bad);
	bad = good;
	bad.hard_bytes = bad.soft_bytes - 1;
	refuse(bad);

	/* A value at a limit is taken, and no limit is below none. */
	good.soft_wait_us = 1000000;
	good.linger_ms = 1;
	good.hard_items = good.soft_items;
	good.hard_bytes = good.soft_bytes;
	assert_int_equal(lull_reclaim_configure(&good), 0);
	assert_int_equal(lull_stats_page()->hard_items, good.soft_items);
	assert_int_equal(lull_stats_page()->hard_bytes, good.soft_bytes);
	good.hard_items = good.hard_bytes = 0;
	assert_int_equal(lull_reclaim_configure(&good), 0);
	assert_int_equal(lull_stats_page()->hard_items, 0);
	assert_int_equal(lull_stats_page()->hard_bytes, 0);
}

static void configures(struct lull_head *head)
{
	(void)head;
	set_mode(LULL_RECLAIM_POLL);
}

static void drains(struct lull_head *head)
{
	(void)head;
	lull_reclaim_drain(0);
}

static void (*bad_callback)(struct lull_head *head);

static void calls_back(void)
{
	lull_rcu_call(new_head(), bad_callback);
	nap_ms(60000);
}

TEST(misuse)
{
	EXPECT_MISUSE("lull_reclaim_drain in a read section would wait for itself for ever; section " "entered at *") {
		lull_rcu_read_lock();
		lull_reclaim_drain(0);
	}
	NEEDS_THREADS_IN_CHILD();
	bad_callback = configures;
	expect_abort(calls_back, "lull: lull_reclaim_configure in a callback\n");
	bad_callback = drains;
	expect_abort(calls_back, "lull: lull_reclaim_drain in a callback would wait for itself for ever\n");
}

/* ---- limits ------------------------------------------------------------------------------------- */

#define MIB ((size_t)1 << 20)
#define PIECE (MIB / 16 + 1) /* just more than a 16th of the soft limit: each is a reason to look */

/* Silent at the limit, and one line past it, with what waits: it is told once, whatever comes behind. */
TEST(hard_bytes)
{
	struct lull_reclaim_config config;
	pthread_t reader;

	lull_reclaim_default_config(&config);
	config.soft_bytes = MIB;
	config.hard_bytes = 30 * PIECE;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	lull_rcu_free_sized(malloc(16), 2 * PIECE); /* the next look comes after so much from here on */
	lull_rcu_barrier();
	reader = start_hold_up();
	start_hearing();
	lull_rcu_read_lock(); /* else it would wait for a moment at each */
	for (int i = 0; i < 30; i++)
		lull_rcu_free_sized(malloc(16), PIECE);
	check_silence();
	lull_rcu_free_sized(malloc(16), PIECE);
	assert_int_equal(heard_lines, 1);
	assert_int_equal(fnmatch("31 deferred objects (2031647 bytes) wait, more than the hard limit; thread \"*\" (tid [0-9]*) "
				 "defers more", heard, 0), 0);
	for (int i = 0; i < 100; i++)
		lull_rcu_free_sized(malloc(16), PIECE);
	assert_int_equal(heard_lines, 1);
	lull_rcu_read_unlock();
	stop_hearing();
	end_hold_up(reader);
}

#define ALONE (MIB / 16) /* just as much as a 16th of the limit below: each is a reason to look */

static int have_deferred, may_end;

/* Less than a reason to look; the thread stays, so nobody adds it. */
static void *defers_a_part(void *unused)
{
	lull_rcu_free_sized(malloc(16), ALONE * 9 / 10);
	lull_add_release(&have_deferred, 1);
	await_flag(&may_end, 1);
	return unused;
}

/* A hard limit of bytes alone: threads look at it as often as at a soft one, and count what others have not added yet. */
TEST(hard_bytes_alone)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.soft_bytes = config.soft_items = config.hard_items = 0;
	config.hard_bytes = 16 * (ALONE - 1);
	assert_int_equal(lull_reclaim_configure(&config), 0);
	lull_rcu_free_sized(malloc(16), ALONE); /* the next look comes after so much from here on */
	lull_rcu_barrier();
	for (int others = 0; others <= 2; others += 2) {
		pthread_t reader = start_hold_up(), threads[2];
		int silent = others ? 14 : 15;

		have_deferred = may_end = 0;
		for (int i = 0; i < others; i++)
			threads[i] = start_thread(defers_a_part, NULL);
		await_flag(&have_deferred, others);
		start_hearing();
		lull_rcu_read_lock();
		for (int i = 0; i < silent; i++)
			lull_rcu_free_sized(malloc(16), ALONE);
		check_silence();
		lull_rcu_free_sized(malloc(16), ALONE);
		assert_int_equal(heard_lines, 1);
		lull_rcu_read_unlock();
		stop_hearing();
		end_hold_up(reader);
		lull_store_release(&may_end, 1);
		for (int i = 0; i < others; i++)
			join_thread(threads[i]);
		lull_rcu_barrier();
	}
}

/* Sizes beyond 32 bits are counted as they are, by whichever way an entry comes to its queue. */
TEST(beyond_32_bits)
{
	const size_t bytes = ((size_t)1 << 32) + 5;
	struct lull_reclaim_config config;
	size_t before = counts().bytes;
	pthread_t reader;

	lull_reclaim_default_config(&config);
	config.soft_items = config.soft_bytes = config.hard_items = config.hard_bytes = 0;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	reader = start_hold_up();
	for (int i = 0; i < 300; i++) {
		lull_rcu_free_sized(malloc(16), bytes);
		lull_rcu_free_sized(malloc(16), 16);
	}
	assert_true(counts().bytes == before + 300 * (bytes + 16));
	end_hold_up(reader);
	lull_hazptr_barrier();
	assert_true(counts().bytes == 0);
}

static pthread_t deferrer;
static int runs_here;

static void note_where(struct lull_head *head)
{
	if (pthread_equal(pthread_self(), deferrer))
		lull_add_relaxed(&runs_here, 1);
	count_run(head);
}

#define FLOOD	   3000
#define HELP_ITEMS 500

/*
 * Where nothing else holds it back, a thread that helps runs its callbacks itself, from the hard limit on, and no line
 * tells. In a section it cannot help, and a line does.
 */
TEST(help)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.on_hard = LULL_RECLAIM_HELP;
	config.soft_items = config.hard_items = HELP_ITEMS;
	config.soft_wait_us = 0;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	deferrer = pthread_self();
	runs_here = 0;
	start_hearing();
	/* The background thread may be faster for once. */
	do {
		lull_reclaim_reset_peak();
		for (int i = 0; i < FLOOD; i++)
			lull_rcu_call(new_head(), note_where);
		assert_in_range(counts().peak_items, 1, HELP_ITEMS + 2 * SLACK);
	} while (!lull_load_relaxed(&runs_here));
	check_silence();
	lull_rcu_barrier();
	runs_here = 0;
	lull_rcu_read_lock();
	for (int i = 0; i < FLOOD; i++)
		lull_rcu_call(new_head(), note_where);
	assert_int_equal(runs_here, 0);
	lull_rcu_read_unlock();
	stop_hearing();
	assert_int_equal(heard_lines, 1);
}

static int is_reading;

static void *reads_for_a_while(void *unused)
{
	lull_rcu_read_lock();
	lull_store_release(&is_reading, 1);
	nap_ms(50);
	lull_rcu_read_unlock();
	return unused;
}

/* It looks into the queues of others only if what it has itself is not all that is over the limit. */
TEST(help_with_own_alone)
{
	struct lull_reclaim_config config;
	struct lull_reclaim_counts before, after;

	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	config.on_hard = LULL_RECLAIM_HELP;
	config.soft_items = config.hard_items = HELP_ITEMS;
	config.soft_wait_us = 0;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	deferrer = pthread_self();
	runs_here = 0;
	lull_reclaim_stats(&before);
	for (int i = 0; i < FLOOD; i++)
		lull_rcu_call(new_head(), note_where);
	lull_reclaim_stats(&after);
	assert_in_range(runs_here, FLOOD - HELP_ITEMS - 2 * SLACK, FLOOD);
	assert_int_equal(after.passes, before.passes);
	/* It waits for the readers that hold up what it has. */
	lull_rcu_barrier();
	lull_reclaim_stats(&before);
	for (int n = 0; n < 3; n++) {
		pthread_t reader = start_thread(reads_for_a_while, NULL);

		await_flag(&is_reading, 1);
		for (int i = 0; i < HELP_ITEMS + 2 * SLACK; i++)
			lull_rcu_call(new_head(), note_where);
		join_thread(reader);
		is_reading = 0;
	}
	lull_reclaim_stats(&after);
	assert_int_equal(after.passes, before.passes);
}

#define MANY	   20000
#define LOOK_EVERY 64

static long sleeps_of_deferrals(void)
{
	struct rusage before, after;

	lull_rcu_free_sized(malloc(16), MIB);
	assert_int_equal(getrusage(RUSAGE_THREAD, &before), 0);
	for (int i = 1; i < MANY; i++)
		lull_rcu_free_sized(malloc(16), MIB);
	assert_int_equal(getrusage(RUSAGE_THREAD, &after), 0);
	return after.ru_nvcsw - before.ru_nvcsw;
}

/* 0 is no limit: as many wait as want to, and none is told or held back. */
TEST(no_limits)
{
	struct lull_reclaim_config config;
	pthread_t reader;
	long slept;

	lull_reclaim_default_config(&config);
	config.soft_items = config.soft_bytes = config.hard_items = config.hard_bytes = 0;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	reader = start_hold_up();
	start_hearing();
	slept = sleeps_of_deferrals();
	check_silence();
	stop_hearing();
	assert_int_equal(waiting(), MANY);
	end_hold_up(reader);
	/* Held back it would sleep at each look at the limits. Under valgrind it also sleeps when another has its turn. */
	if (slept >= MANY / LOOK_EVERY / 2)
		print_error("%ld sleeps\n", slept);
	assert_true(slept < MANY / LOOK_EVERY / 2 || under_valgrind());
}

/* ---- polls -------------------------------------------------------------------------------------- */

#define EACH  9
#define KINDS 7

static void defer_each_kind(void)
{
	for (int i = 0; i < EACH; i++) {
		lull_rcu_free(malloc(16));
		lull_rcu_call(new_head(), count_run);
		lull_rcu_call_pure(new_head(), count_run);
		lull_hazptr_retire(malloc(16));
		lull_hazptr_call(new_head(), count_run);
		lull_rcu_free_hazptr(malloc(16));
		lull_rcu_call_hazptr(new_head(), count_run);
	}
}

static void *defers_each_kind(void *unused)
{
	defer_each_kind();
	return unused;
}

/* A poll reclaims as many as it may, or all that there is, of whichever kinds, and says how many. */
TEST(poll_exactly)
{
	size_t left;

	set_mode(LULL_RECLAIM_POLL);
	lull_rcu_read_lock(); /* else this thread would free by itself */
	defer_each_kind();
	lull_rcu_read_unlock();
	join_thread(start_thread(defers_each_kind, NULL));
	left = counts().items;
	assert_true(left >= EACH * KINDS);
	assert_int_equal(lull_reclaim_poll(0, 0), 0);
	assert_int_equal(counts().items, left);
	for (size_t most = 1; left; most++) {
		size_t expected = most < left ? most : left;

		assert_int_equal(lull_reclaim_poll(most, 0), expected);
		left -= expected;
		assert_int_equal(counts().items, left);
	}
	assert_int_equal(lull_reclaim_poll(SIZE_MAX, 0), 0);
	assert_int_equal(runs, 2 * EACH * 4);
}

/* ---- drains ------------------------------------------------------------------------------------- */

static void *drains_for_ever(void *done)
{
	assert_int_equal(lull_reclaim_drain(UINT64_MAX), 0);
	lull_store_release((int *)done, 1);
	return NULL;
}

#define TIMEOUT_MS 400

/* It gives up after so many milliseconds, not earlier, and not after as many seconds (the alarm); or never. */
TEST(drain_in_time)
{
	pthread_t reader = start_hold_up(), drainer;
	uint64_t began_ns = now_ns();
	int done = 0;

	lull_rcu_call(new_head(), count_run);
	assert_int_equal(lull_reclaim_drain(TIMEOUT_MS), -ETIMEDOUT);
	assert_true(now_ns() - began_ns >= TIMEOUT_MS * UINT64_C(1000000));
	assert_int_equal(lull_reclaim_drain(0), -ETIMEDOUT);
	drainer = start_thread(drains_for_ever, &done);
	nap_ms(50);
	assert_int_equal(lull_load_acquire(&done), 0);
	assert_int_equal(lull_load_acquire(&runs), 0);
	end_hold_up(reader);
	join_thread(drainer);
	assert_int_equal(runs, 1);
	assert_int_equal(lull_reclaim_drain(60000), 0);
}

/* It waits for what hazard pointers protect, too. */
TEST(drain_waits_for_slots)
{
	struct lull_hazptr *slot = lull_hazptr_alloc(lull_hazptr_thread_context());
	struct lull_head *head = new_head();

	assert_non_null(slot);
	assert_ptr_equal(lull_hazptr_protect_ptr(slot, head), head);
	lull_hazptr_call(head, count_run);
	assert_int_equal(lull_reclaim_drain(30), -ETIMEDOUT);
	assert_int_equal(lull_load_acquire(&runs), 0);
	lull_hazptr_free(lull_hazptr_thread_context(), slot);
	assert_int_equal(lull_reclaim_drain(60000), 0);
	assert_int_equal(runs, 1);
	assert_int_equal(waiting(), 0);
}

/* ---- peaks --------------------------------------------------------------------------------------- */

#define BYTES 10

static void defer_and_barrier(int many)
{
	lull_rcu_read_lock();
	for (int i = 0; i < many; i++)
		lull_rcu_free_sized(malloc(BYTES), BYTES);
	lull_rcu_read_unlock();
	lull_rcu_barrier();
}

static void check_peak(size_t items)
{
	struct lull_reclaim_counts now = counts();
	size_t least = items > SLACK ? items - SLACK : 0;

	assert_in_range(now.peak_items, least, items + SLACK);
	assert_in_range(now.peak_bytes, least * BYTES, (items + SLACK) * BYTES);
	assert_int_equal(now.items, 0);
	assert_int_equal(now.bytes, 0);
}

/*
 * The most that waited, since the start or the last reset, and not what waits now. While this test comes before the
 * others, one thread defers, by calls of one kind.
 */
FIRST_TEST(peak)
{
	lull_reclaim_reset_peak();
	assert_int_equal(counts().peak_items, 0);
	assert_int_equal(counts().peak_bytes, 0);
	check_peak(0);
	defer_and_barrier(3000);
	check_peak(3000);
	defer_and_barrier(500);
	check_peak(3000);
	lull_reclaim_reset_peak();
	check_peak(0);
	defer_and_barrier(500);
	check_peak(500);
	defer_and_barrier(1000);
	check_peak(1000);
}

/* ---- who lingers --------------------------------------------------------------------------------- */

static void set_linger(uint32_t linger_ms)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.linger_ms = linger_ms;
	assert_int_equal(lull_reclaim_configure(&config), 0);
}

/* Leave one object behind whose grace period could not pass. */
static void leave_one(uint32_t linger_ms)
{
	pthread_t reader;

	set_linger(linger_ms);
	reader = start_hold_up();
	lull_rcu_free(malloc(16));
	end_hold_up(reader);
}

/* Entries that a thread leaves behind while it sleeps are taken over after linger_ms, and not before. */
TEST(linger)
{
	leave_one(1000000);
	nap_ms(200);
	assert_int_equal(waiting(), 1);
	lull_rcu_barrier();
	leave_one(10);
	AWAIT(waiting() == 0);
	/* Also when it is made shorter while the object waits. */
	leave_one(1000000);
	nap_ms(200);
	set_linger(10);
	AWAIT(waiting() == 0);
}

/* ---- generations --------------------------------------------------------------------------------- */

#define GENERATIONS 16

struct generation {
	struct lull_head head;
	int left;
};

static void begets(struct lull_head *head)
{
	struct generation *generation = lull_container_of(head, struct generation, head);

	lull_add_relaxed(&runs, 1);
	if (--generation->left)
		lull_rcu_call(head, begets);
	else
		free(generation);
}

/* Where only a barrier runs callbacks: it follows so many generations. */
static void check_generations(void (*barrier)(void))
{
	struct generation *first = malloc(sizeof(*first));

	assert_non_null(first);
	first->left = GENERATIONS;
	set_mode(LULL_RECLAIM_POLL);
	lull_store_relaxed(&runs, 0);
	lull_rcu_call(&first->head, begets);
	barrier();
	assert_int_equal(runs, GENERATIONS);
	assert_int_equal(waiting(), 0);
}

static void drain(void)
{
	assert_int_equal(lull_reclaim_drain(UINT64_MAX), 0);
}

TEST(generations)
{
	check_generations(lull_rcu_barrier);
	check_generations(lull_hazptr_barrier);
	check_generations(drain);
}
