/* SPDX-License-Identifier: MIT */
/* runs: c++, oracles */
/*
 * queue.c - mutex.h: in which order threads get the lock, when a waiter becomes the heir and who is the next
 * one, that a mutex with waiters is not destroyed; and the calls that may be made anywhere.
 */
#include "mutex/support.h"

#include <sys/time.h>

/* Parts of struct lull_mutex's `rest`. */
#define HEIR_TID 0x3fffffu
#define SPINNER	 0x400000u
#define GENERATION 0x10000000u /* counts forks, to 7 */

SETUP
{
	alarm(110);
}

/* ---- who is next ---------------------------------------------------------------------------------------------- */

enum { SLEEPERS = 5 };

/* The first to sleep is the first to be woken; and one at a time. */
TEST(order)
{
	struct lull_mutex m = LULL_MUTEX_INIT;
	struct waiter w[SLEEPERS];

#ifdef LULL_DEBUG
	SKIP("sleepers of debug builds get up to look for deadlocks, and queue again");
#endif
	lull_mutex_lock(&m);
	for (int i = 0; i < SLEEPERS; i++) {
		waiter_start(&w[i], &m, 0);
		await_asleep(&m, LULL__MUTEX_WAITERS, &w[i].tid);
	}
	lull_mutex_unlock(&m);
	for (int i = 0; i < SLEEPERS; i++) {
		AWAIT(lull_load_acquire(&w[i].done)); /* or another has been woken, or none */
		assert_int_equal(lull_mutex_owner(&m), w[i].tid);
		nap_ms(2);
		for (int j = i + 1; j < SLEEPERS; j++)
			assert_int_equal(lull_load_acquire(&w[j].done), 0);
		waiter_join(&w[i]);
	}
	assert_int_equal(m.word, 0);
	lull_mutex_destroy(&m);
}

static int in_handler, handler_ends;

static void stays(int signal)
{
	(void)signal;
	lull_store_release(&in_handler, 1);
	AWAIT(lull_load_acquire(&handler_ends));
}

/* A sleeper was woken and is on its way, for as long as it takes: one that finds the lock free has it meanwhile. */
TEST(free_is_taken)
{
	struct lull_mutex m = LULL_MUTEX_INIT;
	struct waiter w;

	handle(SIGUSR2, stays);
	in_handler = handler_ends = 0;
	lull_mutex_lock(&m);
	waiter_start(&w, &m, 0);
	await_asleep(&m, LULL__MUTEX_WAITERS, &w.tid);
	interrupt_until(w.thread, SIGUSR2, &in_handler, 1);
	for (int i = 0; i < 10; i++) {
		lull_mutex_unlock(&m);
		assert_int_equal(lull_mutex_owner(&m), 0);
		if (i % 3 == 0)
			assert_true(lull_mutex_trylock(&m));
		else if (i % 3 == 1)
			assert_int_equal(lull_mutex_timedlock(&m, 0), 0);
		else
			lull_mutex_lock(&m);
	}
	assert_int_equal(w.done, 0);
	lull_mutex_unlock(&m);
	lull_store_release(&handler_ends, 1);
	AWAIT(lull_load_acquire(&w.done)); /* the lock is free */
	waiter_join(&w);
	assert_int_equal(m.word, 0);
	lull_mutex_destroy(&m);
}

/* ---- the heir ------------------------------------------------------------------------------------------------- */

/* Not before its patience is at an end, however often it gets up and looks. */
TEST(patience)
{
	struct lull_mutex m = LULL_MUTEX_INIT;
	struct waiter w;
	uint64_t start_ns, heir_ns = 0;

	assert_int_equal(LULL_MUTEX_PATIENCE_MS, 5);
	handle(SIGUSR1, does_nothing);
	lull_mutex_lock(&m);
	for (int i = 0; i < 5; i++) {
		start_ns = now_ns();
		waiter_start(&w, &m, 0);
		while (!(lull_load_relaxed(&m.rest) & HEIR_TID)) {
			check_patience(start_ns, "an heir", __FILE__, __LINE__);
			pthread_kill(w.thread, SIGUSR1);
			usleep(100);
		}
		heir_ns = now_ns();
		assert_true(heir_ns - start_ns >= LULL_MUTEX_PATIENCE_MS * MS);
		assert_int_equal(lull_load_relaxed(&m.rest) & HEIR_TID, lull_load_acquire(&w.tid));
		make_heir(&w); /* asleep, and HEIR is set */
		lull_mutex_unlock(&m);
		waiter_join(&w);
		lull_mutex_lock(&m);
	}
	lull_mutex_unlock(&m);
	lull_mutex_destroy(&m);
}

enum { IMPATIENT = 3 };

/* A waiter; it notes who has the lock right after its own unlock. */
struct claimant {
	struct waiter w;
	uint32_t owner_after;
};

static struct lull_mutex claimed;
static struct claimant claimants[IMPATIENT];

static void *claims(void *arg)
{
	struct claimant *c = (struct claimant *)arg;

	lull_store_release(&c->w.tid, my_tid());
	lull_mutex_lock(&claimed);
	lull_store_release(&c->w.done, 1);
	await_flag(&c->w.release_waiter, 1);
	lull_mutex_unlock(&claimed);
	c->owner_after = lull_mutex_owner(&claimed);
	return NULL;
}

static uint32_t heir_of_claimed(void)
{
	return lull_load_relaxed(&claimed.rest) & HEIR_TID;
}

