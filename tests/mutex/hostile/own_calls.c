/* SPDX-License-Identifier: MIT */
/* runs: oracles */
/*
 * own_calls.c - mutex.h, mutex_robust.h, cond.h: what they ask of the kernel, which this program's own syscall()
 * sees: until when waiters sleep, a system without a robust list. And that no call ends a thread that is being
 * cancelled.
 */
#include <linux/futex.h>

#include "mutex/support.h"
#include "own_syscall.h"

static __thread unsigned sleeps_begun;
static __thread uint64_t last_until_ns; /* of its last sleep; UINT64_MAX: without end */
static bool no_list;
static __thread struct robust_list_head *my_robust; /* what the kernel goes through when this thread ends */
static __thread void *pending_in_sleep;

static bool instead_of_syscall(long number, const long *arg, long *result)
{
	const struct timespec *until = (const struct timespec *)arg[3];

	if (number == SYS_get_robust_list && no_list) {
		errno = ENOSYS;
		*result = -1;
		return true;
	}
	if (number == SYS_futex && (arg[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET) {
		sleeps_begun++;
		if (my_robust)
			pending_in_sleep = my_robust->list_op_pending;
		last_until_ns = until ? (uint64_t)until->tv_sec * 1000000000u + (uint64_t)until->tv_nsec : UINT64_MAX;
	}
	return false;
}

SETUP
{
	alarm(110);
}

/* ---- until when waiters sleep --------------------------------------------------------------------------------- */

static struct lull_mutex lock;
static struct lull_mutex_robust robust_lock;

/* Waiters look again: at those who were to wake them, and for deadlocks. Then the last of several sleeps ends with the deadline. */
static bool looks_again(enum kind kind)
{
#ifdef LULL_DEBUG
	(void)kind;
	return true;
#else
	return kind != PRIVATE;
#endif
}

/* A machine that is busy may not come to sleep in time. */
static void *sleeps_until_deadline(void *arg)
{
	struct some_lock *l = (struct some_lock *)arg;
	uint64_t deadline_ns = 0;

	sleeps_begun = 0;
	for (int i = 1; i <= 200 && !sleeps_begun; i++) {
		deadline_ns = now_ns() + (uint64_t)i * 2 * MS;
		assert_int_equal(acquire_until(l, deadline_ns), -ETIMEDOUT);
		assert_true(now_ns() >= deadline_ns);
	}
	assert_true(sleeps_begun > 0);
	if (looks_again(l->kind))
		assert_true(last_until_ns <= deadline_ns);
	else
		assert_int_equal(last_until_ns, deadline_ns);
	/* A past deadline is not waited for. */
	sleeps_begun = 0;
	assert_int_equal(acquire_until(l, 0), -ETIMEDOUT);
	assert_int_equal(acquire_until(l, 1), -ETIMEDOUT);
	assert_int_equal(acquire_until(l, now_ns()), -ETIMEDOUT);
	assert_int_equal(sleeps_begun, 0);
	return NULL;
}

/* The kernel is given the deadline itself. */
TEST(deadlines)
{
	for (int kind = 0; kind < kinds_here(); kind++) {
		struct some_lock l;

		make_lock(&l, (enum kind)kind);
		assert_int_equal(acquire(&l), 0);
		join_thread(start_thread(sleeps_until_deadline, &l));
		release(&l);
	}
}

/* ---- robust mutexes ------------------------------------------------------------------------------------------- */

static void *asks_in_vain(void *unused)
{
	static struct lull_mutex_robust m, untouched;

	assert_int_equal(lull_mutex_robust_lock(&m), -ENOTSUP);
	assert_int_equal(lull_mutex_robust_trylock(&m), -ENOTSUP);
	assert_int_equal(lull_mutex_robust_timedlock(&m, UINT64_MAX), -ENOTSUP);
	assert_int_equal(memcmp(&m, &untouched, sizeof(m)), 0);
	return unused;
}

/* The kernel has none, or does not say. */
TEST(no_list)
{
	no_list = true;
	join_thread(start_thread(asks_in_vain, NULL));
	no_list = false;
}

static void *waits_in_vain(void *unused)
{
	size_t size = 0;

	assert_int_equal(syscall(SYS_get_robust_list, 0, &my_robust, &size), 0);
	assert_int_equal(lull_mutex_robust_timedlock(&robust_lock, now_ns() + 20 * MS), -ETIMEDOUT);
	assert_true(!sleeps_begun || pending_in_sleep == (void *)&robust_lock.next);
	assert_null(my_robust->list_op_pending);
	assert_int_equal(lull_mutex_robust_trylock(&robust_lock), -EBUSY);
	assert_null(my_robust->list_op_pending);
	return unused;
}

/* The kernel knows of the lock that a thread is about to have: it may end before the lock is on its list. */
TEST(pending)
{
	if (lull_mutex_robust_lock(&robust_lock) == -ENOTSUP)
		SKIP("no robust mutexes here");
	join_thread(start_thread(waits_in_vain, NULL));
	lull_mutex_robust_unlock(&robust_lock);
}

/* ---- cancellation --------------------------------------------------------------------------------------------- */

static struct lull_cond cond;
static int calls_over, told;
static uint32_t cancelled_tid;

/* It is being cancelled all the time. Waits that last are ended by the other thread. */
static void *calls_all(void *unused)
{
	assert_int_equal(pthread_cancel(pthread_self()), 0);
	lull_store_release(&cancelled_tid, my_tid());
	assert_int_equal(lull_mutex_timedlock(&lock, now_ns() + 20 * MS), -ETIMEDOUT); /* held by the other thread */
	lull_store_release(&calls_over, 1);
	lull_mutex_lock(&lock); /* ... until this sleeps */
	lull_store_release(&calls_over, 2);
	while (!told)
		lull_cond_wait(&cond, &lock);
	lull_store_release(&calls_over, 3);
	while (lull_cond_timedwait(&cond, &lock, now_ns() + 5 * MS) == 0)
		;
	lull_cond_signal(&cond);
	lull_cond_broadcast(&cond);
	lull_mutex_unlock(&lock);
	lull_store_release(&calls_over, 4);
	pthread_testcancel();
	lull_store_release(&calls_over, 5);
	return unused;
}

TEST(no_cancellation_point)
{
	void *result = NULL;
	pthread_t thread;

	if (UNDER_ASAN)
		SKIP("AddressSanitizer does not see the stack of a cancelled thread go");
	lull_mutex_lock(&lock);
	thread = start_thread(calls_all, NULL);
	AWAIT(lull_load_acquire(&calls_over) >= 1); /* or the call has ended the thread, or has not returned */
	await_asleep(&lock, LULL__MUTEX_WAITERS, &cancelled_tid);
	lull_mutex_unlock(&lock);
	AWAIT(lull_load_acquire(&calls_over) >= 2);
	lull_mutex_lock(&lock); /* it waits for the condition by then */
	assert_true(lull_load_relaxed(&cond.waiters) & 0x3fffff00u);
	told = 1;
	lull_cond_signal(&cond);
	lull_mutex_unlock(&lock);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(calls_over, 4);
	lull_cond_destroy(&cond);
	lull_mutex_destroy(&lock);
}
