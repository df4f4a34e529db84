/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * inside.c - grace periods from the inside: how many threads' records they look at, which fences they make.
 */
#include <semaphore.h>

#include "child.h"
#include "threads.h"

#include <lull/stats.h>

#include "../src/base/registry.h"
#include "../src/rcu/grace_period.h"

#define CROWD (under_valgrind() ? 100u : 200u)
#define CROWD_MOST 200
#define LOOKS 1000u

/* A thread that is registered, and does nothing, or is in a read section, until it is told to go on. */
struct sitter {
	pthread_t thread;
	bool reads;
	const struct lull__thread *record;
	sem_t ready, go;
};

static void *sitter_run(void *arg)
{
	struct sitter *sitter = arg;

	lull_thread_register();
	sitter->record = &lull__self;
	if (sitter->reads)
		lull_rcu_read_lock();
	sem_post(&sitter->ready);
	sem_wait(&sitter->go);
	if (sitter->reads)
		lull_rcu_read_unlock();
	return NULL;
}

static void sitter_start(struct sitter *sitter, bool reads)
{
	sitter->reads = reads;
	sem_init(&sitter->ready, 0, 0);
	sem_init(&sitter->go, 0, 0);
	sitter->thread = start_thread(sitter_run, sitter);
	sem_wait(&sitter->ready);
}

static void sitter_stop(struct sitter *sitter)
{
	sem_post(&sitter->go);
	join_thread(sitter->thread);
}

static struct sitter idle[CROWD_MOST];

static void crowd_start(unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		sitter_start(&idle[i], false);
}

static void crowd_stop(unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		sitter_stop(&idle[i]);
}

static uint64_t looks_of_polls(lull_rcu_cookie cookie)
{
	uint64_t before = lull__rcu_looks;

	for (unsigned i = 0; i < LOOKS; i++)
		assert_false(lull_rcu_gp_poll(cookie));
	return lull__rcu_looks - before;
}

/* Two looks at each thread; from then on only at those that were in the way, however many others there are. */
TEST(looks_at_holdouts_only)
{
	struct sitter first, second;
	lull_rcu_cookie cookie;
	uint64_t all, both, one;

	lull_thread_register();
	crowd_start(0, CROWD / 2);
	sitter_start(&first, true);
	sitter_start(&second, true);
	crowd_start(CROWD / 2, CROWD);
	all = lull__rcu_looks;
	cookie = lull_rcu_gp_start();
	all = lull__rcu_looks - all;
	both = looks_of_polls(cookie);
	sitter_stop(&first);
	one = looks_of_polls(cookie);
	sitter_stop(&second);
	assert_true(lull_rcu_gp_poll(cookie));
	crowd_stop(0, CROWD);
	assert_int_equal(all, CROWD + 3); /* and this thread */
	assert_in_range(both, 2 * LOOKS, 2 * LOOKS + CROWD);
	assert_in_range(one, LOOKS, LOOKS + 1);
}

/* Threads that come do not count, nor do those that go; a holdout that ends is in no one's way. */
TEST(threads_come_and_go)
{
	struct sitter held[8];
	lull_rcu_cookie cookie;
	uint64_t looks;

	crowd_start(0, CROWD / 2);
	for (int i = 0; i < 8; i++)
		sitter_start(&held[i], true);
	cookie = lull_rcu_gp_start();
	crowd_stop(0, CROWD / 4);
	crowd_start(CROWD / 2, CROWD);
	for (int i = 0; i < 8; i += 2)
		sitter_stop(&held[i]);
	looks = looks_of_polls(cookie);
	crowd_stop(CROWD / 4, CROWD);
	for (int i = 1; i < 8; i += 2) {
		assert_false(lull_rcu_gp_poll(cookie));
		sitter_stop(&held[i]);
	}
	assert_true(lull_rcu_gp_poll(cookie));
	assert_in_range(looks, 4 * LOOKS, 8 * LOOKS + CROWD);
}

/* The next grace period looks at all threads again. */
TEST(each_looks_at_all)
{
	struct sitter early, late;
	lull_rcu_cookie cookie;

	sitter_start(&early, true);
	cookie = lull_rcu_gp_start();
	sitter_start(&late, true);
	assert_false(lull_rcu_gp_poll(cookie));
	sitter_stop(&early);
	assert_true(lull_rcu_gp_poll(cookie));
	cookie = lull_rcu_gp_start();
	assert_false(lull_rcu_gp_poll(cookie));
	sitter_stop(&late);
	assert_true(lull_rcu_gp_poll(cookie));
}

/* ---- heavy fences: only where a thread makes light ones ---------------------------------------- */

