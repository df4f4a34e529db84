/* SPDX-License-Identifier: MIT */
/* runs: c++, oracles */
/*
 * cond_mutexes.c - cond.h: a condition variable is used with another mutex as soon as no thread sleeps for a signal;
 * those that were woken need not have returned. (What is asked of the kernel: inside/cond.c; a broadcast that is still
 * under way: hostile/cond_stopped.c.)
 */
#include "mutex/support.h"

static struct lull_cond cond;
static struct some_lock locks[2];

static void make_both(enum kind kind)
{
	for (int i = 0; i < 2; i++)
		make_lock(&locks[i], kind);
	lull_cond_init(&cond, kind == PRIVATE ? 0 : LULL_MUTEX_SHARED);
}

static void unmake_both(void)
{
	for (int i = 0; i < 2; i++)
		lull_mutex_destroy(&locks[i].robust.mutex);
	assert_int_equal(how_many_wait(&cond), 0);
	lull_cond_destroy(&cond);
}

static int wait_until(struct some_lock *l, uint64_t deadline_ns)
{
	if (l->kind == ROBUST)
		return lull_cond_timedwait_robust(&cond, &l->robust, deadline_ns);
	return lull_cond_timedwait(&cond, &l->robust.mutex, deadline_ns);
}

enum way { BROADCAST, SIGNALS, WAYS };

static void wake(enum way way, int number)
{
	if (way == BROADCAST)
		lull_cond_broadcast(&cond);
	for (int i = 0; i < number && way == SIGNALS; i++)
		lull_cond_signal(&cond);
}

/* ---- woken, and kept from returning ---------------------------------------------------------------------------- */

enum { FEW = 4 };

static bool told; /* under locks[0] */
static uint32_t tids[FEW];

static void *waits_until_told(void *tid)
{
	must(acquire(&locks[0]) == 0);
	lull_store_release((uint32_t *)tid, my_tid());
	while (!told)
		assert_int_equal(wait_until(&locks[0], UINT64_MAX), 0);
	release(&locks[0]);
	return NULL;
}

static int wakes_other;

static void *wakes_with_other(void *unused)
{
	AWAIT(how_many_wait(&cond) >= 1 && try_acquire(&locks[1]) == 0);
	lull_store_release(&wakes_other, 1);
	lull_cond_signal(&cond);
	release(&locks[1]);
	return unused;
}

/* The caller has the first mutex, so nobody returns while it waits with the second: till a time, or a signal. */
static void wait_beside_woken(enum kind kind, enum way way, bool signalled)
{
	pthread_t threads[FEW], other = 0;

	make_both(kind);
	told = false;
	wakes_other = 0;
	for (int i = 0; i < FEW; i++) {
		tids[i] = 0;
		threads[i] = start_thread(waits_until_told, &tids[i]);
	}
	for (int i = 0; i < FEW; i++)
		AWAIT(how_many_wait(&cond) == FEW && sleeps(&tids[i]));
	must(acquire(&locks[0]) == 0);
	told = true;
	wake(way, FEW);
	must(acquire(&locks[1]) == 0);
	if (signalled) {
		other = start_thread(wakes_with_other, NULL);
		while (!lull_load_acquire(&wakes_other))
			assert_int_equal(wait_until(&locks[1], UINT64_MAX), 0);
		join_thread(other);
	} else {
		while (wait_until(&locks[1], now_ns() + MS) != -ETIMEDOUT)
			;
	}
	release(&locks[1]);
	lull_cond_destroy(&cond); /* those of the first have left it, or are about to */
	release(&locks[0]);
	for (int i = 0; i < FEW; i++)
		join_thread(threads[i]);
	unmake_both();
}

TEST(woken)
{
	for (int kind = 0; kind < kinds_here(); kind++)
		for (int i = 0; i < 2 * WAYS; i++)
			wait_beside_woken((enum kind)kind, (enum way)(i % WAYS), i >= WAYS);
}

/* ---- in turn --------------------------------------------------------------------------------------------------- */

enum { PLAYERS_MOST = 6 };

static struct game {
	int players, phases;
	enum way way;
	uint64_t length_ns; /* of a wait; UINT64_MAX: no end */
} game;

static int phase, arrived; /* under the mutex of the phase, and of the next one by the thread that ends this */

/* A barrier: all wait with the mutex of the phase. Those that go on use the other one, while woken threads return. */
static void *plays(void *unused)
{
	for (int mine = 0; mine < game.phases; mine++) {
		struct some_lock *l = &locks[mine % 2];

		must(acquire(l) == 0);
		if (lull_add_relaxed(&arrived, 1) + 1 == game.players) {
			lull_store_relaxed(&arrived, 0);
			lull_store_relaxed(&phase, mine + 1);
			wake(game.way, game.players - 1);
		}
		while (lull_load_relaxed(&phase) == mine)
			wait_until(l, game.length_ns == UINT64_MAX ? UINT64_MAX : now_ns() + game.length_ns);
		release(l);
	}
	return unused;
}

/* A wake-up that is lost is not made good; but where processes may share the mutexes, waiters look again after 5 s. */
TEST(in_turn)
{
	static const struct game games[] = {
		{ 2, 3000, BROADCAST, UINT64_MAX },
		{ 2, 3000, SIGNALS, UINT64_MAX },
		{ 3, 3000, BROADCAST, UINT64_MAX },
		{ 6, 1500, BROADCAST, UINT64_MAX },
		{ 6, 1500, SIGNALS, UINT64_MAX },
		{ 4, 1500, BROADCAST, 20000 },
		{ 4, 1500, SIGNALS, 20000 },
	};

	for (int kind = 0; kind < kinds_here(); kind++) {
		for (size_t i = 0; i < sizeof(games) / sizeof(games[0]); i++) {
			pthread_t threads[PLAYERS_MOST];

			game = games[i];
			phase = arrived = 0;
			make_both((enum kind)kind);
			for (int j = 0; j < game.players; j++)
				threads[j] = start_thread(plays, NULL);
			for (int j = 0; j < game.players; j++)
				join_thread(threads[j]);
			assert_int_equal(phase, game.phases);
			unmake_both();
		}
	}
}

/* ---- two at one time --------------------------------------------------------------------------------------------- */

static int back;

static void *waits_once(void *tid)
{
	must(acquire(&locks[0]) == 0);
	lull_store_release((uint32_t *)tid, my_tid());
	wait_until(&locks[0], UINT64_MAX);
	release(&locks[0]);
	lull_store_release(&back, 1);
	return NULL;
}

/* Of those that processes share, one may sleep whose process is being killed: it is woken, and nobody aborts. */
TEST(two_at_a_time)
{
	for (int kind = SHARED; kind < kinds_here(); kind++) {
		pthread_t thread;

		make_both((enum kind)kind);
		tids[0] = 0;
		back = 0;
		thread = start_thread(waits_once, &tids[0]);
		AWAIT(how_many_wait(&cond) == 1 && sleeps(&tids[0]));
		must(acquire(&locks[1]) == 0);
		while (wait_until(&locks[1], now_ns() + MS) != -ETIMEDOUT)
			;
		release(&locks[1]);
		AWAIT(lull_load_acquire(&back));
		join_thread(thread);
		unmake_both();
	}
}

/* A lost wake-up ends the test: by a line, where it is awaited, or by this. */
SETUP
{
	alarm(110);
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
