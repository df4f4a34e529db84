/* SPDX-License-Identifier: MIT */
/* runs: full-fences, core */
/*
 * reclaim.c - reclaim.h: queues, leftovers, barriers, the three modes, limits.
 */
#include <errno.h>
#include <sys/resource.h>

#include <lull/bridge.h>
#include <lull/hazptr.h>
#include <lull/hazptr_fenced.h>
#include <lull/hazptr_key.h>

#include "reader.h"

struct item {
	struct lull_rcu_head rcu;
	int number;
};

static int runs;
static pthread_t run_by;

static void count_run(struct lull_rcu_head *head)
{
	lull_store_relaxed(&run_by, pthread_self());
	lull_add_relaxed(&runs, 1);
	free(lull_container_of(head, struct item, rcu));
}

static struct lull_rcu_head *new_head(void)
{
	struct item *item = (struct item *)malloc(sizeof(*item));

	assert_non_null(item);
	return &item->rcu;
}

SETUP
{
	lull_rcu_barrier();
	set_mode(LULL_RECLAIM_THREAD);
	lull_store_relaxed(&runs, 0);
}

TEST(calls)
{
	for (int i = 0; i < 3000; i++)
		lull_rcu_call(new_head(), count_run);
	lull_rcu_barrier();
	assert_int_equal(runs, 3000);
	assert_int_equal(waiting(), 0);
	/* No callback ever runs under its caller's locks: it runs elsewhere. */
	assert_false(pthread_equal(lull_load_relaxed(&run_by), pthread_self()));
}

TEST(call_comes_by_itself)
{
	lull_rcu_call(new_head(), count_run);
	await_flag(&runs, 1);
}

/* NULL is no entry that waits. */
static void check_none_ignored(void)
{
	struct lull_reclaim_counts before, after;

	lull_reclaim_stats(&before);
	lull_rcu_free(NULL);
	lull_rcu_free_sized(NULL, 10);
	lull_rcu_free_hazptr(NULL);
	lull_hazptr_retire(NULL);
	lull_hazptr_retire_sized(NULL, 10);
	lull_hazptr_fenced_retire(NULL);
	lull_reclaim_stats(&after);
	assert_int_equal(after.total_items, before.total_items);
}

TEST(frees)
{
	check_none_ignored();
	lull_rcu_free_sized(malloc(10), 10);
	for (int i = 0; i < 5000; i++)
		lull_rcu_free(malloc(24));
	lull_rcu_barrier();
	assert_int_equal(waiting(), 0);
}

/*
 * Entries that a thread leaves behind are freed without a call, whether it sleeps or is gone. A reclaimer that sleeps
 * is woken for it: unasked it would look after two seconds, four, eight ..., and the alarm would end the test.
 */
TEST(leftovers)
{
	alarm(60);
	for (int i = 0; i < 10; i++) {
		lull_rcu_free(malloc(24));
		AWAIT_SOON(!waiting());
		nap_ms(20); /* it falls asleep */
	}
	alarm(0);
}

static void *defers_and_exits(void *unused)
{
	(void)unused;
	lull_rcu_free(malloc(24));
	lull_rcu_call(new_head(), count_run);
	return NULL;
}

TEST(orphans)
{
	for (int i = 0; i < 300; i++)
		join_thread(start_thread(defers_and_exits, NULL));
	AWAIT_SOON(lull_load_relaxed(&runs) >= 300 && !waiting());
}

/* No object is reclaimed under a reader that was there. */
TEST(reader_holds_up)
{
	pthread_t thread = start_hold_up();

	lull_rcu_call(new_head(), count_run);
	lull_rcu_free(malloc(24));
	assert_int_equal(lull_reclaim_drain(30), -ETIMEDOUT);
	assert_int_equal(lull_load_relaxed(&runs), 0);
	assert_int_equal(waiting(), 2);
	end_hold_up(thread);
	assert_int_equal(lull_reclaim_drain(10000), 0);
	assert_int_equal(runs, 1);
	assert_int_equal(waiting(), 0);
}

/* Deferral is legal in a section: what is deferred there waits for it too. */
TEST(in_section)
{
	lull_rcu_read_lock();
	for (int i = 0; i < 2000; i++) {
		lull_rcu_call(new_head(), count_run);
		lull_rcu_free(malloc(24));
	}
	nap_ms(20);
	assert_int_equal(lull_load_relaxed(&runs), 0);
	assert_int_equal(waiting(), 4000);
	lull_rcu_read_unlock();
	lull_rcu_barrier();
	assert_int_equal(runs, 2000);
}

