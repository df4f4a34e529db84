/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * reclaim.c - reclaiming from the inside: the estimate of what waits, by which all limits go; how many share a scan;
 * threads that take no turn; threads that wait while another has their queue.
 */
#include <errno.h>

#include <lull/bridge.h>
#include <lull/hazptr.h>
#include <lull/hazptr_fenced.h>
#include <lull/stats.h>

#include "child.h"
#include "reader.h"
#include "threads.h"

#include "../src/base/deadline.h"
#include "../src/base/own_thread.h"
#include "../src/hazptr/slots.h"
#include "../src/reclaim/backlog.h"
#include "../src/reclaim/pass.h"

SETUP
{
	set_stall_ms(0);
	set_mode(LULL_RECLAIM_THREAD);
	lull_hazptr_barrier();
}

/* ---- the estimate ------------------------------------------------------------------------------- */

struct estimate {
	size_t items, bytes, retired;
};

/*
 * The estimate that should be there while no thread defers or reclaims: what the owners have added, with nothing taken
 * off twice, or not at all.
 */
static struct estimate added(void)
{
	struct estimate sum = { 0, 0, 0 };
	struct lull__bag *bag;

	lull__lock(&lull__reclaimer.bags_lock);
	lull__for_each_bag(bag) {
		for (int kind = 0; kind < LULL__KINDS; kind++) {
			const struct lull__queue *q = &bag->queue[kind];

			sum.items += (size_t)(q->in_backlog + q->lent - q->done);
			sum.bytes += (size_t)(q->in_backlog_bytes + q->lent_bytes - q->done_bytes);
			sum.retired += kind == LULL__HAZPTR_FREES ? (size_t)(q->in_backlog + q->lent - q->done) : 0;
		}
	}
	lull__unlock(&lull__reclaimer.bags_lock);
	return sum;
}

static void check_estimate(void)
{
	struct estimate sum = added();

	if (lull__reclaimer.items != sum.items || lull__reclaimer.bytes != sum.bytes || lull__reclaimer.retired != sum.retired)
		fprintf(stderr, "items %zd and not %zd, bytes %zd and not %zd, retired %zd and not %zd\n",
			(ssize_t)lull__reclaimer.items, (ssize_t)sum.items, (ssize_t)lull__reclaimer.bytes,
			(ssize_t)sum.bytes, (ssize_t)lull__reclaimer.retired, (ssize_t)sum.retired);
	must(lull__reclaimer.items == sum.items);
	must(lull__reclaimer.bytes == sum.bytes);
	must(lull__reclaimer.retired == sum.retired);
}

static void free_head(struct lull_head *head)
{
	free(head);
}

static struct lull_head *new_head(void)
{
	struct lull_head *head = malloc(sizeof(*head));

	must(head);
	return head;
}

static void *defers_each_kind(void *many)
{
	for (int i = 0; i < *(int *)many; i++) {
		lull_rcu_free_sized(malloc(16), 100);
		lull_rcu_call_sized(new_head(), free_head, 200);
		lull_hazptr_retire_sized(malloc(16), 300);
		lull_hazptr_call_sized(new_head(), free_head, 400);
		lull_rcu_free_hazptr(malloc(16));
		lull_rcu_call_hazptr_sized(new_head(), free_head, 500);
		lull_rcu_call_pure_sized(new_head(), free_head, 600);
	}
	return NULL;
}

/* One of each kind by this thread, then few and many by threads that exit, in each mode. */
static void estimate_in(enum lull_reclaim_mode mode, enum lull_reclaim_hard on_hard, size_t hard_items)
{
	struct lull_reclaim_config config;
	int one = 1, few = 50, many = 1500;

	lull_reclaim_default_config(&config);
	config.mode = mode;
	config.on_hard = on_hard;
	config.hard_items = hard_items;
	config.soft_items = hard_items < config.soft_items ? hard_items : config.soft_items;
	must(lull_reclaim_configure(&config) == 0);
	defers_each_kind(&one);
	join_thread(start_thread(defers_each_kind, &few));
	join_thread(start_thread(defers_each_kind, &many));
	if (mode == LULL_RECLAIM_POLL)
		while (lull_reclaim_poll(77, 0))
			;
	lull_hazptr_barrier();
	check_estimate();
}

