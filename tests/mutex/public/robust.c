/* SPDX-License-Identifier: MIT */
/* runs: c++, oracles */
/*
 * robust.c - mutex_robust.h: pthread's robust mutexes on the same list are left alone; the kernel's limit; conditions;
 * and there may be no list. (Threads that end with a lock: hostile/steps.c, processes that are killed:
 * hostile/shared.c.)
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

/* ---- the kernel's limit ----------------------------------------------------------------------------------------- */

enum { LIMIT = 2048 };

static struct lull_mutex_robust many[LIMIT + 1];

static void *locks_many_and_ends(void *unused)
{
	for (int i = 0; i <= LIMIT; i++)
		assert_int_equal(lull_mutex_robust_lock(&many[i]), 0);
	return unused;
}

TEST(robust_2049)
{
	join_thread(start_thread(locks_many_and_ends, NULL));
	for (int i = LIMIT; i > 0; i--)
		assert_int_equal(lull_mutex_robust_trylock(&many[i]), -EOWNERDEAD);
	assert_int_equal(lull_mutex_robust_trylock(&many[0]), -EBUSY);
	for (int i = LIMIT; i > 0; i--) {
		lull_mutex_robust_consistent(&many[i]);
		lull_mutex_robust_unlock(&many[i]);
	}
}

/* ---- conditions ------------------------------------------------------------------------------------------------- */

enum { WAITERS = 4 };

static struct lull_cond cond;
static bool ready, repairs;   /* under m */
static int woken, dead, lost; /* so many waiters got up, and got this */
static bool moved;              /* ... from where an unlock finds them only by the word */
static uint32_t tids[WAITERS];

static void start_anew(uint32_t flags)
{
	lull_cond_init(&cond, LULL_MUTEX_SHARED);
	lull_mutex_robust_init(&m, flags);
	ready = moved = false;
	woken = dead = lost = 0;
}

static void *waits_until_ready(void *tid)
{
	int err = lull_mutex_robust_lock(&m);

	lull_store_release((uint32_t *)tid, my_tid());
	while (err == 0 && !ready)
		err = lull_cond_wait_robust(&cond, &m);
	lull_add_relaxed(&woken, 1);
	if (err == -ENOTRECOVERABLE) {
		assert_int_not_equal(lull_mutex_robust_owner(&m), my_tid());
		lull_add_relaxed(&lost, 1);
		return NULL;
	}
	assert_true(!moved || (lull_load_relaxed(&m.mutex.word) & LULL__MUTEX_WAITERS));
	assert_int_equal(lull_mutex_robust_owner(&m), my_tid());
	if (err == -EOWNERDEAD) {
		lull_add_relaxed(&dead, 1);
		if (repairs)
			lull_mutex_robust_consistent(&m);
	}
	lull_mutex_robust_unlock(&m);
	return NULL;
}

static void start_waiters(pthread_t *threads)
{
	for (int i = 0; i < WAITERS; i++) {
		tids[i] = 0;
		threads[i] = start_thread(waits_until_ready, &tids[i]);
	}
	AWAIT(how_many_wait(&cond) == WAITERS);
	for (int i = 0; i < WAITERS; i++)
		AWAIT(sleeps(&tids[i]));
}

static void *broadcasts_and_ends(void *unused)
{
	assert_int_equal(lull_mutex_robust_lock(&m), 0);
	ready = moved = true;
	lull_cond_broadcast(&cond);
	return unused;
}

/* The owner dies when it has moved all waiters to its mutex. */
static void owner_dies(uint32_t flags, bool repair)
{
	pthread_t threads[WAITERS];

	start_anew(flags);
	repairs = repair;
	start_waiters(threads);
	join_thread(start_thread(broadcasts_and_ends, NULL));
	for (int i = 0; i < WAITERS; i++)
		join_thread(threads[i]);
	assert_int_equal(woken, WAITERS);
	assert_int_equal(dead, 1);
	assert_int_equal(lost, repair ? 0 : WAITERS - 1);
	lull_cond_destroy(&cond);
}

TEST(cond_owner_dies)
{
	for (int i = 0; i < 8; i++)
		owner_dies(i & 1 ? LULL_MUTEX_SHARED : 0, i & 2);
}

/* One signal for each: a wake-up that is lost is made good by the next look, which takes 5 s. */
TEST(cond_signals)
{
	pthread_t threads[WAITERS];

	for (int round = 0; round < 50; round++) {
		start_anew(round & 1 ? LULL_MUTEX_SHARED : 0);
		start_waiters(threads);
		assert_int_equal(lull_mutex_robust_lock(&m), 0);
		ready = true;
		moved = !(round & 2);
		if (round & 2)
			lull_mutex_robust_unlock(&m);
		for (int i = 0; i < WAITERS; i++)
			lull_cond_signal(&cond);
		if (!(round & 2))
			lull_mutex_robust_unlock(&m);
		for (int i = 0; i < WAITERS; i++)
			join_thread(threads[i]);
		assert_int_equal(dead + lost, 0);
		assert_int_equal(m.mutex.word & ~LULL__MUTEX_WAITERS, 0);
	}
	lull_cond_destroy(&cond);
}

static uint64_t until_ns;

static void *locks_until_wanted(void *unused)
{
	AWAIT(how_many_wait(&cond) == 1);
	assert_int_equal(lull_mutex_robust_lock(&m), 0);
	AWAIT(how_many_wait(&cond) == 0 && now_ns() > until_ns);
	return unused;
}

TEST(cond_deadline)
{
	pthread_t thread;

	start_anew(0);
	assert_int_equal(lull_mutex_robust_lock(&m), 0);
	assert_int_equal(lull_cond_timedwait_robust(&cond, &m, now_ns() + MS), -ETIMEDOUT);
	assert_int_equal(lull_mutex_robust_owner(&m), my_tid());
	/* It is late, and the owner dies. */
	thread = start_thread(locks_until_wanted, NULL);
	until_ns = now_ns() + 100 * MS;
	assert_int_equal(lull_cond_timedwait_robust(&cond, &m, until_ns), -EOWNERDEAD);
	join_thread(thread);
	/* A wait unlocks what is not repaired. */
	assert_int_equal(lull_cond_timedwait_robust(&cond, &m, now_ns() + MS), -ENOTRECOVERABLE);
	assert_int_equal(lull_mutex_robust_owner(&m), 0);
	lull_cond_destroy(&cond);
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