/* ---- barriers ---------------------------------------------------------------------------------------------- */

static void defer_another(struct lull_rcu_head *head)
{
	struct item *item = lull_container_of(head, struct item, rcu);

	lull_add_relaxed(&runs, 1);
	lull_rcu_free(malloc(16));
	if (--item->number > 0)
		lull_rcu_call(head, defer_another);
	else
		free(item);
}

TEST(barrier_follows_callbacks)
{
	struct item *item = (struct item *)malloc(sizeof(*item));

	assert_non_null(item);
	item->number = 10;
	lull_rcu_call(&item->rcu, defer_another);
	lull_rcu_barrier();
	assert_int_equal(runs, 10);
	assert_int_equal(waiting(), 0);
}

static void *many_barriers(void *unused)
{
	(void)unused;
	for (int i = 0; i < 200; i++) {
		lull_rcu_call(new_head(), count_run);
		lull_rcu_free(malloc(48));
		lull_rcu_barrier();
	}
	return NULL;
}

TEST(concurrent_barriers)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		threads[i] = start_thread(many_barriers, NULL);
	for (int i = 0; i < 4; i++)
		join_thread(threads[i]);
	assert_int_equal(runs, 800);
}

static void bad_barrier(struct lull_rcu_head *head)
{
	(void)head;
	lull_rcu_barrier();
}

static void barrier_in_callback(void)
{
	lull_rcu_call(new_head(), bad_barrier);
	nap_ms(5000);
}

TEST(barrier_in_callback)
{
	NEEDS_THREADS_IN_CHILD();
	expect_abort(barrier_in_callback, "lull_rcu_barrier in a callback would wait for itself");
}

/* A callback may wait for grace periods and read. */
static void busy_callback(struct lull_rcu_head *head)
{
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	lull_rcu_synchronize();
	count_run(head);
}

TEST(callback_synchronizes)
{
	for (int i = 0; i < 100; i++)
		lull_rcu_call(new_head(), busy_callback);
	lull_rcu_barrier();
	assert_int_equal(runs, 100);
}

/* ---- modes -------------------------------------------------------------------------------------------------- */

static int notified;

static void note(void *arg)
{
	lull_add_relaxed((int *)arg, 1);
}

TEST(poll_mode)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	config.notify = note;
	config.notify_arg = &notified;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	notified = 0;
	for (int i = 0; i < 10; i++)
		lull_rcu_call(new_head(), count_run);
	/* Once, until it is all done; and once more if the thread, before it heard of the mode, went to sleep. */
	assert_in_range(notified, 1, 2);
	notified = 1;
	nap_ms(30);
	assert_int_equal(runs, 0); /* no other does it */
	assert_int_equal(lull_reclaim_poll(3, 0), 3);
	assert_int_equal(runs, 3);
	assert_true(pthread_equal(lull_load_relaxed(&run_by), pthread_self()));
	assert_int_equal(lull_reclaim_poll(100, 0), 7);
	assert_int_equal(lull_reclaim_poll(100, 0), 0);
	lull_rcu_call(new_head(), count_run);
	assert_int_equal(notified, 2);
	lull_rcu_free(malloc(16));
	lull_rcu_barrier(); /* does it itself */
	assert_int_equal(runs, 11);
	assert_int_equal(waiting(), 0);

	/* A drain gives up in this mode too. */
	pthread_t thread = start_hold_up();
	lull_rcu_call(new_head(), count_run);
	assert_int_equal(lull_reclaim_drain(30), -ETIMEDOUT);
	assert_int_equal(runs, 11);
	end_hold_up(thread);
	assert_int_equal(lull_reclaim_drain(10000), 0);
	assert_int_equal(runs, 12);

	/* Back to the thread, which takes what waits. */
	lull_rcu_call(new_head(), count_run);
	set_mode(LULL_RECLAIM_THREAD);
	await_flag(&runs, 13);
}