/* An online thread that is quiescent once, then goes offline and online again, then exits, each when it is told to. */
static void *online_run(void *arg)
{
	struct sitter *sitter = arg;

	lull_rcu_online();
	sem_post(&sitter->ready);
	sem_wait(&sitter->go);
	lull_rcu_quiescent();
	sem_post(&sitter->ready);
	sem_wait(&sitter->go);
	lull_rcu_offline();
	sem_post(&sitter->ready);
	sem_wait(&sitter->go);
	lull_rcu_online();
	sem_post(&sitter->ready);
	sem_wait(&sitter->go);
	lull_rcu_offline();
	return NULL;
}

static void online_next(struct sitter *sitter)
{
	sem_post(&sitter->go);
	sem_wait(&sitter->ready);
}

static void online_start(struct sitter *sitter)
{
	sem_init(&sitter->ready, 0, 0);
	sem_init(&sitter->go, 0, 0);
	sitter->thread = start_thread(online_run, sitter);
	sem_wait(&sitter->ready);
}

/* Heavy fences that a grace period makes if @sitter, when it is not NULL, has to be quiescent before its end. */
static uint64_t fences_of_one(struct sitter *sitter)
{
	uint64_t before = lull_fence_heavy_count();
	lull_rcu_cookie cookie = lull_rcu_gp_start();

	if (sitter) {
		must(!lull_rcu_gp_poll(cookie));
		online_next(sitter);
	}
	must(lull_rcu_gp_poll(cookie));
	return lull_fence_heavy_count() - before;
}

static uint64_t fences_of_synchronize(void)
{
	uint64_t before = lull_fence_heavy_count();

	lull_rcu_synchronize();
	return lull_fence_heavy_count() - before;
}

static uint64_t one_if_light(void)
{
	return lull_fence_strategy() == LULL_FENCE_MEMBARRIER ? 1 : 0;
}

static void alone(void)
{
	must(lull_thread_count() == 1);
	must(fences_of_one(NULL) == 0);
	must(fences_of_synchronize() == 0);
}

/* A grace period makes no heavy fence if the thread that begins it is the only one that is registered. */
TEST(alone)
{
	struct sitter other;

	lull_thread_register();
	alone();
	expect_fine(alone);
	sitter_start(&other, false);
	assert_int_equal(fences_of_one(NULL), one_if_light());
	assert_int_equal(fences_of_synchronize(), one_if_light());
	expect_fine(alone); /* a child has not got the other thread */
	sitter_stop(&other);
	alone();
}

/* No heavy fence either if all others are online. One that went or always was offline makes light fences. */
TEST(all_online)
{
	struct sitter first, ordinary;

	lull_thread_register();
	online_start(&first);
	assert_int_equal(fences_of_one(&first), 0);
	online_next(&first); /* it is offline now */
	assert_int_equal(fences_of_one(NULL), one_if_light());
	assert_int_equal(fences_of_synchronize(), one_if_light());
	online_next(&first);
	sitter_start(&ordinary, false);
	{
		uint64_t before = lull_fence_heavy_count();
		lull_rcu_cookie cookie = lull_rcu_gp_start();

		assert_int_equal(lull_fence_heavy_count() - before, one_if_light());
		sitter_stop(&ordinary);
		assert_false(lull_rcu_gp_poll(cookie));
		sem_post(&first.go);
		join_thread(first.thread);
		assert_true(lull_rcu_gp_poll(cookie));
		assert_int_equal(lull_fence_heavy_count() - before, one_if_light());
	}
	alone();
}

/* A thread that scans slots asks this, and makes a fence of its own if it is not so. */
TEST(has_fenced)
{
	struct sitter other;
	lull_rcu_cookie cookie;

	lull_thread_register();
	cookie = lull_rcu_gp_start();
	assert_true(lull_rcu_gp_poll(cookie));
	assert_false(lull__rcu_has_fenced(cookie)); /* for no thread */
	sitter_start(&other, false);
	for (int i = 0; i < 3; i++) {
		cookie = lull_rcu_gp_start();
		assert_true(lull_rcu_gp_poll(cookie));
		assert_true(lull__rcu_has_fenced(cookie));
		assert_true(lull__rcu_has_fenced(cookie - LULL__RCU_STEP));
		assert_false(lull__rcu_has_fenced(cookie + LULL__RCU_STEP));
	}
	sitter_stop(&other);
}

/* The one thread that is registered makes light fences, as this one, which begins a grace period, has to know. */
static void *begins_unregistered(void *unused)
{
	uint64_t before = lull_fence_heavy_count();

	(void)unused;
	assert_true(lull_rcu_gp_poll(lull__rcu_cookie()));
	assert_int_equal(lull_thread_count(), 1);
	assert_int_equal(lull_fence_heavy_count() - before, one_if_light());
	return NULL;
}

TEST(begun_by_another)
{
	lull_thread_register();
	join_thread(start_thread(begins_unregistered, NULL));
}

static void *synchronizes_once(void *fences)
{
	*(uint64_t *)fences = fences_of_synchronize();
	return NULL;
}