static struct claimant *claimant_of(uint32_t tid)
{
	for (int i = 0; i < IMPATIENT; i++)
		if (claimants[i].w.tid == tid)
			return &claimants[i];
	fail_msg("the heir is none of the waiters");
	return NULL;
}

/* All who wait get up, until their patience is at an end and one of them is the heir, and asleep. Then others change nothing. */
static struct claimant *make_impatient(void)
{
	uint32_t heir = 0;

	for (int round = 0; round < 5 || !heir; round++) {
		for (int i = 0; i < IMPATIENT; i++) {
			struct waiter *w = &claimants[i].w;

			if (lull_load_acquire(&w->done))
				continue;
			await_asleep(&claimed, LULL__MUTEX_WAITERS, &w->tid);
			pthread_kill(w->thread, SIGUSR1);
			nap_ms(LULL_MUTEX_PATIENCE_MS);
			await_asleep(&claimed, LULL__MUTEX_WAITERS, &w->tid);
			if (heir)
				assert_int_equal(heir_of_claimed(), heir);
			heir = heir_of_claimed();
		}
	}
	make_heir(&claimant_of(heir)->w);
	assert_int_equal(heir_of_claimed(), heir);
	return claimant_of(heir);
}

/* One of those that wait for too long is the heir; when it has the lock, it is another. Each is handed the lock. */
TEST(second_heir)
{
	struct claimant *heir, *next;

	handle(SIGUSR1, does_nothing);
	memset(claimants, 0, sizeof(claimants));
	lull_mutex_lock(&claimed);
	for (int i = 0; i < IMPATIENT; i++) {
		claimants[i].w.m = &claimed;
		claimants[i].w.thread = start_thread(claims, &claimants[i]);
		await_asleep(&claimed, LULL__MUTEX_WAITERS, &claimants[i].w.tid);
	}
	heir = make_impatient();
	lull_mutex_unlock(&claimed);
	assert_int_equal(lull_mutex_owner(&claimed), heir->w.tid);
	for (int left = IMPATIENT - 1; left > 0; left--) {
		AWAIT(lull_load_acquire(&heir->w.done)); /* it has got the lock */
		next = make_impatient();
		assert_ptr_not_equal(next, heir);
		waiter_join(&heir->w);
		assert_int_equal(heir->owner_after, next->w.tid);
		heir = next;
	}
	AWAIT(lull_load_acquire(&heir->w.done));
	assert_int_equal(heir_of_claimed(), 0);
	waiter_join(&heir->w);
	assert_int_equal(claimed.word, 0);
	lull_mutex_destroy(&claimed);
}

/* ---- destroyed while a thread waits --------------------------------------------------------------------------- */

static uint32_t left_in_rest;

/* The lock is free, and a thread that spins for it has yet to see that. */
static void destroys_beside_spinner(void)
{
	struct lull_mutex m = LULL_MUTEX_INIT;

	pthread_setname_np(pthread_self(), "hasty");
	want_line("thread \"hasty\" (tid %u) destroys mutex %p, for which another thread waits", my_tid(), (void *)&m);
	m.rest = left_in_rest;
	lull_mutex_destroy(&m);
}

/* A number that the parent left there before the fork is nothing to wait for: so there are eight ways to say it. */
TEST(destroy_beside_spinner)
{
	char text[4096];
	int aborted = 0;

	for (uint32_t i = 0; i < 8; i++) {
		left_in_rest = i * GENERATION | SPINNER;
		if (WIFSIGNALED(run_child(destroys_beside_spinner, text, sizeof(text)))) {
			expect_wanted_line(destroys_beside_spinner);
			aborted++;
		} else {
			expect_fine(destroys_beside_spinner);
		}
	}
	assert_int_equal(aborted, 1);
}

/* ---- calls that may be made anywhere --------------------------------------------------------------------------- */

static int handler_runs;

/* Make the calls that must get through although the interrupted thread holds a lock inside such a call. */
static void calls_anything(int signal)
{
	struct lull_mutex m;

	(void)signal;
	lull_mutex_init(&m, 0);
	must(lull_mutex_owner(&m) == 0);
	must(lull_mutex_trylock(&m));
	must(lull_mutex_is_locked(&m));
	must(!lull_mutex_trylock(&m));
	lull_mutex_unlock(&m);
	lull_mutex_destroy(&m);
	must(*lull_mutex_oracle_name());
	lull_store_relaxed(&handler_runs, handler_runs + 1);
}

/* The handler comes after each millisecond of this thread's work, wherever it is then. */
TEST(any_context)
{
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	uint64_t since_ns = now_ns();

	handle(SIGPROF, calls_anything);
	handler_runs = 0;
	assert_int_equal(setitimer(ITIMER_PROF, &often, NULL), 0);
	while (lull_load_relaxed(&handler_runs) < 50) {
		struct lull_mutex m;

		check_patience(since_ns, "fifty signals", __FILE__, __LINE__);
		for (int i = 0; i < 100; i++) {
			lull_mutex_init(&m, 0);
			lull_mutex_lock(&m);
			must(lull_mutex_owner(&m) == my_tid());
			lull_mutex_unlock(&m);
			lull_mutex_destroy(&m);
			must(*lull_mutex_oracle_name());
		}
	}
	assert_int_equal(setitimer(ITIMER_PROF, &never, NULL), 0);
}

BEFORE_ALL
{
	make_wanted_line();
}