TEST(caller_mode)
{
	bool here = false;

	set_mode(LULL_RECLAIM_CALLER);
	for (int i = 0; i < 5000; i++) {
		lull_rcu_call(new_head(), count_run);
		/* Or by the thread, when this one was preempted for so long that it seemed to have left. */
		here = here || (lull_load_relaxed(&runs) && pthread_equal(lull_load_relaxed(&run_by), pthread_self()));
	}
	assert_true(here);
	lull_rcu_barrier();
	assert_int_equal(runs, 5000);
}

/* The mode changes while others defer: nothing is run twice, or by two at once, or never. */
static int changer_stop;
static int in_queue_order[2];
static __thread int last_number;

static void check_order(struct lull_rcu_head *head)
{
	struct item *item = lull_container_of(head, struct item, rcu);
	int owner = item->number & 1, number = item->number >> 1;

	/* One consumer at a time: a queue's callbacks run in order, each once. */
	assert_int_equal(number, lull_load_relaxed(&in_queue_order[owner]));
	lull_store_relaxed(&in_queue_order[owner], number + 1);
	free(item);
}

static void *defers_in_order(void *arg)
{
	int owner = arg != NULL;

	for (int i = 0; !lull_load_relaxed(&changer_stop); i++) {
		struct item *item = (struct item *)malloc(sizeof(*item));

		item->number = i << 1 | owner;
		lull_rcu_call(&item->rcu, check_order);
		last_number = i;
		if (i % 1000 == 0)
			sched_yield();
	}
	return (void *)(intptr_t)(last_number + 1);
}

TEST(mode_changes)
{
	static const enum lull_reclaim_mode modes[] = { LULL_RECLAIM_CALLER, LULL_RECLAIM_THREAD,
							LULL_RECLAIM_POLL, LULL_RECLAIM_CALLER };
	pthread_t threads[2];
	void *deferred[2];
	struct lull_reclaim_config config;
	uint64_t end = now_ns() + 300000000u;

	changer_stop = in_queue_order[0] = in_queue_order[1] = 0;
	lull_reclaim_default_config(&config);
	config.hard_items = 20000;
	config.on_hard = LULL_RECLAIM_HELP;
	threads[0] = start_thread(defers_in_order, NULL);
	threads[1] = start_thread(defers_in_order, &config);
	for (int i = 0; now_ns() < end; i++) {
		config.mode = modes[i % 4];
		assert_int_equal(lull_reclaim_configure(&config), 0);
		if (config.mode == LULL_RECLAIM_POLL)
			lull_reclaim_poll(1000, 0);
		nap_ms(i % 3);
	}
	lull_store_relaxed(&changer_stop, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], &deferred[i]);
	set_mode(LULL_RECLAIM_THREAD);
	lull_rcu_barrier();
	for (int i = 0; i < 2; i++)
		assert_int_equal(in_queue_order[i], (int)(intptr_t)deferred[i]);
	assert_int_equal(waiting(), 0);
}

/* A callback that stays until it is told to go. */
static int entered, may_leave;

static void linger(struct lull_rcu_head *head)
{
	lull_store_release(&entered, 1);
	await_flag(&may_leave, 1);
	count_run(head);
}

static void *poll_one(void *unused)
{
	(void)unused;
	AWAIT(lull_reclaim_poll(100, 0) != 0);
	return NULL;
}

static void *back_to_thread(void *unused)
{
	(void)unused;
	set_mode(LULL_RECLAIM_THREAD);
	return NULL;
}

static void *barrier_and_tell(void *done)
{
	lull_rcu_barrier();
	lull_store_release((int *)done, 1);
	return NULL;
}

/*
 * A barrier finds the new mode and the sleeper's word of the old one: the change is held up in
 * between, by a callback. The thread that the barrier relies on is told of it at the end.
 */
TEST(barrier_amid_mode_change)
{
	pthread_t threads[3];
	static int done; /* a barrier that never ends outlives a test that fails */

	lull_rcu_call(new_head(), count_run);
	lull_rcu_barrier(); /* the thread is there */
	set_mode(LULL_RECLAIM_POLL);
	nap_ms(50); /* ... and asleep */
	done = entered = may_leave = 0;
	lull_rcu_call(new_head(), linger);
	threads[0] = start_thread(poll_one, NULL);
	await_flag(&entered, 1);
	threads[1] = start_thread(back_to_thread, NULL);
	nap_ms(50);
	threads[2] = start_thread(barrier_and_tell, &done);
	nap_ms(50);
	lull_store_release(&may_leave, 1);
	for (int ms = 0; ms < 10000 && !lull_load_acquire(&done); ms++)
		nap_ms(1);
	assert_int_equal(done, 1);
	for (int i = 0; i < 3; i++)
		join_thread(threads[i]);
	assert_int_equal(runs, 2);
}