TEST(estimate)
{
	estimate_in(LULL_RECLAIM_THREAD, LULL_RECLAIM_TELL, 100000);
	estimate_in(LULL_RECLAIM_CALLER, LULL_RECLAIM_TELL, 100000);
	estimate_in(LULL_RECLAIM_POLL, LULL_RECLAIM_TELL, 100000);
	estimate_in(LULL_RECLAIM_THREAD, LULL_RECLAIM_HELP, 200);
	set_mode(LULL_RECLAIM_THREAD);
}

/* Where no background thread has been started yet a thread frees at once. */
static void frees_at_once(void)
{
	must(lull_load_relaxed(&lull__reclaimer.thread) == NO_THREAD);
	for (int i = 0; i < 20; i++) {
		lull_rcu_free_sized(malloc(16), 1000);
		must(waiting() == 0);
	}
}

static void *frees_at_exit(void *unused)
{
	frees_at_once();
	return unused;
}

static void estimate_without_thread(void)
{
	int few = 50;

	frees_at_once();
	join_thread(start_thread(frees_at_exit, NULL));
	check_estimate();
	join_thread(start_thread(defers_each_kind, &few));
	lull_hazptr_barrier();
	check_estimate();
}

FIRST_TEST_BARE(estimate_without_thread)
{
	NEEDS_THREADS_IN_CHILD();
	expect_fine(estimate_without_thread);
}

TEST(not_often_at_once)
{
	NEEDS_THREADS_IN_CHILD();
	/* ... but not often: one that frees much lets a thread do it, for which many share a fence. */
	EXPECT_FINE {
		struct lull_reclaim_config config;

		lull_reclaim_default_config(&config);
		config.linger_ms = 60000;
		must(lull_reclaim_configure(&config) == 0);
		must(lull_load_relaxed(&lull__reclaimer.thread) == NO_THREAD);
		for (int i = 0; i < 2000; i++)
			lull_rcu_free_sized(malloc(16), 16);
		must(lull_load_relaxed(&lull__reclaimer.thread) == HAS_THREAD);
	}
}

/* ---- limits, and times, by themselves ------------------------------------------------------------------------------ */

#define GIB ((size_t)1 << 30)

/* Limits of items alone, of bytes alone, of both; what slots name is in neither; numbers beyond 2^32. */
TEST(soft_limits)
{
	static const struct {
		size_t soft_items, soft_bytes, items, bytes, kept_items, kept_bytes;
		bool over, over_twice;
	} rows[] = {
		{ 100, 0, 100, 9 * GIB, 0, 0, false, false }, { 100, 0, 101, 0, 0, 0, true, false },
		{ 100, 0, 201, 0, 0, 0, true, true },	      { 100, 0, 201, 0, 101, 0, false, false },
		{ 100, 0, 301, 0, 101, 0, true, false },      { 0, 5 * GIB, SIZE_MAX / 4, 5 * GIB, 0, 0, false, false },
		{ 0, 5 * GIB, 1, 5 * GIB + 1, 0, 0, true, true }, { 0, 5 * GIB, 1, 9 * GIB, 0, 5 * GIB, false, false },
		{ 0, 5 * GIB, 1, 11 * GIB, 0, 5 * GIB, true, true }, { 100, GIB, 50, 2 * GIB, 0, 0, true, true },
		{ 100, GIB, 150, GIB / 2, 0, 0, true, false }, { 100, GIB, 150, 2 * GIB, 60, 2 * GIB, false, false },
		{ 5 * GIB, 0, 4 * GIB + 7, 0, 0, 0, false, false }, { 5 * GIB, 0, 5 * GIB + 1, 0, 0, 0, true, false },
		{ SIZE_MAX / 2 + 2, 0, 100, 0, 0, 0, false, false }, { 0, 0, SIZE_MAX / 4, SIZE_MAX / 4, 0, 0, false, false },
	};
	const size_t soft_items = lull_load_relaxed(&lull__reclaimer.config.soft_items);
	const size_t soft_bytes = lull_load_relaxed(&lull__reclaimer.config.soft_bytes);
	size_t items, bytes, kept_items, kept_bytes;

	set_mode(LULL_RECLAIM_POLL);
	lull_rcu_barrier(); /* then nobody counts */
	items = lull_load_relaxed(&lull__reclaimer.items); /* perhaps not 0: an estimate */
	bytes = lull_load_relaxed(&lull__reclaimer.bytes);
	kept_items = lull_load_relaxed(&lull__reclaimer.kept_items);
	kept_bytes = lull_load_relaxed(&lull__reclaimer.kept_bytes);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool over, over_twice;

		lull_store_relaxed(&lull__reclaimer.config.soft_items, rows[i].soft_items);
		lull_store_relaxed(&lull__reclaimer.config.soft_bytes, rows[i].soft_bytes);
		lull_store_relaxed(&lull__reclaimer.items, rows[i].items);
		lull_store_relaxed(&lull__reclaimer.bytes, rows[i].bytes);
		lull_store_relaxed(&lull__reclaimer.kept_items, rows[i].kept_items);
		lull_store_relaxed(&lull__reclaimer.kept_bytes, rows[i].kept_bytes);
		over = lull__over_soft(false);
		over_twice = lull__over_soft(true);
		if (over != rows[i].over || over_twice != rows[i].over_twice)
			print_error("row %zu\n", i);
		assert_int_equal(over, rows[i].over);
		assert_int_equal(over_twice, rows[i].over_twice);
	}
	lull_store_relaxed(&lull__reclaimer.config.soft_items, soft_items);
	lull_store_relaxed(&lull__reclaimer.config.soft_bytes, soft_bytes);
	lull_store_relaxed(&lull__reclaimer.items, items);
	lull_store_relaxed(&lull__reclaimer.bytes, bytes);
	lull_store_relaxed(&lull__reclaimer.kept_items, kept_items);
	lull_store_relaxed(&lull__reclaimer.kept_bytes, kept_bytes);
}

