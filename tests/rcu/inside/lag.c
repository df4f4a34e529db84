/* SPDX-License-Identifier: MIT */
/* runs: alone, full-fences */
/*
 * lag.c - grace periods whose leader is not run: others go on beside it, and it does no harm when it comes back. And
 * those whose leader forks in a signal handler. This program contains their source, to see the three numbers, and moves.
 */
#include <semaphore.h>

#include "fork_steps.h"

#include "../src/base/registry.h"

static void moving(struct lull__thread *thread, struct lull__thread *after);

#define lull__registry_move moving
#include "../src/rcu/grace_period.c"
#undef lull__registry_move

struct numbers {
	uint64_t started, carried, completed;
};

static struct numbers numbers(void)
{
	return (struct numbers){ lull_load_relaxed(&gp.started), lull_load_relaxed(&lull__rcu_gp),
				 lull_load_acquire(&gp.completed) };
}

/* None of them is smaller than it was @before. */
static void expect_no_less(struct numbers before)
{
	struct numbers now = numbers();

	assert_true(now.started >= before.started);
	assert_true(now.carried >= before.carried);
	assert_true(now.completed >= before.completed);
	assert_true(now.started >= now.carried && now.carried >= now.completed);
}

/* A thread in a read section until it is told to go on. */
struct sitter {
	pthread_t thread;
	sem_t ready, go;
};

static void *sits(void *arg)
{
	struct sitter *sitter = arg;

	lull_rcu_read_lock();
	sem_post(&sitter->ready);
	sem_wait(&sitter->go);
	lull_rcu_read_unlock();
	sem_post(&sitter->ready);
	sem_wait(&sitter->go);
	return NULL;
}

static void sitter_start(struct sitter *sitter)
{
	sem_init(&sitter->ready, 0, 0);
	sem_init(&sitter->go, 0, 0);
	sitter->thread = start_thread(sits, sitter);
	sem_wait(&sitter->ready);
}

static void sitter_leaves(struct sitter *sitter)
{
	sem_post(&sitter->go);
	sem_wait(&sitter->ready);
}

static void sitter_stop(struct sitter *sitter)
{
	sem_post(&sitter->go);
	join_thread(sitter->thread);
}

/* ---- a leader that is stopped in the middle of a step ------------------------------------------- */

#if CAN_STEP
static void *steps_through(void *unused)
{
	(void)unused;
	lull_thread_register();
	step_through(lull_rcu_synchronize);
	lull_store_release(&stopped, 2);
	return NULL;
}

/*
 * Stop a leader at its instruction number @stop_at. Returns false if it has come to its end before. Unless it holds the
 * lock of the registry, nothing that this thread does depends on it.
 */
static bool go_beside(unsigned *led, unsigned *held)
{
	pthread_t leader;
	struct numbers before;
	int state;

	lull_store_relaxed(&stopped, 0);
	lull_store_relaxed(&may_go, 0);
	leader = start_thread(steps_through, NULL);
	AWAIT_SOON((state = lull_load_acquire(&stopped)) != 0);
	*led += state == 1 && lull_load_relaxed(&gp.leader.word);
	if (state == 1 && lull_load_relaxed(&lull__registry_lock.word)) {
		++*held;
	} else {
		lull_rcu_synchronize();
		lull_rcu_synchronize();
	}
	before = numbers();
	lull_store_release(&may_go, 1);
	join_thread(leader);
	expect_no_less(before);
	lull_rcu_synchronize();
	return state == 1;
}

TEST(leader_stops_anywhere)
{
	unsigned led = 0, held = 0;
	struct sitter other;

	if (under_valgrind())
		SKIP("valgrind steps in its own way");
	lull_thread_register();
	sitter_start(&other); /* for which fences are heavy */
	sitter_leaves(&other);
	begin_traps(NULL);
	forks_itself = false;
	for (stop_at = 1; go_beside(&led, &held); stop_at += 4 * EACH + 1)
		;
	signal(SIGTRAP, SIG_DFL);
	sitter_stop(&other);
	assert_true(led > 20); /* or it was not stopped where this matters */
	assert_true(held < led);
	assert_true(lull__rcu_beside > 20);
}
#else
TEST(leader_stops_anywhere)
{
	SKIP("no single steps here");
}
#endif

/* ---- a leader that sleeps ----------------------------------------------------------------------- */

static int in_handler, handler_may_go;

static void stays(int sig)
{
	(void)sig;
	lull_store_release(&in_handler, 1);
	while (!lull_load_acquire(&handler_may_go))
		nap_ms(1);
}

static void *synchronizes(void *done)
{
	lull_rcu_synchronize();
	if (done)
		lull_store_release((int *)done, 1);
	return NULL;
}

/*
 * The leader sleeps for a reader. As long as that is so no thread works beside it. Then the reader leaves and wakes it,
 * and it is not run: it stays in a signal handler.
 */
