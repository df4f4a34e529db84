/* SPDX-License-Identifier: MIT */
/* runs: full-fences, core */
/*
 * drain.c - lull_reclaim_drain(): waits for what was deferred before it and all that comes of that, and for nothing else.
 */
#include <errno.h>

#include <lull/bridge.h>
#include <lull/hazptr.h>

#include "child.h"
#include "threads.h"

/* A part of a chain: its callback defers the next one, and some memory. */
struct part {
	struct lull_head head;
	int below, way;
};

enum { RCU, HAZPTR, BRIDGE, PURE, MIXED, WAYS };

static int gone;

static void take_down(struct lull_head *head);

static void defer_part(int below, int way)
{
	struct part *part = (struct part *)malloc(sizeof(*part));

	part->below = below;
	part->way = way;
	switch (way == MIXED ? below % 4 : way) {
	case RCU:
		lull_rcu_call(&part->head, take_down);
		break;
	case HAZPTR:
		lull_hazptr_call(&part->head, take_down);
		break;
	case BRIDGE:
		lull_rcu_call_hazptr(&part->head, take_down);
		break;
	default:
		lull_rcu_call_pure(&part->head, take_down);
	}
}

static void take_down(struct lull_head *head)
{
	struct part *part = lull_container_of(head, struct part, head);

	lull_rcu_free(malloc(100));
	lull_hazptr_retire(malloc(100));
	if (part->below)
		defer_part(part->below - 1, part->way);
	free(part);
	lull_add_release(&gone, 1);
}

static void nothing_waits(void)
{
	struct lull_reclaim_counts counts;

	lull_reclaim_stats(&counts);
	assert_int_equal(counts.items, 0);
	assert_int_equal(counts.bytes, 0);
}

static const enum lull_reclaim_mode modes[] = { LULL_RECLAIM_THREAD, LULL_RECLAIM_POLL, LULL_RECLAIM_CALLER };

/* Drain, and after the first one that does not end do not wait for others. */
static int drain(void)
{
	static int limit_ms = 60000;
	int result = lull_reclaim_drain((uint64_t)lull_load_relaxed(&limit_ms));

	if (result)
		lull_store_relaxed(&limit_ms, 10);
	return result;
}

SETUP
{
	set_mode(LULL_RECLAIM_THREAD);
	assert_int_equal(drain(), 0);
	gone = 0;
}

static void *defers_chain(void *way)
{
	defer_part(300, *(int *)way);
	return NULL;
}

TEST(deep)
{
	for (int mode = 0; mode < 3; mode++) {
		set_mode(modes[mode]);
		for (int way = 0; way < WAYS; way++) {
			gone = 0;
			defer_part(40, way);
			join_thread(start_thread(defers_chain, &way));
			assert_int_equal(drain(), 0);
			assert_int_equal(gone, 41 + 301);
			nothing_waits();
		}
	}
}

/* No link of a chain waits for a nap of the reclaimer, however long the chain is. */
TEST(links)
{
	enum { LINKS = 40000 }; /* more than are saved up */
	struct lull_reclaim_counts before, after;

	lull_reclaim_stats(&before);
	defer_part(LINKS, RCU);
	assert_int_equal(drain(), 0);
	assert_int_equal(gone, LINKS + 1);
	lull_reclaim_stats(&after);
	assert_in_range(after.wakeups - before.wakeups, 0, LINKS / 10);
}

/* Others go on: each of their callbacks defers another one, so at any time some callback has just deferred something. */
static int others_stop;

static void *floods(void *unused)
{
	while (!lull_load_relaxed(&others_stop)) {
		defer_part(2, MIXED);
		sched_yield();
	}
	return unused;
}