/* An hour is more milliseconds than nanoseconds that fit in 32 bits. */
TEST(idle_times)
{
	static const struct {
		uint32_t idle_ms, doubled;
		uint64_t end_ns;
	} rows[] = {
		{ 1, 0, 1000000 + 7 }, { 4294, 0, UINT64_C(4294000007) }, { 4295, 0, UINT64_C(4295000007) },
		{ 2000, 3, UINT64_C(16000000007) }, { 3600000, 0, UINT64_C(3600000000007) },
		{ UINT32_MAX - 1, 0, UINT64_C(4294967294000007) }, { UINT32_MAX, 0, LULL__NEVER },
	};
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		config.idle_ms = rows[i].idle_ms;
		assert_int_equal(lull_reclaim_configure(&config), 0);
		assert_true(lull__idle_end_ns(7, rows[i].doubled) == rows[i].end_ns);
	}
}

/* ---- scans -------------------------------------------------------------------------------------- */

/* How many new objects of one thread share a scan, if there are so many slots: they are to pay for the scan. */
TEST(scan_threshold)
{
	static const struct {
		uint32_t slots, objects;
	} cases[] = { { 64, 404 }, { 200, 336 }, { 434, 219 }, { 436, 154 }, { 600, 236 }, { 1000, 436 }, { 10000, 4936 } };
	uint32_t there = (uint32_t)lull__hazptr_slots(), *slots = &lull__hazptr.shard[0].slots, before = *slots;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		*slots = before + cases[i].slots - there;
		assert_int_equal(lull__scan_threshold(), cases[i].objects);
	}
	*slots = before;
}

static uint64_t one_if_light(void)
{
	return lull_fence_strategy() == LULL_FENCE_MEMBARRIER ? 1 : 0;
}

static int go_on;

static void *is_there(void *unused)
{
	lull_thread_register();
	lull_store_release(&go_on, 1);
	await_flag(&go_on, 2);
	return unused;
}

static void defers_free(void)
{
	lull_rcu_free(malloc(16));
}

static void defers_call(void)
{
	lull_rcu_call(new_head(), free_head);
}

static void defers_bridge_free(void)
{
	lull_rcu_free_hazptr(malloc(16));
}

static void defers_hazptr_pure(void)
{
	lull_hazptr_call_pure_sized(new_head(), free_head, 64);
}

static void defers_retire(void)
{
	lull_hazptr_retire(malloc(16));
}

static void defers_hazptr_call(void)
{
	lull_hazptr_call(new_head(), free_head);
}

static void defers_fenced(void)
{
	lull_hazptr_fenced_retire(malloc(16));
	lull_hazptr_fenced_call(new_head(), free_head);
}