/* A grace period that sleeps for a reader makes one more. */
TEST(sleep_makes_one_more)
{
	struct sitter reader;
	pthread_t waiter;
	uint64_t fences;

	lull_thread_register();
	sitter_start(&reader, true);
	waiter = start_thread(synchronizes_once, &fences);
	AWAIT(lull_load_relaxed(&reader.record->flags) & LULL__FLAG_RCU_WAITED);
	sitter_stop(&reader);
	join_thread(waiter);
	assert_int_equal(fences, 2 * one_if_light());
}

#define HOLDOUTS 40

/* A grace period sleeps for more threads than a report names. Each is flagged, and the page counts them all. */
TEST(many_holdouts)
{
	struct sitter reader[HOLDOUTS];
	pthread_t waiter;
	uint64_t fences;

	lull_thread_register();
	for (int i = 0; i < HOLDOUTS; i++)
		sitter_start(&reader[i], true);
	waiter = start_thread(synchronizes_once, &fences);
	AWAIT(lull_load_relaxed(&lull_stats_page()->waits[0].holders) == HOLDOUTS);
	for (int i = 0; i < HOLDOUTS; i++) {
		assert_true(lull_load_relaxed(&reader[i].record->flags) & LULL__FLAG_RCU_WAITED);
		sitter_stop(&reader[i]);
	}
	join_thread(waiter);
}

static int in_callback, may_return;

static void dallies(struct lull_head *head)
{
	(void)head;
	lull_store_release(&in_callback, 1);
	await_flag(&may_return, 1);
}

static void nothing(struct lull_head *head)
{
	(void)head;
}

/* Does a thread rest? */
static bool resting(void)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;
	bool found = false;

	lull__registry_enter(&hold);
	lull__for_each_thread(thread) {
		if (lull_load_relaxed(&thread->state) & LULL__STATE_RESTS)
			found = true;
	}
	lull__registry_leave(&hold);
	return found;
}

/* lull's reclaimer counts while it runs a callback, and not while it sleeps. */
TEST(reclaimer_counts)
{
	static struct lull_head head;
	uint64_t fences;
	bool rested;

	lull_thread_register();
	do { /* it may get up or end meanwhile, and makes fences itself: if it counts asleep, the alarm ends this */
		lull_rcu_call(&head, nothing);
		lull_rcu_barrier();
		nap_ms(5);
		rested = resting();
		fences = fences_of_one(NULL);
	} while (!rested || fences || !resting());
	lull_rcu_call(&head, dallies);
	await_flag(&in_callback, 1);
	assert_false(resting());
	assert_true(fences_of_one(NULL) >= one_if_light());
	lull_store_release(&may_return, 1);
	lull_rcu_barrier();
}

static lull_rcu_cookie parents;

TEST(fork)
{
	struct sitter other;

	sitter_start(&other, true);
	lull_rcu_read_lock();
	parents = lull_rcu_gp_start();
	assert_false(lull_rcu_gp_poll(parents));
	/* The thread that forked is in its section, and the open grace period goes on to wait for it. */
	EXPECT_FINE {
		must(!lull_rcu_gp_poll(parents));
		lull_rcu_read_unlock();
		must(lull_rcu_gp_poll(parents));
		lull_rcu_synchronize();
	}
	lull_rcu_read_unlock();
	assert_false(lull_rcu_gp_poll(parents));
	sitter_stop(&other);
	assert_true(lull_rcu_gp_poll(parents));
}

static int storm_stop;

static void *synchronizes(void *unused)
{
	(void)unused;
	while (!lull_load_relaxed(&storm_stop))
		lull_rcu_synchronize();
	return NULL;
}

/* The parent is amid the fence of a grace period, whose number its readers do not know yet. */
TEST(fork_amid_fence)
{
	struct sitter other;
	pthread_t thread;

	sitter_start(&other, false); /* for which a heavy fence is made */
	lull_store_relaxed(&storm_stop, 0);
	thread = start_thread(synchronizes, NULL);
	for (int n = 0; n < (under_valgrind() ? 5 : 200); n++)
		/* An online thread takes the number of the newest grace period, so it is in the way of none once it is quiescent. */
		EXPECT_FINE {
			lull_rcu_cookie cookie;

			lull_rcu_online();
			cookie = lull_rcu_gp_start();
			for (int i = 0; i < 10 && !lull_rcu_gp_poll(cookie); i++)
				lull_rcu_quiescent();
			must(lull_rcu_gp_poll(cookie));
			lull_rcu_offline();
			lull_rcu_synchronize();
		}
	lull_store_relaxed(&storm_stop, 1);
	join_thread(thread);
	sitter_stop(&other);
}

BEFORE_ALL
{
	alarm(100);
	set_stall_ms(0); /* a slow machine is not worth a line */
}
