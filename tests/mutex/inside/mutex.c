/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * mutex.c - one step at a time: what a lock and an unlock do to the word, which waiter an unlock wakes, and when it passes
 * those that sleep by.
 */
#include "mutex/alone.h"

/* ---- to lock and to unlock -------------------------------------------------------------------------------------------- */

TEST(lock)
{
	lull__mutex_lock_slow(&lock);
	assert_int_equal(lock.word, waiter.tid);
	lock.word = 0;
	lull__mutex_lock_woken(&lock);
	assert_int_equal(lock.word, waiter.tid | WAITERS); /* others may sleep */
	lock.word = 0;
	assert_int_equal(lull__mutex_timedlock_slow(&lock, 0), 0);
	assert_int_equal(lock.word, waiter.tid);
	lock.word = 0;
	assert_true(lull__mutex_trylock_slow(&lock));
	assert_int_equal(lock.word, waiter.tid);
	lock.word = OTHER;
	assert_false(lull__mutex_trylock_slow(&lock));
	assert_int_equal(lull__mutex_timedlock_slow(&lock, clock_ns), -ETIMEDOUT);
	assert_int_equal(lock.word, OTHER);
	expect_calls("");
}

TEST(unlock)
{
	static const struct {
		uint32_t word, rest; /* the word beside the owner's id */
		int heirs_asleep;
		uint32_t word_after, rest_after;
		const char *calls;
	} cases[] = {
		{ 0, 0, 0, 0, 0, "" }, /* no waiter sleeps */
		{ WAITERS, 0, 0, 0, 0, "wake one" },
		/* The heir, that sleeps, has the lock; should it sleep again it is woken once more. */
		{ WAITERS | HEIR, LULL__PASS | OTHER, 1, OTHER | WAITERS, LULL__PASS, "wake all heirs, wake all heirs" },
		{ CROWD | HEIR, OTHER, 1, OTHER | CROWD, 0, "wake all heirs, wake all heirs" },
		{ CROWD | HEIR, OTHER, 0, CROWD, OTHER, "wake all heirs, wake one, wake all heirs" },
		/* It does not sleep, and stays the heir; another may have the lock. */
		{ WAITERS | HEIR, OTHER, 0, 0, OTHER, "wake all heirs, wake one, wake all heirs" },
		/* There is none any more, or it was the parent's. */
		{ WAITERS | HEIR, 0, 1, 0, 0, "wake all heirs, wake one, wake all heirs" },
		{ WAITERS | HEIR, OF_PARENT | OTHER, 1, 0, OF_PARENT, "wake all heirs, wake one, wake all heirs" },
		/* Processes that share a mutex have no heir. */
		{ WAITERS | HEIR, LULL_MUTEX_SHARED, 1, 0, LULL_MUTEX_SHARED, "wake one shared" },
		/* A thread spins, and one of the sleepers looks by itself: they are passed by; not for ever. */
		{ LULL__SPINNER, 0, 0, LULL__SPINNER, 0, "" },
		{ CROWD, OTHER, 0, CROWD, LULL__PASS | OTHER, "" },
		{ CROWD, 62 * LULL__PASS, 0, CROWD, 63 * LULL__PASS, "" },
		{ CROWD, 63 * LULL__PASS | OTHER, 0, CROWD, OTHER, "wake one" },
		{ CROWD, OF_PARENT | 63 * LULL__PASS, 0, CROWD, LULL__PASS, "" },
		{ WAITERS | LULL__SPINNER, 0, 0, WAITERS | LULL__SPINNER, 0, "wake one" },
		{ WAITERS | LULL__WATCH, 0, 0, LULL__WATCH, 0, "wake one" },
		{ WAITERS | CROWD_OF_PARENT, 0, 0, 0, 0, "wake one" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lock.word = waiter.tid | cases[i].word;
		lock.rest = cases[i].rest;
		heirs_asleep = cases[i].heirs_asleep;
		lock.turn = 7;
		lull__mutex_unlock_slow(&lock);
		assert_int_equal(lock.word, cases[i].word_after);
		assert_int_equal(lock.rest, cases[i].rest_after);
		/* A waiter that read the count before does not sleep. */
		assert_int_equal(lock.turn, 7 + (strstr(cases[i].calls, "wake one") && !(lock.rest & LULL_MUTEX_SHARED)));
		expect_calls(cases[i].calls);
	}
}

/* Unlock a lock for which a thread spins, and others sleep, again and again. */
TEST(bypass)
{
	for (int i = 1; i <= 5 * LULL_MUTEX_BYPASS; i++) {
		lock.word = waiter.tid | CROWD;
		lull__mutex_unlock_slow(&lock);
		assert_int_equal(lock.word, CROWD);
		expect_calls(i % LULL_MUTEX_BYPASS == 0 ? "wake one" : "");
	}
	assert_int_equal(lock.turn, 5);
}

static void spinner_leaves(void)
{
	lock.word -= LULL__SPINNER;
}

static void other_joins(void)
{
	lock.word += LULL__SPINNER;
}

/* Another thread does something to the word just before it is free. */
TEST(unlock_meanwhile)
{
	static const struct {
		uint32_t word;
		void (*meanwhile)(void);
		uint32_t word_after, turns;
		const char *calls;
	} cases[] = {
		{ 0, other_sleeps, 0, 1, "wake one" },
		{ WAITERS, other_sleeps, 0, 2, "wake one" }, /* a waiter that has read the new count */
		{ WAITERS, other_joins, WAITERS | LULL__SPINNER, 2, "wake one" },
		{ LULL__SPINNER, spinner_leaves, 0, 0, "" },
		{ WAITERS | LULL__SPINNER, spinner_leaves, 0, 2, "wake one" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lock.word = waiter.tid | cases[i].word;
		lock.turn = 0;
		meanwhile = cases[i].meanwhile;
		lull__mutex_unlock_slow(&lock);
		assert_int_equal(lock.word, cases[i].word_after);
		assert_int_equal(lock.turn, cases[i].turns);
		expect_calls(cases[i].calls);
	}
}

/*
 * The one that watches is woken if no other sleeper is there, by one call more, which only an unlock makes that sees it. It
 * has its turn in each BYPASSth unlock that sees a spinner.
 */
TEST(wakes_the_one_that_watches)
{
	static const struct {
		uint32_t word;
		int sleepers;
		const char *calls;
		bool spared;
		uint32_t rest;
	} cases[] = {
		{ WAITERS | LULL__WATCH, 1, "wake one", true, 0 },
		{ WAITERS | LULL__WATCH, 0, "wake one, wake one that watches", true, 0 },
		{ WAITERS, 0, "wake one", false, 0 },
		{ WAITERS | CROWD_OF_PARENT, 0, "wake one", false, 0 },
		{ CROWD, 1, "wake one", false, 63 * LULL__PASS },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lock.word = waiter.tid | cases[i].word;
		lock.rest = cases[i].rest;
		sleepers = cases[i].sleepers;
		spared = false;
		lull__mutex_unlock_slow(&lock);
		expect_calls(cases[i].calls);
		assert_int_equal(spared, cases[i].spared);
		lock.word = cases[i].word;
		pass_on(&lock, false);
		if (!cases[i].rest)
			expect_calls(cases[i].calls);
	}
}

/* A thread that has seen a lock pass to another owner locks out of line from then on, and counts the locks that it finds free. */
TEST(meets_a_crowd)
{
	for (changes = 0; changes <= 2; changes++) {
		crowds = calms = 0;
		lock.word = 0;
		lull__mutex_lock_slow(&lock);
		lock.word = WAITERS; /* free, but others want it */
		lull__mutex_lock_slow(&lock);
		assert_int_equal(crowds, 0);
		assert_int_equal(calms, 1);
		lock.word = OTHER;
		assert_int_equal(lull__mutex_timedlock_slow(&lock, clock_ns), -ETIMEDOUT);
		assert_int_equal(crowds, changes >= 1);
		assert_int_equal(calms, 1);
		assert_false(lull__mutex_trylock_slow(&lock));
		lock.word = WAITERS;
		assert_true(lull__mutex_trylock_slow(&lock));
		assert_int_equal(calms, 1);
		lock.word = 0;
		assert_true(lull__mutex_trylock_slow(&lock));
		assert_int_equal(calms, 2);
	}
}

/* A thread comes to spin just before the heir has the lock. */
TEST(hand_over_meanwhile)
{
	lock.word = waiter.tid | WAITERS | HEIR;
	lock.rest = OTHER;
	heirs_asleep = 1;
	meanwhile = other_joins;
	lull__mutex_unlock_slow(&lock);
	assert_int_equal(lock.rest, 0);
	assert_int_equal(lock.word, OTHER | WAITERS | LULL__SPINNER);
	expect_calls("wake all heirs, wake all heirs");
}

static void other_takes(void)
{
	lock.word = OTHER;
}

/* A thread that takes a free lock leaves the others as they are. */
TEST(take)
{
	static const struct {
		uint32_t word;
		bool woken, counted;
		uint32_t after; /* beside the owner's id */
	} cases[] = {
		{ 0, false, false, 0 },
		{ 0, true, false, WAITERS },
		{ WAITERS, false, false, WAITERS },
		{ CROWD, false, false, CROWD },
		{ CROWD, false, true, WAITERS | LULL__WATCH },
		{ LULL__SPINNER, true, true, WAITERS },
		{ WAITERS | CROWD_OF_PARENT, false, false, WAITERS },
		{ CROWD_OF_PARENT, false, true, 0 }, /* a handler has forked */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lock.word = cases[i].word;
		waiter.woken = cases[i].woken;
		waiter.counted = cases[i].counted;
		assert_true(take(&waiter, lock.word));
		assert_int_equal(lock.word, waiter.tid | cases[i].after);
		assert_false(waiter.counted);
	}
	waiter.counted = true;
	lock.word = OTHER | LULL__SPINNER;
	assert_false(take(&waiter, lock.word));
	assert_true(waiter.counted);
	/* One that comes too late. */
	lock.word = 0;
	meanwhile = other_takes;
	assert_false(take(&waiter, 0));
	assert_int_equal(lock.word, OTHER);
	/* Not refused because something else has changed. */
	lock.word = CROWD;
	assert_true(take(&waiter, LULL__SPINNER));
	lock.word = WAITERS;
	assert_true(lull__mutex_trylock_slow(&lock));
}

BEFORE_ALL
{
	alarm(100);
}