static void defers_for_both(void)
{
	defers_free();
	defers_hazptr_call();
}

static void retires_in_callback(struct lull_head *head)
{
	free(head);
	lull_hazptr_retire(malloc(16));
}

/*
 * The cost of a pass for readers, beside a thread that makes light fences: one fence for a grace period, one for memory
 * that was retired, and none for a second reason. The slots are looked at only for those that wait for slots.
 */
static void fences_and_scans(void)
{
	static const struct {
		void (*defer)(void);
		unsigned fences, scans;
	} cases[] = { { defers_fenced, 0, 2 },	     { defers_free, 1, 0 },   { defers_call, 1, 0 },	 { defers_bridge_free, 1, 1 },
		      { defers_hazptr_call, 1, 1 }, { defers_retire, 1, 1 }, { defers_for_both, 1, 1 }, { defers_fenced, 2, 2 },
		      { defers_hazptr_pure, 1, 1 } };
	const struct lull_stats_page *page = lull_stats_page();
	pthread_t other;

	set_mode(LULL_RECLAIM_POLL);
	lull_hazptr_barrier();
	/* A sweep makes a fence as well. Now, and not when one more queue comes in. */
	lull__reclaimer.listed += 1000;
	lull__reclaimer.idle = 1000;
	lull__sweep();
	lull__reclaimer.listed -= 1000;
	go_on = 0;
	other = start_thread(is_there, NULL);
	await_flag(&go_on, 1);
	for (int kind = 0; kind < LULL__KINDS; kind++)
		lull__own_bag()->queue[kind].has_light = 0;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t fences = lull_fence_heavy_count(), scans = page->scans;

		cases[i].defer();
		lull__pass(PASS_ALL);
		must(waiting() == 0);
		fences = lull_fence_heavy_count() - fences;
		scans = page->scans - scans;
		if (fences != cases[i].fences * one_if_light() || scans != cases[i].scans)
			fprintf(stderr, "case %zu: %u fences, %u scans\n", i, (unsigned)fences, (unsigned)scans);
	}
	/* Memory that a callback retires counts as light, too. */
	lull__own_bag()->queue[LULL__HAZPTR_FREES].has_light = 0;
	lull_rcu_call(new_head(), retires_in_callback);
	lull__pass(PASS_ALL);
	must(lull__own_bag()->queue[LULL__HAZPTR_FREES].has_light == 1);
	lull_hazptr_barrier();
	lull_store_release(&go_on, 2);
	join_thread(other);
}

/* In a child, which has no background thread: that makes fences before it sleeps. */
TEST(fences_and_scans)
{
	NEEDS_THREADS_IN_CHILD();
	expect_fine(fences_and_scans);
}

/* ---- a child ------------------------------------------------------------------------------------- */

static struct lull__lock *const locks[] = { &lull__reclaimer.barrier_lock, &lull__reclaimer.config_lock,
					    &lull__reclaimer.retired_lock, &lull__reclaimer.bags_lock,
					    &lull__reclaimer.park_lock, &lull__reclaimer.sweep_lock };

static void locks_are_free(void)
{
	lull_rcu_synchronize();
	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
		must(locks[i]->word == 0);
	must(lull__reclaimer.mark_awaited == 0);
	lull_hazptr_barrier();
	must(waiting() == 0);
}

/* The holder of a lock in the parent is not there. */
TEST(child_frees_locks)
{
	char text[1024];
	int status;

	NEEDS_THREADS_IN_CHILD();
	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
		lull__lock(locks[i]);
	status = run_child(locks_are_free, text, sizeof(text));
	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
		lull__unlock(locks[i]);
	assert_string_equal(text, "");
	assert_int_equal(status, 0);
}

static bool busy_in_child;

static void forks(struct lull_head *head)
{
	pid_t child = fork();
	int status;

	free(head);
	if (child == 0)
		_exit(lull__self.bag->queue[LULL__CALLS].busy ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status == 0)
		lull_store_relaxed(&busy_in_child, true);
}

/* The thread that forks amid its own queue goes on with that in the child: no other thread may have the queue. */
TEST(child_has_its_queue)
{
	set_mode(LULL_RECLAIM_CALLER);
	busy_in_child = false;
	/* One that runs in a pass of the thread is not amid the thread's own queue. */
	for (int i = 0; i < 20000 && !lull_load_relaxed(&busy_in_child); i++)
		lull_rcu_call(new_head(), i % 1000 ? free_head : forks);
	assert_true(lull_load_relaxed(&busy_in_child));
	lull_rcu_barrier();
	set_mode(LULL_RECLAIM_THREAD);
}

