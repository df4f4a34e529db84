/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * sleep.c - one step at a time: what a waiter does to a lock's word before it sleeps, how long it sleeps, when it becomes the
 * heir, and what it leaves when it gives up.
 */
#include "mutex/alone.h"

/* ---- to sleep --------------------------------------------------------------------------------------------------------- */

/* The word says that a thread sleeps before it does; if not, it does not. */
TEST(sleep_once)
{
	const struct {
		uint32_t word;
		bool heir;
		int result;
		uint32_t after;
		bool woken;
		const char *calls;
	} cases[] = {
		{ 0, false, 0, 0, false, "" }, /* the lock is free */
		{ waiter.tid | WAITERS, false, 0, waiter.tid | WAITERS, false, "" }, /* it has been handed over */
		{ OTHER, false, -EINTR, OTHER | WAITERS, false, "sleep" },
		{ OTHER | WAITERS, false, 0, OTHER | WAITERS, true, "sleep" },
		{ THIRD, true, 0, THIRD | WAITERS | HEIR, true, "sleep heirs" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lock.word = cases[i].word;
		result = cases[i].result;
		waiter.heir = cases[i].heir;
		waiter.woken = false;
		assert_int_equal(sleep_once(&waiter), 0);
		assert_int_equal(lock.word, cases[i].after);
		assert_int_equal(waiter.woken, cases[i].woken);
		expect_calls(cases[i].calls);
		assert_int_equal(waiter.seen[0], i < 2 ? 0 : OTHER);
		assert_int_equal(waiter.seen[1], i < 4 ? 0 : THIRD);
	}
	assert_int_equal(slept_until_ns, LULL__LOOKS_FOR_DEADLOCKS ? clock_ns + LOOK_AGAIN_NS : LULL__NEVER);
	assert_int_equal(waiter.seen[2], 0);
}

static void owner_leaves(void)
{
	lock.word = 0;
}

static void owner_changes(void)
{
	lock.word = THIRD;
}

/* A waiter that finds the word changed does not sleep for what it was. */
TEST(no_sleep)
{
	lock.word = OTHER;
	meanwhile = owner_leaves;
	assert_int_equal(sleep_once(&waiter), 0);
	expect_calls("");
	assert_int_equal(lock.word, 0);
}

/* The owner may change as often as it likes: the waiter sleeps all the same. */
TEST(owner_changes)
{
	lock.word = OTHER;
	meanwhile = owner_changes;
	assert_int_equal(sleep_once(&waiter), 0);
	assert_int_equal(lock.word, THIRD | WAITERS);
	expect_calls("sleep");
}

/* Until the deadline; in a debug build, in pieces. */
TEST(until_when)
{
	const uint64_t far_ns = clock_ns + 10 * LOOK_AGAIN_NS, near_ns = clock_ns + 5;

	lock.word = OTHER;
	result = -ETIMEDOUT;
	for (int i = 0; i < 3; i++) {
		waiter.shared = i < 2;
		waiter.deadline_ns = i == 0 ? far_ns : near_ns;
		assert_int_equal(sleep_once(&waiter), i == 0 ? 0 : -ETIMEDOUT); /* not yet */
		expect_calls(i < 2 ? "sleep shared" : "sleep");
		assert_int_equal(slept_until_ns, i == 0 ? clock_ns + LOOK_AGAIN_NS : near_ns);
		assert_int_equal(lock.word, OTHER | WAITERS);
	}
	assert_false(waiter.woken);
	waiter.deadline_ns = far_ns;
	assert_int_equal(sleep_once(&waiter), LULL__LOOKS_FOR_DEADLOCKS ? 0 : -ETIMEDOUT);
	assert_int_equal(slept_until_ns, LULL__LOOKS_FOR_DEADLOCKS ? clock_ns + LOOK_AGAIN_NS : far_ns);
}

/* If processes share the mutex: a tenth of a second, and, as long as nothing happens, twice as long each time, to 5 s. */
TEST(looks_less_and_less)
{
	static const unsigned tenths[] = { 1, 2, 2, 4, 8, 16, 32, 50, 50 };

	lock.word = OTHER;
	waiter.shared = true;
	for (size_t i = 0; i < sizeof(tenths) / sizeof(tenths[0]); i++) {
		result = i == 1 ? -EINTR : -ETIMEDOUT;
		assert_int_equal(waiter.look_ns, i == 0 ? 0 : tenths[i] * UINT64_C(100000000)); /* in debug builds, too */
		assert_int_equal(sleep_once(&waiter), 0);
		assert_int_equal(slept_until_ns - clock_ns, (LULL__LOOKS_FOR_DEADLOCKS ? 1 : tenths[i]) * UINT64_C(100000000));
	}
}

/* One of the sleepers looks by itself, should those that spin not be able to; it says so while it sleeps. */
TEST(watch)
{
	const struct {
		uint32_t word;
		bool heir;
		uint32_t asleep; /* the word in its sleep */
	} cases[] = {
		{ OTHER | LULL__SPINNER, false, OTHER | LULL__SPINNER | WAITERS | LULL__WATCH },
		{ OTHER | WAITERS | 2 * LULL__SPINNER, false, OTHER | 2 * LULL__SPINNER | WAITERS | LULL__WATCH },
		{ OTHER, false, OTHER | WAITERS }, /* nobody spins */
		{ OTHER | LULL__SPINNER | LULL__WATCH, false, OTHER | LULL__SPINNER | LULL__WATCH | WAITERS }, /* another does */
		{ OTHER | LULL__SPINNER, true, OTHER | LULL__SPINNER | WAITERS | HEIR },
		{ OTHER | CROWD_OF_PARENT, false, OTHER | CROWD_OF_PARENT | WAITERS },
	};

	result = -ETIMEDOUT;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lock.word = cases[i].word;
		waiter.heir = cases[i].heir;
		waiter.deadline_ns = clock_ns + 10 * LOOK_AGAIN_NS;
		assert_int_equal(sleep_once(&waiter), i < 2 || LULL__LOOKS_FOR_DEADLOCKS ? 0 : -ETIMEDOUT);
		expect_calls(i < 2 ? "sleep that watches" : cases[i].heir ? "sleep heirs" : "sleep");
		assert_int_equal(word_in_sleep, cases[i].asleep);
		assert_int_equal(lock.word, i < 2 ? cases[i].asleep & ~LULL__WATCH : cases[i].asleep);
		if (i < 2)
			assert_int_equal(slept_until_ns, clock_ns + LULL_MUTEX_PATIENCE_MS * 1000000u);
	}
	waiter.heir = false;
	waiter.deadline_ns = clock_ns + 1000;
	lock.word = OTHER | LULL__SPINNER;
	assert_int_equal(sleep_once(&waiter), -ETIMEDOUT);
	assert_int_equal(slept_until_ns, waiter.deadline_ns);
}