#ifndef LULL_TEST_CORE
/* Deferrals of callbacks count towards the limits like anything else. */
TEST(callbacks_count)
{
	struct lull_reclaim_config config;
	pthread_t thread;

	for (int i = 0; i < 3000; i++) {
		struct item *item = (struct item *)malloc(sizeof(*item));

		item->number = 3;
		lull_rcu_call(&item->rcu, defer_another);
	}
	lull_rcu_barrier();
	lull_reclaim_default_config(&config);
	config.soft_items = 64;
	config.hard_items = 256;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	start_hearing();
	thread = start_hold_up();
	for (int i = 0; i < 1000; i++)
		lull_rcu_call(new_head(), count_run);
	end_hold_up(thread);
	lull_rcu_barrier();
	stop_hearing();
	assert_int_equal(heard_lines, 1);
}
#endif

static void poll_in_callback_body(struct lull_rcu_head *head)
{
	(void)head;
	lull_reclaim_poll(1, 0);
}

static void poll_in_callback(void)
{
	lull_rcu_call(new_head(), poll_in_callback_body);
	nap_ms(5000);
}

TEST(poll_in_callback)
{
	NEEDS_THREADS_IN_CHILD();
	expect_abort(poll_in_callback, "lull_reclaim_poll in a callback");
}

TEST(bad_config)
{
	struct lull_reclaim_config good, bad;

	lull_reclaim_default_config(&good);
	bad = good;
	bad.mode = (enum lull_reclaim_mode)17;
	assert_int_equal(lull_reclaim_configure(&bad), -EINVAL);
	bad = good;
	bad.on_hard = (enum lull_reclaim_hard)17;
	assert_int_equal(lull_reclaim_configure(&bad), -EINVAL);
	bad = good;
	bad.linger_ms = 0;
	assert_int_equal(lull_reclaim_configure(&bad), -EINVAL);
	bad = good;
	bad.hard_items = bad.soft_items - 1;
	assert_int_equal(lull_reclaim_configure(&bad), -EINVAL);
	bad = good;
	bad.hard_bytes = bad.soft_bytes - 1;
	assert_int_equal(lull_reclaim_configure(&bad), -EINVAL);
	assert_int_equal(lull_reclaim_configure(&good), 0);
}

/* ---- limits ------------------------------------------------------------------------------------------------- */

#ifndef LULL_TEST_CORE
TEST(hard_limit_tells)
{
	struct lull_reclaim_config config;
	pthread_t thread = start_hold_up();

	lull_reclaim_default_config(&config);
	config.soft_items = 64;
	config.hard_items = 256;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	start_hearing();
	for (int i = 0; i < 1000; i++)
		lull_rcu_call(new_head(), count_run);
	assert_int_equal(heard_lines, 1);
	assert_non_null(strstr(heard, "more than the hard limit"));
	end_hold_up(thread);
	lull_rcu_barrier();
	stop_hearing();
	assert_int_equal(runs, 1000);
}
#endif

static void *floods(void *unused)
{
	(void)unused;
	for (int i = 0; i < 20000; i++)
		lull_rcu_call(new_head(), count_run);
	return NULL;
}

TEST(hard_limit_helps)
{
	struct lull_reclaim_config config;
	struct lull_reclaim_counts stats;
	pthread_t threads[3];

	lull_reclaim_default_config(&config);
	config.soft_items = 512;
	config.hard_items = 1024;
	config.on_hard = LULL_RECLAIM_HELP;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	lull_reclaim_reset_peak();
	for (int i = 0; i < 3; i++)
		threads[i] = start_thread(floods, NULL);
	for (int i = 0; i < 3; i++)
		join_thread(threads[i]);
	lull_rcu_barrier();
	assert_int_equal(runs, 60000);
	lull_reclaim_stats(&stats);
	/*
	 * Each looks at every 64th entry. A count is not of one moment: while one thread counts, each of the two others
	 * may defer 64 more, of which the count has nothing.
	 */
	if (stats.peak_items > 1024 + 3 * 64 + 2 * 64)
		print_error("peak %zu\n", stats.peak_items);
	assert_true(stats.peak_items <= 1024 + 3 * 64 + 2 * 64);
	assert_true(stats.peak_items >= 64);
}