/* ---- barriers ----------------------------------------------------------------------------------- */

/* A barrier whose time is up before it gets the lock leaves that, and what is marked under it, to the one that has it. */
TEST(barrier_without_lock)
{
	for (uint64_t ms = 0; ms <= 10; ms += 10) {
		lull__lock(&lull__reclaimer.barrier_lock);
		lull_store_relaxed(&lull__reclaimer.mark_awaited, 1u);
		assert_int_equal(lull_hazptr_barrier_timeout(ms), -ETIMEDOUT);
		assert_int_equal(lull__reclaimer.mark_awaited, 1);
		assert_int_not_equal(lull__reclaimer.barrier_lock.word, 0);
		lull_store_relaxed(&lull__reclaimer.mark_awaited, 0u);
		lull__unlock(&lull__reclaimer.barrier_lock);
	}
	assert_int_equal(lull_hazptr_barrier_timeout(UINT64_MAX), 0);
	assert_int_equal(lull__reclaimer.barrier_lock.word, 0);
}

/* ---- the deferring thread ------------------------------------------------------------------------ */

static struct lull__bag *retirers_bag;
static int all_retired;

static void *defers_calls(void *unused)
{
	const struct lull__queue *q;
	uint64_t turn_at;

	lull_rcu_call(new_head(), free_head);
	q = &lull__self.bag->queue[LULL__CALLS];
	turn_at = q->turn_at; /* perhaps that of the bag's last owner */
	for (int i = 0; i < 200; i++)
		lull_rcu_call(new_head(), free_head);
	assert_int_equal(q->turn_at, turn_at);
	return unused;
}

/* Callbacks that the background thread runs cost the thread that defers them no turn. */
TEST(no_turn_for_callbacks)
{
	join_thread(start_thread(defers_calls, NULL));
	lull_rcu_barrier();
}

/* Where deferrals to @q are appends, each has a place in the last chunk, none is a turn, and light fences are no instruction. */
static void check_appends(const struct lull__queue *q)
{
	if (q->put >= q->append_until)
		return;
	assert_ptr_not_equal(q->tail, NULL);
	assert_in_range(q->put, q->tail->first + 1, q->append_until - 1);
	assert_true(q->append_until < q->tail->first + LULL__CHUNK_ITEMS);
	assert_true(q->append_until < q->turn_at);
	assert_int_equal((q->append_until - 1) / LULL__CHECK_EVERY, q->put / LULL__CHECK_EVERY);
	assert_int_equal(lull_fence_strategy(), LULL_FENCE_MEMBARRIER);
}

static void check_all_appends(void)
{
	for (int kind = 0; kind < LULL__KINDS; kind++)
		check_appends(&lull__self.bag->queue[kind]);
}

/* Defer some of all kinds, of which a callback does not take turns. */
static void defers_inside(struct lull_head *head)
{
	for (unsigned i = 0; lull__self.bag && i < 70; i++) {
		lull_rcu_free_sized(malloc(16), i);
		lull_hazptr_retire_sized(malloc(16), i);
		lull_rcu_call_pure_sized(new_head(), free_head, i);
		check_all_appends();
	}
	free(head);
}

static int pure_ran;

static void count_pure(struct lull_head *head)
{
	lull_add_relaxed(&pure_ran, 1);
	free(head);
}

static void *appends(void *unused)
{
	unsigned appended = 0;

	lull_rcu_free(malloc(16));
	for (unsigned i = 0; i < 5000; i++) {
		const struct lull__queue *q = &lull__self.bag->queue[LULL__FREES];
		uint64_t until = q->append_until, put = q->put;

		lull_rcu_free_sized(malloc(16), i % 100 == 3 ? 5000 : 64);
		appended += put < until;
		check_all_appends();
		lull_hazptr_retire_sized(malloc(16), i % 77 == 3 ? 1 << 20 : 64);
		lull_rcu_free_hazptr(malloc(16));
		if (i % 50 == 1)
			lull_rcu_read_lock(); /* for some time without turns of pure calls */
		lull_rcu_call_pure_sized(new_head(), count_pure, 64);
		if (i % 50 == 24)
			lull_rcu_read_unlock();
		if (i % 333 == 0)
			lull_rcu_call(new_head(), i % 2 ? free_head : defers_inside);
		check_all_appends();
	}
	/* Most deferrals are no more than that. */
	if (lull_fence_strategy() == LULL_FENCE_MEMBARRIER)
		assert_in_range(appended, 3500, 4500);
	else
		assert_int_equal(appended, 0);
	return unused;
}

