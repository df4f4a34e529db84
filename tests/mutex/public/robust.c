/* SPDX-License-Identifier: MIT */
/* runs: c++, oracles */
/*
 * robust.c - mutex_robust.h: pthread's robust mutexes on the same list are left alone; and there may be no list. (Threads
 * that end with a lock: hostile/steps.c, processes that are killed: hostile/shared.c.)
 */
#include "mutex/support.h"
#include "random.h"

static struct lull_mutex_robust m;
static const struct lull_mutex_robust with_macro = LULL_MUTEX_ROBUST_INIT;

/* ---- on one list with pthread's ------------------------------------------------------------------------------- */

enum { KIND = 3, LOCKS = 2 * KIND };

static struct lull_mutex_robust ours[KIND];
static pthread_mutex_t theirs[KIND];

static int lock_nth(int nth)
{
	return nth < KIND ? lull_mutex_robust_lock(&ours[nth]) : -pthread_mutex_lock(&theirs[nth - KIND]);
}

static int trylock_nth(int nth)
{
	return nth < KIND ? lull_mutex_robust_trylock(&ours[nth]) : -pthread_mutex_trylock(&theirs[nth - KIND]);
}

static void unlock_nth(int nth)
{
	if (nth < KIND)
		lull_mutex_robust_unlock(&ours[nth]);
	else
		assert_int_equal(pthread_mutex_unlock(&theirs[nth - KIND]), 0);
}

static void repair_nth(int nth)
{
	if (nth < KIND)
		lull_mutex_robust_consistent(&ours[nth]);
	else
		assert_int_equal(pthread_mutex_consistent(&theirs[nth - KIND]), 0);
}

static uint64_t seed;
static unsigned left_locked; /* a bit for each */

static void shuffle(int *order)
{
	for (int i = 0; i < LOCKS; i++)
		order[i] = i;
	for (unsigned i = LOCKS - 1; i > 0; i--) {
		unsigned other = dice(&seed, i + 1);
		int kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
}

static void *locks_all_and_ends(void *unused)
{
	int order[LOCKS];
	unsigned unlocked = dice(&seed, LOCKS + 1);

	(void)unused;
	shuffle(order);
	for (int i = 0; i < LOCKS; i++)
		assert_int_equal(lock_nth(order[i]), 0);
	shuffle(order);
	left_locked = (1u << LOCKS) - 1;
	for (unsigned i = 0; i < unlocked; i++) {
		unlock_nth(order[i]);
		left_locked &= ~(1u << order[i]);
	}
	return NULL;
}

TEST(mixed)
{
	pthread_mutexattr_t attr;

	if (UNDER_TSAN)
		SKIP("ThreadSanitizer wants pthread mutexes in one order, and unlocked by a dead thread");
	seed = test_seed();
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	for (int i = 0; i < KIND; i++)
		assert_int_equal(pthread_mutex_init(&theirs[i], &attr), 0);
	for (int round = 0; round < 1500; round++) {
		join_thread(start_thread(locks_all_and_ends, NULL));
		for (int i = 0; i < LOCKS; i++) {
			int err = trylock_nth(i);

			assert_int_equal(err, left_locked >> i & 1 ? -EOWNERDEAD : 0);
			if (err)
				repair_nth(i);
			unlock_nth(i);
		}
	}
	for (int i = 0; i < KIND; i++)
		pthread_mutex_destroy(&theirs[i]);
}

/* ---- where there is no list ----------------------------------------------------------------------------------- */

TEST(not_supported)
{
	if (!test_only)
		return;
	assert_int_equal(lull_mutex_robust_lock(&m), -ENOTSUP);
	assert_int_equal(lull_mutex_robust_trylock(&m), -ENOTSUP);
	assert_int_equal(lull_mutex_robust_timedlock(&m, 0), -ENOTSUP);
	assert_int_equal(memcmp(&m, &with_macro, sizeof(m)), 0);
	print_message("no robust list here: the other tests are left out\n");
}

/* Only an emulator has none. */
BEFORE_ALL
{
	if (kinds_here() != KINDS)
		test_only = "not_supported";
	set_stall_ms(0); /* a slow machine is not worth a line */
}
