/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * mutex.c - one step at a time: what a waiter does to a lock's word before it sleeps and when it gives up, which waiter
 * an unlock wakes. This program contains the source, and stands in for the kernel, the clock and other threads.
 */
#include "mutex/support.h"

#include "../src/owner_runs/owner_runs.h"
#include "../src/mutex/self.h"
#include "../src/mutex/waiting.h"

/* ---- the kernel and the clock --------------------------------------------------------------------------------------- */

#define ANY   LULL__MUTEX_ANY
#define HEIRS LULL__MUTEX_HEIRS

/* A sleep, or a wake-up. */
struct call {
	const uint32_t *word;
	uint32_t value, bits;
	int most;
	uint64_t until_ns;
	bool shared;
};

static struct call made[8];
static unsigned calls;
static int result; /* of sleeps */
static bool freed_in_sleep;
static int heirs_asleep; /* so many heirs */
static uint64_t clock_ns = 1000;
static uint32_t outranking; /* the kernel prefers this thread */
static int yields;

static int sleep_instead(uint32_t *word, uint32_t value, uint32_t bits, uint64_t until_ns, bool shared)
{
	made[calls++ % 8] = (struct call){ word, value, bits, 0, until_ns, shared };
	if (freed_in_sleep)
		*word = 0;
	return freed_in_sleep ? 0 : *word == value ? result : -EAGAIN;
}

static int wake_instead(uint32_t *word, int most, uint32_t bits, bool shared)
{
	made[calls++ % 8] = (struct call){ word, 0, bits, most, 0, shared };
	return bits == HEIRS ? heirs_asleep : 0;
}

static bool outranks(uint32_t tid)
{
	return tid == outranking;
}

static struct lull_mutex lock;

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
	memset(made, 0, sizeof(made));
	calls = 0;
	result = heirs_asleep = yields = 0;
	freed_in_sleep = false;
	meanwhile = NULL;
	outranking = 0;
	clock_ns = 1000;
	waiter = (struct lull__lock_wait){ .m = &lock, .take = take, .tid = lull__mutex_self(), .deadline_ns = LULL__NEVER };
}

static void check_sleep(uint32_t value, uint32_t bits, uint64_t until_ns, bool shared)
{
	assert_int_equal(calls, 1);
	assert_ptr_equal(made[0].word, &lock.word);
	assert_int_equal(made[0].value, value);
	assert_int_equal(made[0].bits, bits);
	assert_int_equal(made[0].until_ns, until_ns);
	assert_int_equal(made[0].shared, shared);
	assert_int_equal(lock.word, value);
	calls = 0;
}

static void check_wake(unsigned nth, int most, uint32_t bits, bool shared)
{
	assert_ptr_equal(made[nth].word, &lock.word);
	assert_int_equal(made[nth].most, most);
	assert_int_equal(made[nth].bits, bits);
	assert_int_equal(made[nth].shared, shared);
}

/* ---- to sleep --------------------------------------------------------------------------------------------------------- */

#define LOOK_NS (LULL__LOOKS_FOR_DEADLOCKS ? clock_ns + LULL__LOOK_AGAIN_NS : LULL__NEVER)