/*
 * A thread that frees in a loop, with no reader in the way, keeps up with itself: what waits is what shares one grace
 * period and the next, far from the soft limit. Another thread may have its queue for a while: the best of some tries.
 */
TEST(as_many_out_as_in)
{
	struct lull_reclaim_counts stats;
	size_t least = SIZE_MAX;

	for (int tries = 0; tries < 50 && least > 3000; tries++) {
		size_t most;

		lull_rcu_barrier();
		lull_reclaim_reset_peak();
		for (int i = 0; i < 20000; i++)
			lull_rcu_free_sized(malloc(64), 64);
		lull_reclaim_stats(&stats);
		most = stats.peak_items > stats.peak_bytes / 64 ? stats.peak_items : stats.peak_bytes / 64;
		least = most < least ? most : least;
	}
	if (least > 3000)
		print_error("at least %zu waited\n", least);
	assert_true(least <= 3000);
	assert_true(least >= 64);
}

/* A thread that begins to help does so for itself, not for the next thread that gets its bag. Nobody polls meanwhile. */
#define LEFT   500
#define LITTLE 3000

static void *floods_until_it_helps(void *unused)
{
	int count = 0;

	while (!lull_load_relaxed(&runs)) {
		lull_rcu_call(new_head(), count_run);
		assert_true(count++ < 20000);
	}
	assert_true(pthread_equal(lull_load_relaxed(&run_by), pthread_self()));
	for (int i = 0; i < LEFT; i++)
		lull_rcu_call(new_head(), count_run);
	return unused;
}

static void *floods_a_little(void *unused)
{
	for (int i = 0; i < LITTLE; i++)
		lull_rcu_call(new_head(), count_run);
	return unused;
}

TEST(help_is_not_inherited)
{
	struct lull_reclaim_config config;
	int helped;

	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	config.soft_items = config.hard_items = 6000;
	config.soft_wait_us = 0;
	config.on_hard = LULL_RECLAIM_HELP;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	join_thread(start_thread(floods_until_it_helps, NULL));
	helped = runs;
	assert_in_range(waiting(), LEFT, 2 * LEFT); /* what the next thread gets */
	join_thread(start_thread(floods_a_little, NULL));
	assert_int_equal(runs, helped);
	assert_in_range(waiting(), LEFT + LITTLE, 2 * LEFT + LITTLE);
	lull_rcu_barrier();
	assert_int_equal(waiting(), 0);
}

/* Large blocks are what limits in bytes are for. */
TEST(bytes)
{
	struct lull_reclaim_config config;
	struct lull_reclaim_counts stats;

	lull_reclaim_default_config(&config);
	config.soft_bytes = 8 << 20;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	/*
	 * Without a limit in bytes all of them would wait, 1000 MiB. Half of that also, if the machine stops the background
	 * thread for a second while it has the queue: seldom.
	 */
	for (int tries = 0; tries < 5 && (tries == 0 || stats.peak_bytes > 500u << 20); tries++) {
		lull_rcu_barrier();
		lull_reclaim_reset_peak();
		for (int i = 0; i < 1000; i++)
			lull_rcu_free(malloc(1 << 20));
		lull_reclaim_stats(&stats);
	}
	assert_true(stats.peak_bytes >= 8u << 20);
	assert_true(stats.peak_bytes <= 500u << 20);
	lull_rcu_call_sized(new_head(), count_run, 12345);
	lull_rcu_barrier();
	lull_reclaim_stats(&stats);
	assert_int_equal(stats.bytes, 0);
}

/* ---- no memory ----------------------------------------------------------------------------------------------- */

/* A sanitizer's malloc ends the program, and qemu-user knows no limits. */
#if SANITIZED || defined(LULL_TEST_EMULATED)
#define MALLOC_MAY_FAIL 0
#else
#define MALLOC_MAY_FAIL 1
#endif

#define BLOCK_BYTES 4000u /* less than a chunk of a queue */
#define BLOCKS_MOST 100000

static const int limited[] = { RLIMIT_AS, RLIMIT_DATA };
static struct rlimit limits[2];

struct block {
	struct block *next;
};

