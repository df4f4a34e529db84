/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * mutex.c - one step at a time: what a waiter does to a lock's word before it sleeps and when it gives up, which waiter
 * an unlock wakes. This program contains the source, and stands in for the kernel, the clock and other threads.
 */
#include <limits.h>

#include "mutex/support.h"

#include "../src/owner_runs/owner_runs.h"
#include "../src/mutex/self.h"
#include "../src/mutex/waiting.h"

/* ---- the kernel and the clock --------------------------------------------------------------------------------------- */

#define ANY   LULL__MUTEX_ANY
#define HEIRS LULL__MUTEX_HEIRS

static struct lull_mutex lock;
static char calls[256]; /* sleeps and wake-ups, in words */
static int result;	/* of sleeps */
static uint64_t slept_until_ns;
static bool freed_in_sleep;
static int heirs_asleep; /* so many heirs */
static uint64_t clock_ns = 1000;
static uint32_t outranking; /* the kernel prefers this thread */
static int yields;

static void note_call(const char *what, uint32_t bits, bool shared)
{
	size_t length = strlen(calls);

	assert_true(bits == ANY || bits == HEIRS);
	snprintf(calls + length, sizeof(calls) - length, "%s%s%s%s", length ? ", " : "", what, bits == HEIRS ? " heirs" : "",
		 shared ? " shared" : "");
}

static int sleep_instead(uint32_t *word, uint32_t value, uint32_t bits, uint64_t until_ns, bool shared)
{
	assert_ptr_equal(word, &lock.word);
	assert_int_equal(*word, value);
	note_call("sleep", bits, shared);
	slept_until_ns = until_ns;
	if (freed_in_sleep)
		*word = 0;
	return freed_in_sleep ? 0 : result;
}

static int wake_instead(uint32_t *word, int most, uint32_t bits, bool shared)
{
	assert_ptr_equal(word, &lock.word);
	assert_true(most == 1 || most == INT_MAX);
	note_call(most == 1 ? "wake one" : "wake all", bits, shared);
	return bits == HEIRS ? heirs_asleep : 0;
}

static bool outranks(uint32_t tid)
{
	return tid == outranking;
}

/* The owner, seen to hand the lock over, now does so. */
static void hands_over(unsigned *rounds)
{
	assert_int_equal((*rounds)++, yields);
	if (++yields == 3)
		lock.word = my_tid() | LULL__MUTEX_WAITERS;
}

/* Act as another thread between a load and the exchange that rests on it; once. */
static void (*meanwhile)(void);

static void pass_time(void)
{
	void (*func)(void) = meanwhile;

	meanwhile = NULL;
	if (func)
		func();
}