/* ---- to be the heir --------------------------------------------------------------------------------------------------- */

TEST(impatient)
{
	assert_false(impatient(&waiter));
	assert_int_equal(waiter.impatient_ns, 1000 + LULL_MUTEX_PATIENCE_MS * 1000000u);
	clock_ns = waiter.impatient_ns - 1;
	assert_false(impatient(&waiter));
	clock_ns++;
	assert_true(impatient(&waiter));
	clock_ns++;
	assert_true(impatient(&waiter));
	waiter.heir = true;
	assert_false(impatient(&waiter));
	waiter.heir = false;
	waiter.impatient_ns = LULL__NEVER;
	assert_false(impatient(&waiter));
	assert_int_equal(waiter.impatient_ns, LULL__NEVER);
}

static void other_passes(void)
{
	lock.rest += LULL__PASS;
}

static void other_is_heir(void)
{
	lock.rest |= THIRD;
}

/* Others change what else there is in the same word. */
TEST(heir_meanwhile)
{
	meanwhile = other_passes;
	become_heir(&waiter);
	assert_true(waiter.heir);
	assert_int_equal(lock.rest, LULL__PASS | waiter.tid);
	meanwhile = other_passes;
	assert_true(withdraw_heir(&waiter));
	assert_int_equal(lock.rest, 2 * LULL__PASS);
	meanwhile = other_is_heir;
	become_heir(&waiter);
	assert_false(waiter.heir);
	assert_int_equal(lock.rest, 2 * LULL__PASS | THIRD);
}

/* An heir that comes upon the free lock by itself is the heir no more, and is not handed the lock then. */
TEST(heir_by_chance)
{
	lock.word = OTHER;
	waiter.impatient_ns = 1;
	freed_in_sleep = true;
	assert_int_equal(lull__lock_wait_for(&waiter), 0);
	expect_calls("sleep heirs");
	assert_int_equal(lock.word, waiter.tid | WAITERS);
	assert_int_equal(lock.rest, 0);
	assert_false(waiter.heir);
}