/* From here on malloc() finds no block of this size. Returns those it found, NULL if there is no end. */
static struct block *take_all_memory(void)
{
	struct block *first = NULL, *block;
	int n = 0;

	for (int i = 0; i < 2; i++) {
		struct rlimit none;

		getrlimit(limited[i], &limits[i]);
		none = limits[i];
		none.rlim_cur = 0;
		setrlimit(limited[i], &none);
	}
	while (n < BLOCKS_MOST && (block = (struct block *)malloc(BLOCK_BYTES))) {
		block->next = first;
		first = block;
		n++;
	}
	return first;
}

static void give_back_memory(struct block *first)
{
	for (int i = 0; i < 2; i++)
		setrlimit(limited[i], &limits[i]);
	while (first) {
		struct block *next = first->next;

		free(first);
		first = next;
	}
}

static void *barrier_at(void *when)
{
	await_flag((int *)when, 1);
	lull_rcu_barrier();
	return NULL;
}

static void *hazptr_barrier_at(void *when)
{
	await_flag((int *)when, 1);
	lull_hazptr_barrier();
	return NULL;
}

static void linger_a_while(struct lull_rcu_head *head)
{
	lull_store_release(&entered, 1);
	nap_ms(100);
	count_run(head);
}

/* Callbacks for which there was no memory, and that another pass has taken just now. */
TEST(barrier_without_memory)
{
	enum { MANY = 600 }; /* more than one chunk, and one that is left over */
	struct lull_rcu_head *heads[MANY + 1];
	struct block *memory;
	pthread_t thread;
	struct lull_reclaim_counts stats;
	int go = 0, seen;

	if (!MALLOC_MAY_FAIL || under_valgrind())
		SKIP(OWN_MEMORY);
	set_mode(LULL_RECLAIM_POLL); /* barriers make passes themselves */
	entered = 0;
	for (int i = 0; i <= MANY; i++)
		heads[i] = new_head();
	thread = start_thread(barrier_at, &go);
	memory = take_all_memory();
	for (int i = 0; i < MANY; i++)
		lull_rcu_call(heads[i], count_run);
	lull_rcu_call(heads[MANY], linger_a_while); /* the last comes first */
	lull_reclaim_stats(&stats);
	give_back_memory(memory);
	lull_store_release(&go, 1);
	await_flag(&entered, 1);
	lull_rcu_barrier();
	seen = lull_load_relaxed(&runs);
	join_thread(thread);
	assert_int_equal(stats.items, MANY + 1);
	assert_true(stats.bytes < MANY * sizeof(struct lull_rcu_head)); /* not all are in queues */
	assert_int_equal(seen, MANY + 1);
}

#define MANY_OF_ALL 600

/* A child has no reader in the way, and all that waits. */
static void child_polls(void)
{
	must(waiting() == MANY_OF_ALL);
	must(lull_reclaim_poll(SIZE_MAX, 0) == MANY_OF_ALL);
	must(runs == MANY_OF_ALL);
	must(waiting() == 0);
}

/* A poll runs them, too, as soon as it need not wait; and they count. */
TEST(poll_without_memory)
{
	enum { MANY = MANY_OF_ALL };
	struct lull_rcu_head *heads[MANY];
	struct lull_reclaim_counts before, stats;
	struct block *memory;
	pthread_t reader;
	size_t left = MANY;

	if (!MALLOC_MAY_FAIL || under_valgrind())
		SKIP(OWN_MEMORY);
	set_mode(LULL_RECLAIM_POLL);
	lull_rcu_barrier();
	lull_store_relaxed(&runs, 0);
	for (int i = 0; i < MANY; i++)
		heads[i] = new_head();
	reader = start_hold_up();
	lull_reclaim_stats(&before);
	memory = take_all_memory();
	for (int i = 0; i < MANY; i++)
		lull_rcu_call(heads[i], count_run);
	lull_reclaim_stats(&stats);
	give_back_memory(memory);
	assert_int_equal(stats.items, MANY);
	assert_true(stats.bytes < MANY * sizeof(struct lull_rcu_head));
	assert_int_equal(stats.total_items - before.total_items, MANY);
	expect_fine(child_polls);
	for (int i = 0; i < 9; i++)
		assert_int_equal(lull_reclaim_poll(MANY, 0), 0); /* and it has come back */
	expect_fine(child_polls); /* amid the wait for their grace period */
	end_hold_up(reader);
	while (left) {
		size_t expected = left < 7 ? left : 7;

		assert_int_equal(lull_reclaim_poll(7, 0), expected);
		left -= expected;
	}
	assert_int_equal(runs, MANY);
	assert_int_equal(waiting(), 0);
	assert_int_equal(lull_reclaim_poll(MANY, 0), 0);
}