TEST(appends)
{
	join_thread(start_thread(appends, NULL));
	set_mode(LULL_RECLAIM_CALLER); /* callbacks run where they were deferred */
	join_thread(start_thread(appends, NULL));
	lull_hazptr_barrier();
	assert_int_equal(pure_ran, 2 * 5000); /* no turn has taken them for memory */
	set_mode(LULL_RECLAIM_THREAD);
}

#define RETIRED 8000
#define BOUND	(4096 + 2 * LULL__CHECK_EVERY) /* for the few slots that there are here */

static void *retires(void *unused)
{
	lull_hazptr_retire(malloc(16));
	retirers_bag = lull__self.bag;
	lull_store_release(&go_on, 1);
	await_flag(&go_on, 2);
	for (int i = 1; i < RETIRED; i++)
		lull_hazptr_retire(malloc(16));
	lull_store_release(&all_retired, 1);
	return unused;
}

/* A thread that retires does not go past the bound while a pass has its queue: it waits for the pass. */
TEST(bound_while_queue_is_taken)
{
	struct lull__queue *q;
	pthread_t thread;
	size_t most;

	set_mode(LULL_RECLAIM_POLL); /* this thread is the pass */
	go_on = all_retired = 0;
	thread = start_thread(retires, NULL);
	await_flag(&go_on, 1);
	q = &retirers_bag->queue[LULL__HAZPTR_FREES];
	lull__lock(&q->lock);
	lull__queue_revoke(q);
	lull_fence_heavy();
	lull__queue_await_owner(q, LULL__NEVER);
	lull_store_release(&go_on, 2);
	AWAIT(lull_load_acquire(&q->lock.word) == 2 || lull_load_acquire(&all_retired));
	most = waiting();
	lull__queue_release(q);
	join_thread(thread);
	lull_hazptr_barrier();
	assert_in_range(most, 4096, BOUND);
	set_mode(LULL_RECLAIM_THREAD);
}

/* Another mode ends the help of owners. */
TEST(help_ends_with_the_mode)
{
	const struct lull__queue *q;
	pthread_t reader;

	set_mode(LULL_RECLAIM_CALLER);
	reader = start_hold_up();
	for (int i = 0; i < 64; i++)
		defers_call();
	q = &lull__self.bag->queue[LULL__CALLS];
	assert_int_equal(lull_load_relaxed(&q->owner_helps), 1);
	set_mode(LULL_RECLAIM_THREAD);
	assert_int_equal(lull_load_relaxed(&q->owner_helps), 0);
	end_hold_up(reader);
	lull_rcu_barrier();
}

/*
 * A pass that does not wait for owners meets one that consumes, and gives the queue back. The owner still helps: else the
 * next pass would take the queue without revoking, and consume beside it.
 */
TEST(owner_goes_on_helping)
{
	struct lull__queue *q;
	pthread_t thread;

	set_mode(LULL_RECLAIM_POLL);
	go_on = all_retired = 0;
	thread = start_thread(retires, NULL);
	await_flag(&go_on, 1);
	q = &retirers_bag->queue[LULL__HAZPTR_FREES];
	lull_store_relaxed(&q->last_done, lull_load_relaxed(&q->done));
	lull_store_relaxed(&q->owner_helps, 1u);
	lull_store_release(&q->busy, 1u);
	lull__give_back(lull__take_due(PASS_ABANDONED, LULL__TAKE_RETIRED, false));
	assert_int_equal(lull_load_relaxed(&q->owner_helps), 1);
	lull_store_relaxed(&q->owner_helps, 0u);
	lull_store_release(&q->busy, 0u);
	lull_store_release(&go_on, 2);
	join_thread(thread);
	lull_hazptr_barrier();
	set_mode(LULL_RECLAIM_THREAD);
}

BEFORE_ALL
{
	alarm(100);
}