TEST(become_heir)
{
	lock.rest = THIRD;
	become_heir(&waiter);
	assert_false(waiter.heir); /* another is */
	assert_int_equal(lock.rest, THIRD);
	lock.rest = OF_PARENT | THIRD;
	become_heir(&waiter);
	assert_true(waiter.heir); /* that one is in another process */
	assert_int_equal(lock.rest, waiter.tid);
	assert_true(withdraw_heir(&waiter));
	assert_false(waiter.heir);
	assert_int_equal(lock.rest, 0);
	lock.rest = LULL__PASS * 2;
	become_heir(&waiter);
	assert_int_equal(lock.rest, LULL__PASS * 2 | waiter.tid);
	assert_true(withdraw_heir(&waiter));
	assert_int_equal(lock.rest, LULL__PASS * 2);

	/* Too late: the owner has read it. */
	waiter.heir = true;
	assert_false(withdraw_heir(&waiter));
	assert_false(waiter.heir);
	lock.rest = THIRD;
	waiter.heir = true;
	assert_false(withdraw_heir(&waiter));
	assert_int_equal(lock.rest, THIRD);

	/* Not one that is in the way of a better one: the last four owners are known. */
	lock.rest = 0;
	for (uint32_t i = 0; i < 7; i++) {
		lull__lock_saw(&waiter, OTHER + i);
		lull__lock_saw(&waiter, OTHER + i);
	}
	for (uint32_t i = 0; i < 8; i++) {
		waiter.impatient_ns = 5;
		outranking = OTHER + i;
		become_heir(&waiter);
		assert_int_equal(waiter.heir, i < 3 || i == 7);
		assert_int_equal(waiter.impatient_ns, i < 3 || i == 7 ? 5 : LULL__NEVER);
		assert_int_equal(lock.rest, waiter.heir ? waiter.tid : 0);
		if (waiter.heir)
			withdraw_heir(&waiter);
	}

	/* A waiter whose number has no room does not become the heir either. */
	outranking = 0;
	waiter.tid = LULL__HEIR_TID + 1;
	become_heir(&waiter);
	assert_false(waiter.heir);
	waiter.tid = LULL__HEIR_TID;
	become_heir(&waiter);
	assert_true(waiter.heir);
}

/* ---- to give up ------------------------------------------------------------------------------------------------------- */

TEST(give_up)
{
	/* It passes on what it was woken for: to the owner's unlock, or to the next sleeper. */
	lock.word = OTHER;
	assert_int_equal(give_up(&waiter), -ETIMEDOUT);
	assert_int_equal(lock.word, OTHER);
	waiter.woken = true;
	assert_int_equal(give_up(&waiter), -ETIMEDOUT);
	assert_int_equal(lock.word, OTHER | WAITERS);
	assert_int_equal(give_up(&waiter), -ETIMEDOUT);
	assert_int_equal(lock.word, OTHER | WAITERS);
	expect_calls("");
	lock.word = 0;
	waiter.shared = true;
	assert_int_equal(give_up(&waiter), -ETIMEDOUT);
	expect_calls("wake one shared");
	assert_int_equal(lock.word, 0);

	/* An heir withdraws, or else waits for the lock that is on its way. */
	waiter.woken = waiter.shared = false;
	lock.word = OTHER | WAITERS | HEIR;
	become_heir(&waiter);
	assert_int_equal(give_up(&waiter), -ETIMEDOUT);
	assert_int_equal(lock.rest, 0);
	assert_int_equal(yields, 0);
	waiter.heir = true;
	assert_int_equal(give_up(&waiter), 0);
	assert_int_equal(yields, 3);
	assert_int_equal(lock.word, waiter.tid | WAITERS);
	expect_calls("");
}

TEST(pass_on_meanwhile)
{
	lock.word = OTHER;
	meanwhile = owner_leaves;
	pass_on(&lock, false);
	assert_int_equal(lock.word, 0);
	expect_calls("wake one");
	/* The owner from before a fork gets its new number, whatever thread changes the word. */
	lock.word = OTHER;
	meanwhile = other_sleeps;
	inherit(&lock, waiter.tid);
	assert_int_equal(lock.word, waiter.tid | WAITERS);
}

BEFORE_ALL
{
	alarm(100);
}