/* With heads for keys, of which these are the keys. */
static void keyed_run(struct lull_rcu_head *head)
{
	count_run((struct lull_rcu_head *)(uintptr_t)lull_container_of(head, struct lull_hazptr_key, head)->key);
}

static void call_key(struct lull_rcu_head *head, lull_rcu_func unused)
{
	static struct lull_hazptr_key keyed[600], *next = keyed;

	(void)unused;
	lull_hazptr_call_key(next++, head, keyed_run);
}

static void protected_without_memory(void (*call)(struct lull_head *head, lull_rcu_func func), size_t bytes)
{
	enum { MANY = 600, KEPT = 599 }; /* the last: it has no place in a queue */
	struct lull_hazptr_context *own = lull_hazptr_thread_context();
	struct lull_hazptr *slot;
	struct lull_rcu_head *heads[MANY];
	struct lull_reclaim_counts stats;
	struct block *memory;
	pthread_t thread;
	int go = 1;
	void *kept;

	lull_thread_register();
	lull_store_relaxed(&runs, 0);
	set_mode(LULL_RECLAIM_POLL);
	slot = lull_hazptr_alloc(own);
	assert_non_null(slot);
	for (int i = 0; i < MANY; i++)
		heads[i] = new_head();
	kept = heads[KEPT];
	assert_ptr_equal(lull_hazptr_protect_ptr(slot, kept), heads[KEPT]);
	memory = take_all_memory();
	for (int i = 0; i < MANY; i++)
		call(heads[i], count_run);
	lull_reclaim_stats(&stats);
	give_back_memory(memory);
	assert_int_equal(stats.items, MANY);
	assert_true(stats.bytes < MANY * bytes); /* not all are in queues */
	for (int i = 0; i < 20; i++)
		lull_reclaim_poll(SIZE_MAX, 0);
	assert_int_equal(runs, MANY - 1);
	assert_int_equal(waiting(), 1);
	/* No barrier runs it, but one waits for it. */
	lull_rcu_barrier();
	assert_int_equal(waiting(), 1);
	thread = start_thread(hazptr_barrier_at, &go);
	nap_ms(50);
	assert_int_equal(lull_load_relaxed(&runs), MANY - 1);
	lull_hazptr_free(own, slot);
	join_thread(thread);
	assert_int_equal(runs, MANY);
	assert_int_equal(waiting(), 0);
}

/* A callback for which there was no memory waits for slots all the same. */
TEST(protected_without_memory)
{
	if (!MALLOC_MAY_FAIL || under_valgrind())
		SKIP(OWN_MEMORY);
	protected_without_memory(lull_hazptr_call, sizeof(struct lull_rcu_head));
	protected_without_memory(lull_rcu_call_hazptr, sizeof(struct lull_rcu_head));
	protected_without_memory(call_key, sizeof(struct lull_hazptr_key));
}

/* A time of UINT64_MAX is no limit: it does not wrap. A minute is enough for 3000 calls, too. */
TEST(poll_for_ever)
{
	const uint64_t max_ns[] = { UINT64_MAX, PATIENCE_NS };

	set_mode(LULL_RECLAIM_POLL);
	for (int n = 0; n < 2; n++) {
		for (int i = 0; i < 3000; i++)
			lull_rcu_call(new_head(), count_run);
		assert_int_equal(lull_reclaim_poll(SIZE_MAX, max_ns[n]), 3000);
		assert_int_equal(runs, 3000 * (n + 1));
	}
}

static void *defers_and_stays(void *unused)
{
	for (int i = 0; i < 1000; i++)
		lull_rcu_call(new_head(), count_run);
	lull_add_relaxed(&entered, 1);
	await_flag(&may_leave, 1);
	return unused;
}