/* The word says that a thread sleeps before it does; if not, it does not. */
TEST(sleep_once)
{
	assert_int_equal(sleep_once(&waiter), 0); /* the lock is free */
	lock.word = waiter.tid | WAITERS;
	assert_int_equal(sleep_once(&waiter), 0); /* it has been handed over */
	assert_int_equal(lock.word, waiter.tid | WAITERS);
	assert_int_equal(calls, 0);
	assert_int_equal(waiter.seen[0], 0);

	lock.word = OTHER;
	result = -EINTR;
	assert_int_equal(sleep_once(&waiter), 0);
	check_sleep(OTHER | WAITERS, ANY, LOOK_NS, false);
	assert_false(waiter.woken);
	assert_int_equal(waiter.seen[0], OTHER);
	result = 0;
	assert_int_equal(sleep_once(&waiter), 0);
	check_sleep(OTHER | WAITERS, ANY, LOOK_NS, false);
	assert_true(waiter.woken);
	waiter.woken = false;
	waiter.heir = true;
	lock.word = THIRD;
	assert_int_equal(sleep_once(&waiter), 0);
	check_sleep(THIRD | WAITERS | HEIR, HEIRS, LOOK_NS, false);
	assert_int_equal(waiter.seen[1], THIRD);
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
	assert_int_equal(calls, 0);
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
	waiter.shared = true;
	waiter.deadline_ns = far_ns;
	result = -ETIMEDOUT;
	assert_int_equal(sleep_once(&waiter), 0); /* not yet */
	check_sleep(OTHER | WAITERS, ANY, clock_ns + LULL__LOOK_AGAIN_NS, true);
	waiter.deadline_ns = near_ns;
	assert_int_equal(sleep_once(&waiter), -ETIMEDOUT);
	check_sleep(OTHER | WAITERS, ANY, near_ns, true);
	waiter.shared = false;
	assert_int_equal(sleep_once(&waiter), -ETIMEDOUT);
	check_sleep(OTHER | WAITERS, ANY, near_ns, false);
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
	assert_int_equal(calls, 1);
	assert_int_equal(made[0].value, OTHER | WAITERS | HEIR);
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
	assert_int_equal(calls, 0);
	lock.word = 0;
	waiter.shared = true;
	assert_int_equal(give_up(&waiter), -ETIMEDOUT);
	assert_int_equal(calls, 1);
	check_wake(0, 1, ANY, true);
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
	assert_int_equal(calls, 1);
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
	assert_int_equal(calls, 1);
	check_wake(0, 1, ANY, false);
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
	assert_int_equal(calls, 0);
}

TEST(unlock)
{
	/* No waiter sleeps. */
	lock.word = waiter.tid;
	lull__mutex_unlock_slow(&lock);
	assert_int_equal(lock.word, 0);
	assert_int_equal(calls, 0);

	/* The first one that sleeps. */
	lock.word = waiter.tid | WAITERS;
	lull__mutex_unlock_slow(&lock);
	assert_int_equal(lock.word, 0);
	assert_int_equal(calls, 1);
	check_wake(0, 1, ANY, false);
	calls = 0;

	/* The heir, that sleeps, has the lock; should it sleep again it is woken once more. */
	lock.word = waiter.tid | WAITERS | HEIR;
	lock.rest = LULL__SPINNER | OTHER;
	heirs_asleep = 1;
	lull__mutex_unlock_slow(&lock);
	assert_int_equal(lock.word, OTHER | WAITERS);
	assert_int_equal(lock.rest, LULL__SPINNER);
	assert_int_equal(calls, 2);
	check_wake(0, INT_MAX, HEIRS, false);
	check_wake(1, INT_MAX, HEIRS, false);
	calls = 0;

	/* It does not sleep, and stays the heir; another may have the lock. */
	lock.word = waiter.tid | WAITERS | HEIR;
	lock.rest = OTHER;
	heirs_asleep = 0;
	lull__mutex_unlock_slow(&lock);
	assert_int_equal(lock.word, 0);
	assert_int_equal(lock.rest, OTHER);
	assert_int_equal(calls, 3);
	check_wake(0, INT_MAX, HEIRS, false);
	check_wake(1, 1, ANY, false);
	check_wake(2, INT_MAX, HEIRS, false);
	calls = 0;

	/* There is none any more, or it was the parent's. */
	for (uint32_t rest = 0; rest <= (OF_PARENT | OTHER); rest += OF_PARENT | OTHER) {
		lock.word = waiter.tid | WAITERS | HEIR;
		lock.rest = rest;
		heirs_asleep = 1;
		lull__mutex_unlock_slow(&lock);
		assert_int_equal(lock.word, 0);
		assert_int_equal(calls, 3);
		calls = 0;
	}

	/* Processes that share a mutex have no heir. */
	lock.rest = LULL_MUTEX_SHARED;
	lock.word = waiter.tid | WAITERS | HEIR;
	lull__mutex_unlock_slow(&lock);
	assert_int_equal(lock.word, 0);
	assert_int_equal(calls, 2);
	check_wake(0, 1, ANY, true);
	check_wake(1, INT_MAX, HEIRS, true);
}

BEFORE_ALL
{
	alarm(100);
}