TEST(woken_and_not_run)
{
	struct sitter reader;
	pthread_t leader, waiter;
	lull_rcu_cookie cookie;
	uint64_t looks, beside;
	struct numbers before;
	int done = 0;

	lull_thread_register();
	sitter_start(&reader);
	signal(SIGUSR1, stays);
	leader = start_thread(synchronizes, NULL);
	AWAIT(lull_load_relaxed(&gp.sleeps_at));
	nap_ms(5); /* or it takes this thread for awake once */
	beside = lull_load_relaxed(&lull__rcu_beside);
	looks = lull_load_relaxed(&lull__rcu_looks);
	waiter = start_thread(synchronizes, &done);
	cookie = lull_rcu_gp_start();
	for (int i = 0; i < 50; i++) {
		assert_false(lull_rcu_gp_poll(cookie));
		nap_ms(1);
	}
	assert_int_equal(lull_load_relaxed(&lull__rcu_beside), beside);
	assert_int_equal(lull_load_relaxed(&lull__rcu_looks), looks);
	interrupt_until(leader, SIGUSR1, &in_handler, 1);
	sitter_leaves(&reader);
	AWAIT(lull_rcu_gp_poll(cookie));
	await_flag(&done, 1);
	lull_rcu_synchronize();
	assert_true(lull_load_relaxed(&lull__rcu_beside) > beside);
	before = numbers();
	lull_store_release(&handler_may_go, 1);
	join_thread(leader);
	join_thread(waiter);
	expect_no_less(before);
	sitter_stop(&reader);
	signal(SIGUSR1, SIG_DFL);
}

/* A grace period beside the leader waits for readers as any other. */
TEST(beside_waits_for_readers)
{
	struct sitter reader;
	lull_rcu_cookie cookie;

	lull_thread_register();
	lull__lock(&gp.leader); /* for a leader that is not run */
	sitter_start(&reader);
	cookie = lull_rcu_gp_start();
	for (int i = 0; i < 20; i++) {
		assert_false(lull_rcu_gp_poll(cookie));
		lull_rcu_gp_start(); /* begins no new one beside the open one */
		nap_ms(1);
	}
	assert_true(lull_load_relaxed(&lull__rcu_beside) > 1);
	assert_in_range(numbers().started - numbers().completed, 0, LULL__RCU_STEP);
	sitter_leaves(&reader);
	AWAIT(lull_rcu_gp_poll(cookie));
	lull_rcu_synchronize();
	sitter_stop(&reader);
	lull__unlock(&gp.leader);
	lull_rcu_synchronize();
}

/* Where a thread is stopped with the lock of the registry nobody goes beside the leader, to wait for that. */
TEST(stopped_in_its_look)
{
	uint64_t beside = lull_load_relaxed(&lull__rcu_beside);
	lull_rcu_cookie cookie;

	lull_thread_register();
	lull__lock(&gp.leader);
	lull__lock(&lull__registry_lock);
	cookie = lull_rcu_gp_start();
	for (int i = 0; i < 5; i++, nap_ms(1))
		assert_false(lull_rcu_gp_poll(cookie));
	assert_false(lull__rcu_wait_until(cookie, lull__now_ns() + 2 * LAG_NS, NULL));
	lull__unlock(&lull__registry_lock);
	assert_int_equal(lull_load_relaxed(&lull__rcu_beside), beside);
	AWAIT(lull_rcu_gp_poll(cookie));
	lull__unlock(&gp.leader);
}

/* One of those that wait may have a later time from the clock than another one. */
TEST(times_of_others)
{
	lull_store_relaxed(&gp.seen_looks, lull_load_relaxed(&lull__rcu_looks));
	lull_store_relaxed(&gp.seen_ns, lull__now_ns() + 1000 * (uint64_t)LAG_NS);
	assert_false(gp_lags());
	lull_store_relaxed(&gp.seen_ns, lull__now_ns() - LAG_NS);
	assert_true(gp_lags());
}

/* ---- a leader whose signal handler forks ---------------------------------------------------------- */

static int moves, fork_at; /* at that one of the moves; 0: at none */
static lull_rcu_cookie forked_for;

/* Move, and let a signal come just before. */
static void moving(struct lull__thread *thread, struct lull__thread *after)
{
	if (++moves == fork_at)
		raise(SIGUSR1);
	lull__registry_move(thread, after);
}

static void forks(int sig)
{
	pid_t child = fork();
	int status = 1;

	(void)sig;
	if (child)
		must(waitpid(child, &status, 0) == child && status == 0);
	else
		fork_at = -1;
}

/* The child, in which the scan goes on, has none of the parent's threads, and waits for none. */
static void be_alone(void)
{
	alarm(30);
	must(lull_thread_count() == 1);
	must(lull__self.next == &lull__registry && lull__self.prev == &lull__registry);
	lull_rcu_synchronize();
	must(lull_rcu_gp_poll(forked_for));
	_exit(0);
}

/* Each of two readers is behind idle threads, for which it is worth moving. */
TEST(fork_amid_moves)
{
	enum { CROWD = 20, ALL = 2 * CROWD + 2 };
	struct sitter sitter[ALL];

	lull_thread_register();
	signal(SIGUSR1, forks);
	for (fork_at = 1; fork_at <= 2; fork_at++) {
		moves = 0;
		for (int i = 0; i < ALL; i++)
			sitter_start(&sitter[i]);
		for (int i = 0; i < ALL; i++)
			if (i % (CROWD + 1) != CROWD)
				sitter_leaves(&sitter[i]);
		forked_for = lull_rcu_gp_start();
		assert_false(lull_rcu_gp_poll(forked_for)); /* the second scan moves */
		if (fork_at < 0)
			be_alone();
		assert_int_equal(moves, 2);
		for (int i = CROWD; i < ALL; i += CROWD + 1)
			sitter_leaves(&sitter[i]);
		assert_true(lull_rcu_gp_poll(forked_for));
		for (int i = 0; i < ALL; i++)
			sitter_stop(&sitter[i]);
	}
	signal(SIGUSR1, SIG_DFL);
}

BEFORE_ALL
{
	alarm(100);
	set_stall_ms(0); /* a slow machine is not worth a line */
}
