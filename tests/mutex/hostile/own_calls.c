/* SPDX-License-Identifier: MIT */
/* runs: oracles */
/*
 * own_calls.c - mutex.h, mutex_robust.h, cond.h: what they ask of the kernel, which this program's own syscall()
 * sees: until when waiters sleep, that an unlock does not, a system without a robust list. And that no call ends a thread
 * that is being cancelled.
 */
#include <linux/futex.h>

#include "mutex/support.h"
#include "own_syscall.h"

#include <lull/mutex_robust.h>

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

static struct lull_mutex lock, shared_lock;
static struct lull_mutex_robust robust_lock;

static int take_lock(uint64_t deadline_ns)
{
	return lull_mutex_timedlock(&lock, deadline_ns);
}

static int take_shared(uint64_t deadline_ns)
{
	return lull_mutex_timedlock(&shared_lock, deadline_ns);
}

static int take_robust(uint64_t deadline_ns)
{
	return lull_mutex_robust_timedlock(&robust_lock, deadline_ns);
}

struct taker {
	int (*take)(uint64_t deadline_ns);
	bool looks_again; /* so it sleeps in pieces, of which the last ends with the deadline */
};

/* A machine that is busy may not come to sleep in time. */
static void *sleeps_until_deadline(void *arg)
{
	const struct taker *taker = (const struct taker *)arg;
	uint64_t deadline_ns = 0;

	sleeps_begun = 0;
	for (int i = 1; i <= 200 && !sleeps_begun; i++) {
		deadline_ns = now_ns() + (uint64_t)i * 2 * MS;
		assert_int_equal(taker->take(deadline_ns), -ETIMEDOUT);
		assert_true(now_ns() >= deadline_ns);
	}
	assert_true(sleeps_begun > 0);
	if (taker->looks_again)
		assert_true(last_until_ns <= deadline_ns);
	else
		assert_int_equal(last_until_ns, deadline_ns);
	/* A past deadline is not waited for. */
	sleeps_begun = 0;
	assert_int_equal(taker->take(0), -ETIMEDOUT);
	assert_int_equal(taker->take(1), -ETIMEDOUT);
	assert_int_equal(taker->take(now_ns()), -ETIMEDOUT);
	assert_int_equal(sleeps_begun, 0);
	return NULL;
}

/* The kernel is given the deadline itself. */
TEST(deadlines)
{
#ifdef LULL_DEBUG
	const bool debug = true;
#else
	const bool debug = false;
#endif
	struct taker takers[] = { { take_lock, debug }, { take_shared, true }, { take_robust, true } };
	size_t last = 2;

	lull_mutex_init(&shared_lock, LULL_MUTEX_SHARED);
	assert_int_equal(take_lock(0), 0);
	assert_int_equal(take_shared(0), 0);
	if (take_robust(0) == -ENOTSUP)
		last = 1; /* an emulator */
	for (size_t i = 0; i <= last; i++)
		join_thread(start_thread(sleeps_until_deadline, &takers[i]));
	lull_mutex_unlock(&lock);
	lull_mutex_unlock(&shared_lock);
	if (last == 2)
		lull_mutex_robust_unlock(&robust_lock);
}

/* ---- an unlock does not wait ---------------------------------------------------------------------------------- */

static int in_handler, handler_ends;

static void stays(int signal)
{
	(void)signal;
	lull_store_release(&in_handler, 1);
	await_flag(&handler_ends, 1);
}

static unsigned sleeps_of_unlock(void)
{
	sleeps_begun = 0;
	lull_mutex_unlock(&lock);
	return sleeps_begun;
}

/* Not for a sleeper, nor for the heir; also if these cannot get up. */
TEST(unlock_does_not_wait)
{
	struct waiter w;

	for (int way = 0; way < 4; way++) {
		in_handler = handler_ends = 0;
		lull_mutex_lock(&lock);
		waiter_start(&w, &lock, 0);
		if (way & 1)
			make_heir(&w);
		else
			await_asleep(&lock, LULL__MUTEX_WAITERS, &w.tid);
		handle(SIGUSR2, stays);
		if (way & 2)
			interrupt_until(w.thread, SIGUSR2, &in_handler, 1);
		assert_int_equal(sleeps_of_unlock(), 0);
		lull_store_release(&handler_ends, 1);
		waiter_join(&w);
	}
	assert_int_equal(lock.word, 0);
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

static int robust_done;

static void *waits_for_robust(void *tid)
{
	lull_store_release((uint32_t *)tid, my_tid());
	assert_int_equal(lull_mutex_robust_lock(&robust_lock), 0);
	lull_mutex_robust_unlock(&robust_lock);
	lull_store_release(&robust_done, 1);
	return NULL;
}

/* However long it waits, and looks: the bit that would say so is the kernel's, for an owner that died. */
TEST(no_heir)
{
	uint32_t tid = 0;
	pthread_t thread;

	if (lull_mutex_robust_lock(&robust_lock) == -ENOTSUP)
		SKIP("no robust mutexes here");
	handle(SIGUSR1, does_nothing);
	thread = start_thread(waits_for_robust, &tid);
	for (int i = 0; i < 10; i++) {
		await_asleep(&robust_lock.mutex, LULL__MUTEX_WAITERS, &tid);
		nap_ms(LULL_MUTEX_PATIENCE_MS);
		pthread_kill(thread, SIGUSR1);
		assert_int_equal(lull_load_relaxed(&robust_lock.mutex.word), my_tid() | LULL__MUTEX_WAITERS);
		assert_int_equal(lull_load_relaxed(&robust_lock.mutex.rest), 0);
	}
	lull_mutex_robust_unlock(&robust_lock);
	join_thread(thread);
	assert_int_equal(robust_done, 1);
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
