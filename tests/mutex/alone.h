/* SPDX-License-Identifier: MIT */
/*
 * alone.h - the sources of the mutex in a program that stands in for the kernel, the clock and other threads: what is asked
 * of the kernel, in words. Parts of the tests inside.
 */
#ifndef LULL_TEST_MUTEX_ALONE_H
#define LULL_TEST_MUTEX_ALONE_H

#include <limits.h>

#include "mutex/support.h"

#include "../src/owner_runs/owner_runs.h"
#include "../src/mutex/self.h"
#include "../src/mutex/waiting.h"

/* ---- the kernel and the clock --------------------------------------------------------------------------------------- */

#define ANY   LULL__MUTEX_ANY
#define HEIRS LULL__MUTEX_HEIRS
#define WATCHES LULL__MUTEX_WATCHES

static struct lull_mutex lock;
static char calls[256]; /* sleeps and wake-ups, in words */
static int result;	/* of sleeps */
static uint64_t slept_until_ns;
static uint32_t word_in_sleep;
static bool freed_in_sleep;
static int heirs_asleep; /* so many heirs */
static int sleepers = 1; /* so many others, but for one that watches */
static uint32_t changes; /* so often a waiter sees the word change */
static bool spared; /* the one that watches, by a wake-up */
static int crowds, calms; /* so often the thread has met a crowd, or found the lock free */
static uint64_t clock_ns = 1000;
static uint32_t outranking; /* the kernel prefers this thread */
static int yields;

static void note_call(const char *what, uint32_t bits, bool shared)
{
	size_t length = strlen(calls);

	assert_true(bits == ANY || bits == HEIRS || bits == WATCHES || bits == (ANY | WATCHES));
	snprintf(calls + length, sizeof(calls) - length, "%s%s%s%s", length ? ", " : "", what,
		 bits == HEIRS ? " heirs" : bits == WATCHES ? " that watches" : "", shared ? " shared" : "");
	spared |= !strcmp(what, "wake one") && bits == ANY;
}

static int sleep_instead(uint32_t *word, uint32_t value, uint32_t bits, uint64_t until_ns, bool shared)
{
	assert_ptr_equal(word, bits == HEIRS || shared ? &lock.word : &lock.turn);
	assert_int_equal(*word, value);
	note_call("sleep", bits, shared);
	slept_until_ns = until_ns;
	word_in_sleep = lock.word;
	if (freed_in_sleep)
		lock.word = 0;
	return freed_in_sleep ? 0 : result;
}

static int wake_instead(uint32_t *word, int most, uint32_t bits, bool shared)
{
	if (word == &lock.word && bits == ANY && !shared) { /* those that the kernel would spin for */
		assert_int_equal(most, 1);
		return 0;
	}
	assert_ptr_equal(word, bits == HEIRS || shared ? &lock.word : &lock.turn);
	assert_true(most == 1 || most == INT_MAX);
	note_call(most == 1 ? "wake one" : "wake all", bits, shared);
	return bits == HEIRS ? heirs_asleep : bits == WATCHES ? 1 : sleepers;
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

static bool spins(struct lull__lock_wait *wait)
{
	bool mine = lull__lock_spin(wait);

	wait->changes = changes;
	return mine;
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
#undef lull_cas_release
#define lull_cas_release(p, old, v)                                                                \
	(pass_time(), __atomic_compare_exchange_n((p), (old), (v), false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
#undef lull_cas_acquire
#define lull_cas_acquire(p, old, v)                                                                \
	(pass_time(), __atomic_compare_exchange_n((p), (old), (v), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
#define lull__now_ns()						 clock_ns
#define lull__oracle_wait(word, value, bits, until, shared)	 sleep_instead(word, value, bits, until, shared)
#define lull__futex_wait_bits(word, value, bits, until, shared)	 sleep_instead(word, value, bits, until, shared)
#define lull__futex_wake_bits(word, most, bits, shared)	 wake_instead(word, most, bits, shared)
#define lull__owner_outranks_me(tid)				 outranks(tid)
#define lull__give_way(rounds)					 hands_over(rounds)
#ifndef LULL_ORACLE_KERNEL
#define LULL_ORACLE_KERNEL /* its waiters sleep elsewhere */
#endif
#define lull__lock_spin(wait)					 spins(wait)
#define lull__mutex_crowded()					 crowds++
#define lull__mutex_calm()					 calms++
#include "../src/mutex/sleep.c"
#include "../src/mutex/mutex.c"

#define OTHER 0x300001u /* a thread that holds the lock */
#define THIRD 0x300002u
#define WAITERS LULL__MUTEX_WAITERS
#define CROWD	(WAITERS | LULL__SPINNER | LULL__WATCH)
#define HEIR	LULL__MUTEX_HEIR

/* The bits of a child's mutex that its parent wrote there. */
#define CROWD_OF_PARENT (7 * (LULL__CROWD_OF & -LULL__CROWD_OF) | LULL__SPINNER | LULL__WATCH)
#define OF_PARENT (7 * (LULL__REST_OF & -LULL__REST_OF))

static void other_sleeps(void)
{
	lock.word |= WAITERS;
}

static struct lull__lock_wait waiter;

SETUP
{
	memset(&lock, 0, sizeof(lock));
	calls[0] = '\0';
	changes = 0;
	result = heirs_asleep = yields = crowds = calms = 0;
	sleepers = 1;
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

#endif /* LULL_TEST_MUTEX_ALONE_H */