/* When the time is up it is up for the queues of all threads. */
TEST(poll_in_no_time)
{
	pthread_t thread[3];
	size_t of_one;

	set_mode(LULL_RECLAIM_POLL);
	entered = may_leave = 0;
	for (int i = 0; i < 1000; i++)
		lull_rcu_call(new_head(), count_run);
	of_one = lull_reclaim_poll(SIZE_MAX, 1);
	assert_in_range(of_one, 1, 999);
	lull_rcu_barrier();
	for (int i = 0; i < 3; i++)
		thread[i] = start_thread(defers_and_stays, NULL);
	await_flag(&entered, 3);
	assert_int_equal(lull_reclaim_poll(SIZE_MAX, 1), of_one);
	lull_store_release(&may_leave, 1);
	for (int i = 0; i < 3; i++)
		join_thread(thread[i]);
	lull_rcu_barrier();
	assert_int_equal(runs, 4000);
}

/* The peak is that of a few, too, from when they are first counted. */
TEST(peak_of_few)
{
	struct lull_reclaim_counts stats;

	set_mode(LULL_RECLAIM_POLL);
	lull_reclaim_reset_peak();
	for (int i = 0; i < 3; i++)
		lull_rcu_call_sized(new_head(), count_run, 1000);
	lull_reclaim_stats(&stats);
	assert_int_equal(stats.items, 3);
	assert_int_equal(stats.peak_items, 3);
	assert_int_equal(stats.peak_bytes, 3000);
	lull_rcu_barrier();
	lull_reclaim_stats(&stats);
	assert_int_equal(stats.items, 0);
	assert_int_equal(stats.peak_items, 3);
	assert_int_equal(stats.peak_bytes, 3000);
}

/* ---- quiet --------------------------------------------------------------------------------------------------- */

/* Used once and then idle: the reclaimer sleeps without a timer. */
TEST(no_wakeups_when_idle)
{
	struct lull_reclaim_counts before, after;

	lull_rcu_free(malloc(16));
	lull_rcu_call(new_head(), count_run);
	lull_rcu_barrier();
	nap_ms(300); /* a timer that was set may run out */
	lull_reclaim_stats(&before);
	nap_ms(300);
	lull_reclaim_stats(&after);
	assert_int_equal(after.wakeups, before.wakeups);
	assert_int_equal(after.passes, before.passes);
}

static void say_notified(void *arg)
{
	(void)arg;
	must(write(2, "notified", 8) == 8);
}

/* exit() ends the thread in this mode too; the program is not told. */
static void exit_in_poll_mode(void)
{
	struct lull_reclaim_config config;

	lull_rcu_call(new_head(), count_run);
	lull_rcu_barrier();
	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	config.notify = say_notified;
	must(lull_reclaim_configure(&config) == 0);
	nap_ms(50); /* the thread is asleep */
	exit(0);
}

TEST(exit_in_poll_mode)
{
	NEEDS_THREADS_IN_CHILD();
#if UNDER_ASAN
	SKIP("AddressSanitizer looks for leaks when a forked child exits");
#endif
	expect_fine(exit_in_poll_mode);
}

/*
 * No thread to be had (the child may not make any): callbacks wait for a barrier, and never run in a thread that only
 * defers. A later deferral starts it once there can be one.
 */
static void no_thread(void)
{
	struct rlimit limit;
	int seen;

	must(getrlimit(RLIMIT_NPROC, &limit) == 0);
	limit.rlim_cur = 0;
	must(setrlimit(RLIMIT_NPROC, &limit) == 0);
	must(setgid(65534) == 0 && setuid(65534) == 0); /* the limit does not bind root */
	lull_rcu_call(new_head(), count_run);
	lull_rcu_barrier();
	must(runs == 1);
	for (int i = 0; i < 3000; i++)
		lull_rcu_call(new_head(), count_run);
	must(runs == 1);
	lull_rcu_barrier();
	must(runs == 3001);
	limit.rlim_cur = limit.rlim_max;
	must(setrlimit(RLIMIT_NPROC, &limit) == 0);
	for (seen = 0; lull_load_relaxed(&runs) == 3001; seen++) {
		lull_rcu_call(new_head(), count_run);
		nap_ms(1);
	}
	must(seen > 0);
}

TEST(no_thread)
{
	char text[4096];
	int status;

	NEEDS_THREADS_IN_CHILD();
	if (geteuid() != 0)
		SKIP(ROOT_ONLY);
	status = run_child(no_thread, text, sizeof(text));
	if (status)
		print_error("%s", text);
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "cannot start the reclaimer's thread"));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