TEST(not_for_others)
{
	pthread_t threads[2];

	others_stop = 0;
	for (int i = 0; i < 2; i++)
		threads[i] = start_thread(floods, NULL);
	for (int i = 0; i < 20; i++)
		assert_int_equal(drain(), 0);
	lull_store_relaxed(&others_stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(threads[i]);
}

/* Two at a time. */
static void *drains_chains(void *arg)
{
	int *mine = (int *)arg;

	for (int i = 0; i < 20; i++) {
		defer_part(50, MIXED);
		lull_add_relaxed(mine, drain() == 0);
	}
	return NULL;
}

TEST(two)
{
	int in_time[2] = { 0, 0 };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		threads[i] = start_thread(drains_chains, &in_time[i]);
	for (int i = 0; i < 2; i++)
		join_thread(threads[i]);
	assert_int_equal(in_time[0] + in_time[1], 40);
	assert_int_equal(gone, 40 * 51);
}

/* Memory that callbacks free on the thread that goes on freeing. */
static int drains_stop;

static void *drains_on(void *unused)
{
	while (!lull_load_relaxed(&drains_stop))
		assert_int_equal(drain(), 0);
	return unused;
}

TEST(own_memory)
{
	pthread_t thread;

	set_mode(LULL_RECLAIM_CALLER);
	drains_stop = 0;
	thread = start_thread(drains_on, NULL);
	for (int i = 0; i < 20000; i++) {
		defer_part(1, RCU);
		lull_rcu_free(malloc(50));
		lull_hazptr_retire(malloc(50));
	}
	lull_store_relaxed(&drains_stop, 1);
	join_thread(thread);
	assert_int_equal(drain(), 0);
	nothing_waits();
}

/* One that defers itself for ever has no end to wait for. */
static int rearms;

static void again(struct lull_head *head)
{
	if (lull_load_relaxed(&rearms))
		lull_rcu_call(head, again);
}

TEST(for_ever)
{
	struct lull_head head;

	for (int mode = 0; mode < 3; mode++) {
		set_mode(modes[mode]);
		rearms = 1;
		lull_rcu_call(&head, again);
		assert_int_equal(lull_reclaim_drain(50), -ETIMEDOUT);
		lull_rcu_barrier(); /* some generations, and no more */
		lull_store_relaxed(&rearms, 0);
		assert_int_equal(drain(), 0);
		nothing_waits();
	}
}

/* A callback that was running when the drain began counts, whenever it defers the next one. */
static int begun, may_defer, drained;

static void defers_late(struct lull_head *unused)
{
	(void)unused;
	lull_store_release(&begun, 1);
	await_flag(&may_defer, 1);
	defer_part(30, MIXED);
}

static void *drains(void *unused)
{
	assert_int_equal(drain(), 0);
	lull_store_release(&drained, 1 + lull_load_relaxed(&gone));
	return unused;
}

TEST(amid_a_callback)
{
	struct lull_head head;

	for (int i = 0; i < 10; i++) {
		pthread_t thread;

		gone = begun = may_defer = drained = 0;
		lull_rcu_call(&head, defers_late);
		await_flag(&begun, 1);
		thread = start_thread(drains, NULL);
		usleep(i * 1000);
		assert_int_equal(lull_load_relaxed(&drained), 0);
		lull_store_release(&may_defer, 1);
		join_thread(thread);
		assert_int_equal(drained, 1 + 31);
	}
}

/* A hazard pointer holds one that a callback has retired. */
static struct part *held;

static void retires_held(struct lull_head *unused)
{
	(void)unused;
	lull_hazptr_call(&held->head, take_down);
}

TEST(held_descendant)
{
	for (int mode = 0; mode < 3; mode++) {
		struct lull_hazptr_hold hold;
		struct lull_head head;
		struct part *seen;

		set_mode(modes[mode]);
		held = (struct part *)calloc(1, sizeof(*held));
		seen = lull_hazptr_acquire_member(&hold, &held, head);
		assert_ptr_equal(seen, held);
		gone = 0;
		lull_rcu_call(&head, retires_held);
		assert_int_equal(lull_reclaim_drain(50), -ETIMEDOUT);
		assert_int_equal(gone, 0);
		lull_hazptr_release(&hold, seen);
		assert_int_equal(drain(), 0);
		assert_int_equal(gone, 1);
		nothing_waits();
	}
}

/* A descendant's callback forks. The child has no drain, and may begin one. */
static pid_t forked;

static void forks(struct lull_head *unused)
{
	(void)unused;
	forked = fork();
	if (forked == 0)
		alarm(60);
	defer_part(30, MIXED);
}

static void forks_next(struct lull_head *head)
{
	lull_rcu_call(head, forks);
}

static void fork_amid(void)
{
	struct lull_head head;
	int status;

	set_mode(LULL_RECLAIM_POLL);
	gone = 0;
	lull_rcu_call(&head, forks_next);
	must(drain() == 0);
	if (forked == 0)
		must(drain() == 0);
	must(gone == 31);
	defer_part(30, MIXED);
	must(drain() == 0);
	must(gone == 62);
	if (forked == 0)
		_exit(0);
	must(waitpid(forked, &status, 0) == forked && status == 0);
}

TEST(forks)
{
	expect_fine(fork_amid);
}

/* A drain waits for its own callback, too. */
static void drains_in_callback(struct lull_head *unused)
{
	(void)unused;
	lull_reclaim_drain(10);
}

TEST(misuse)
{
	struct lull_head head;

	EXPECT_ABORT("lull_reclaim_drain in a callback would wait for itself for ever") {
		set_mode(LULL_RECLAIM_POLL);
		lull_rcu_call(&head, drains_in_callback);
		lull_rcu_barrier();
	}
	EXPECT_MISUSE("lull_reclaim_drain in a read section would wait for itself for ever; *") {
		lull_rcu_read_lock();
		lull_reclaim_drain(10);
	}
}
