/* SPDX-License-Identifier: MIT */
/*
 * test_grace_period.c - grace periods from the inside: how many threads' records they look at.
 */
#include <semaphore.h>

#include "support.h"

#include "../../../src/rcu/grace_period.h"

#define CROWD (under_valgrind() ? 100u : 200u)
#define CROWD_MOST 200
#define LOOKS 1000u

/* A thread that is registered, and does nothing, or is in a read section, until it is told to go on. */
struct sitter {
	pthread_t thread;
	bool reads;
	sem_t ready, go;
};

static void *sitter_run(void *arg)
{
	struct sitter *sitter = arg;

	lull_thread_register();
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
static void test_looks_at_holdouts_only(void **state)
{
	struct sitter first, second;
	lull_rcu_cookie cookie;
	uint64_t all, both, one;

	(void)state;
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

/* Threads that come do not count, nor do those that go; a holdout that ends is in nobody's way. */
static void test_threads_come_and_go(void **state)
{
	struct sitter held[8];
	lull_rcu_cookie cookie;
	uint64_t looks;

	(void)state;
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
static void test_each_looks_at_all(void **state)
{
	struct sitter early, late;
	lull_rcu_cookie cookie;

	(void)state;
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

static lull_rcu_cookie parents;

/* The thread that forked is in its section, and the open grace period goes on to wait for it. */
static void child_of_open_grace_period(void)
{
	must(!lull_rcu_gp_poll(parents));
	lull_rcu_read_unlock();
	must(lull_rcu_gp_poll(parents));
	lull_rcu_synchronize();
}

static void test_fork(void **state)
{
	struct sitter other;

	(void)state;
	sitter_start(&other, true);
	lull_rcu_read_lock();
	parents = lull_rcu_gp_start();
	assert_false(lull_rcu_gp_poll(parents));
	expect_fine(child_of_open_grace_period);
	lull_rcu_read_unlock();
	assert_false(lull_rcu_gp_poll(parents));
	sitter_stop(&other);
	assert_true(lull_rcu_gp_poll(parents));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_looks_at_holdouts_only),
		cmocka_unit_test(test_threads_come_and_go),
		cmocka_unit_test(test_each_looks_at_all),
		cmocka_unit_test(test_fork),
	};

	alarm(100);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