#undef lull_cas_relaxed
#define lull_cas_relaxed(p, old, v)                                                                \
	(pass_time(), __atomic_compare_exchange_n((p), (old), (v), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
#define lull__now_ns()						 clock_ns
#define lull__oracle_wait(word, value, bits, until, shared)	 sleep_instead(word, value, bits, until, shared)
#define lull__futex_wake_bits(word, most, bits, shared)	 wake_instead(word, most, bits, shared)
#define lull__owner_outranks_me(tid)				 outranks(tid)
#define lull__give_way(rounds)					 hands_over(rounds)
#include "../src/mutex/mutex.c"

#define OTHER 0x300001u /* a thread that holds the lock */
#define THIRD 0x300002u
#define WAITERS LULL__MUTEX_WAITERS
#define HEIR	LULL__MUTEX_HEIR

/* The bits of a child's mutex's `rest` that its parent wrote there. */
#define OF_PARENT (7 * (LULL__GENERATION & -LULL__GENERATION))

static struct lull__lock_wait waiter;

SETUP
{
	memset(&lock, 0, sizeof(lock));
	calls[0] = '\0';
	result = heirs_asleep = yields = 0;
	freed_in_sleep = false;
	meanwhile = NULL;
	outranking = 0;
	clock_ns = 1000;
	waiter = (struct lull__lock_wait){ .m = &lock, .take = take, .tid = lull__mutex_self(), .deadline_ns = LULL__NEVER };
}

/* So many calls since the last look. */
static void expect_calls(const char *wanted)
{
	assert_string_equal(calls, wanted);
	calls[0] = '\0';
}

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
	assert_int_equal(slept_until_ns, LULL__LOOKS_FOR_DEADLOCKS ? clock_ns + LULL__LOOK_AGAIN_NS : LULL__NEVER);
	assert_int_equal(waiter.seen[2], 0);
}

static void owner_leaves(void)
{
	lock.word = 0;
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

/* Until the deadline; of a mutex that processes share, or in a debug build, in pieces. */
TEST(until_when)
{
	const uint64_t far_ns = clock_ns + 10 * LULL__LOOK_AGAIN_NS, near_ns = clock_ns + 5;

	assert_int_equal(lull__sleep_until_ns(LULL__NEVER, false), LULL__NEVER);
	assert_int_equal(lull__sleep_until_ns(far_ns, false), far_ns);
	assert_int_equal(lull__sleep_until_ns(LULL__NEVER, true), clock_ns + LULL__LOOK_AGAIN_NS);
	assert_int_equal(lull__sleep_until_ns(far_ns, true), clock_ns + LULL__LOOK_AGAIN_NS);
	assert_int_equal(lull__sleep_until_ns(near_ns, true), near_ns);

	lock.word = OTHER;
	result = -ETIMEDOUT;
	for (int i = 0; i < 3; i++) {
		waiter.shared = i < 2;
		waiter.deadline_ns = i == 0 ? far_ns : near_ns;
		assert_int_equal(sleep_once(&waiter), i == 0 ? 0 : -ETIMEDOUT); /* not yet */
		expect_calls(i < 2 ? "sleep shared" : "sleep");
		assert_int_equal(slept_until_ns, i == 0 ? clock_ns + LULL__LOOK_AGAIN_NS : near_ns);
		assert_int_equal(lock.word, OTHER | WAITERS);
	}
	assert_false(waiter.woken);
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

static void other_spins(void)
{
	lock.rest += LULL__SPINNER;
}

static void other_is_heir(void)
{
	lock.rest |= THIRD;
}

/* Others change what else there is in the same word. */
TEST(heir_meanwhile)
{
	meanwhile = other_spins;
	become_heir(&waiter);
	assert_true(waiter.heir);
	assert_int_equal(lock.rest, LULL__SPINNER | waiter.tid);
	meanwhile = other_spins;
	assert_true(withdraw_heir(&waiter));
	assert_int_equal(lock.rest, 2 * LULL__SPINNER);
	meanwhile = other_is_heir;
	become_heir(&waiter);
	assert_false(waiter.heir);
	assert_int_equal(lock.rest, 2 * LULL__SPINNER | THIRD);
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
	lock.rest = LULL__SPINNER * 2;
	become_heir(&waiter);
	assert_int_equal(lock.rest, LULL__SPINNER * 2 | waiter.tid);
	assert_true(withdraw_heir(&waiter));
	assert_int_equal(lock.rest, LULL__SPINNER * 2);

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

static void other_sleeps(void)
{
	lock.word |= WAITERS;
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
		{ WAITERS | HEIR, LULL__SPINNER | OTHER, 1, OTHER | WAITERS, LULL__SPINNER, "wake all heirs, wake all heirs" },
		/* It does not sleep, and stays the heir; another may have the lock. */
		{ WAITERS | HEIR, OTHER, 0, 0, OTHER, "wake all heirs, wake one, wake all heirs" },
		/* There is none any more, or it was the parent's. */
		{ WAITERS | HEIR, 0, 1, 0, 0, "wake all heirs, wake one, wake all heirs" },
		{ WAITERS | HEIR, OF_PARENT | OTHER, 1, 0, OF_PARENT, "wake all heirs, wake one, wake all heirs" },
		/* Processes that share a mutex have no heir. */
		{ WAITERS | HEIR, LULL_MUTEX_SHARED, 1, 0, LULL_MUTEX_SHARED, "wake one shared, wake all heirs shared" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lock.word = waiter.tid | cases[i].word;
		lock.rest = cases[i].rest;
		heirs_asleep = cases[i].heirs_asleep;
		lull__mutex_unlock_slow(&lock);
		assert_int_equal(lock.word, cases[i].word_after);
		assert_int_equal(lock.rest, cases[i].rest_after);
		expect_calls(cases[i].calls);
	}
}

BEFORE_ALL
{
	alarm(100);
}
