/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * registry.c - from the inside: threads that block signals under the registry's lock, records that come and go, the
 * lock itself (base/lock.c), and the keys by which threads end.
 */
#include "threads.h"

#include <errno.h>
#include <sched.h>

#include <lull/thread.h>

static int create_key(pthread_key_t *key, void (*destroy)(void *));
static int delete_key(pthread_key_t key);

#define pthread_key_create create_key
#define pthread_key_delete delete_key
#include "../src/base/registry.c"
#undef pthread_key_create
#undef pthread_key_delete

static bool blocks(int number)
{
	sigset_t now;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	return sigismember(&now, number) == 1;
}

/* The handler of a thread that is not registered may need the lock; that of one that is finds its record there. */
static void *enters(void *unused)
{
	struct lull__registry_hold hold;
	sigset_t saved;

	lull__registry_enter(&hold);
	assert_true(blocks(SIGUSR1));
	assert_int_not_equal(lull_load_relaxed(&lull__registry_lock.word), 0);
	lull__registry_leave(&hold);
	assert_int_equal(lull_load_relaxed(&lull__registry_lock.word), 0);
	assert_false(blocks(SIGUSR1));
	lull_thread_register();
	lull__registry_enter(&hold);
	assert_false(blocks(SIGUSR1));
	assert_int_not_equal(lull_load_relaxed(&lull__registry_lock.word), 0);
	lull__registry_leave(&hold);
	assert_int_equal(lull_load_relaxed(&lull__registry_lock.word), 0);
	lull__record_enter(&saved);
	assert_true(blocks(SIGUSR1));
	lull__record_leave(&saved);
	assert_false(blocks(SIGUSR1));
	return unused;
}

TEST(signals)
{
	join_thread(start_thread(enters, NULL));
}

static void *comes_and_goes(void *unused)
{
	uint32_t count, left;

	lull_thread_register();
	count = lull__registry_count;
	left = lull__registry_left;
	assert_int_equal(lull_thread_count(), count);
	assert_int_equal(lull__self.tid, gettid());
	lull_thread_unregister();
	assert_int_equal(lull__registry_count, count - 1);
	assert_int_equal(lull__registry_left, left + 1);
	lull_thread_register();
	assert_int_equal(lull__registry_count, count);
	assert_int_equal(lull__registry_left, left + 1);
	return unused;
}

/* Each that goes is counted, however it goes: a keeper of something for it looks again then. */
TEST(counts)
{
	uint32_t left = lull__registry_left, count = lull__registry_count;

	for (uint32_t i = 1; i <= 3; i++) {
		join_thread(start_thread(comes_and_goes, NULL));
		assert_int_equal(lull__registry_left, left + 2 * i);
		assert_int_equal(lull__registry_count, count);
	}
}

static int counted;

static void *counts(void *unused)
{
	unsigned count = lull_thread_count();

	lull_store_release(&counted, 1);
	assert_int_equal(count, 1);
	return unused;
}

/* Records are not counted while one comes or goes. */
TEST(count_waits)
{
	struct lull__registry_hold hold;
	pthread_t thread;

	lull__registry_enter(&hold);
	thread = start_thread(counts, NULL);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&counted), 0);
	assert_int_not_equal(lull_load_relaxed(&lull__registry_lock.word), 0);
	lull__registry_leave(&hold);
	join_thread(thread);
}

/* A lock that is free by the time of the slow path is taken as it would have been: none sleeps or is to be woken. */
TEST(lock)
{
	struct lull__lock lock = { 0 };

	lull__lock_slow(&lock);
	assert_int_equal(lock.word, 1);
	lull__unlock(&lock);
	assert_int_equal(lock.word, 0);
}

#ifdef LULL_DEBUG
static sigjmp_buf said;

static void leave(const char *line)
{
	hear(line);
	siglongjmp(said, 1);
}
#endif

/* Debug builds tell that a lock of lull's own is unlocked without an owner. */
TEST(unlock_of_free)
{
#ifdef LULL_DEBUG
	struct lull__lock lock = { 0 };

	start_hearing();
	lull_debug_set_message_hook(leave);
	if (sigsetjmp(said, 1) == 0) {
		lull__lock(&lock);
		lull__unlock(&lock);
		check_silence();
		lull__unlock(&lock);
	}
	stop_hearing();
	assert_int_equal(heard_lines, 1);
	assert_non_null(strstr(heard, "is unlocked and was free"));
#else
	SKIP("only debug builds have this check");
#endif
}

/* Keys of a process that has made up to @next_key, and may have @keys_left more; 0: the real ones. */
static unsigned next_key, keys_left, keys_kept;

static int create_key(pthread_key_t *key, void (*destroy)(void *))
{
	if (!next_key)
		return pthread_key_create(key, destroy);
	if (!keys_left)
		return EAGAIN;
	keys_left--;
	keys_kept++;
	*key = next_key++;
	if (next_key == 21) /* the program has those in between */
		next_key = 40;
	return 0;
}

static int delete_key(pthread_key_t key)
{
	if (!next_key)
		return pthread_key_delete(key);
	assert_int_not_equal(key, exit_key);
	assert_int_not_equal(key, last_key);
	keys_kept--;
	return 0;
}

/* lull takes the first key that there is, and the last below 32; the one of another number only if there is none below. */
TEST(keys)
{
	const struct {
		unsigned first, count, last;
	} cases[] = { { 1, 100, 20 },  { 21, 100, 31 }, { 25, 100, 31 }, { 30, 100, 31 }, { 31, 100, 31 },
		      { 32, 100, 32 }, { 70, 100, 70 }, { 20, 100, 20 }, { 1, 1, 1 },	  { 5, 2, 6 },
		      { 31, 1, 31 } };
	pthread_key_t own_exit = exit_key, own_last = last_key;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		next_key = cases[i].first;
		keys_left = cases[i].count;
		keys_kept = 0;
		lull__registry_init();
		assert_int_equal(exit_key, cases[i].first);
		assert_int_equal(last_key, cases[i].last);
		assert_int_equal(keys_kept, cases[i].first == cases[i].last ? 1 : 2);
	}
	next_key = 0;
	exit_key = own_exit;
	last_key = own_last;
}

/* A waiter for a free lock sleeps meanwhile, and says that it does. A signal may wake it before its time. */
TEST(await)
{
	struct lull__lock lock = { 0 };
	uint64_t until_ns = lull__now_ns() + 5000000;
	int times = 0;

	lull__lock(&lock);
	for (; lull__now_ns() < until_ns; times++)
		lull__lock_await(&lock, until_ns);
	assert_in_range(times, 0, 10);
	if (times)
		assert_int_equal(lock.word, 2);
	lull__unlock(&lock);
	lull__lock_await(&lock, until_ns + UINT64_C(100000000000)); /* it is free */
	assert_int_equal(lock.word, 0);
}

BEFORE_ALL
{
	lull_thread_register();
}
