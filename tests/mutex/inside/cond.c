/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * cond.c - cond.c with a window held open: this program contains its source, and makes another thread's signal
 * come right after a waiter has been counted, and a minute pass at once.
 */
#include "mutex/support.h"

static __thread void (*when_counted)(void);

static bool then_call(bool done)
{
	void (*func)(void) = when_counted;

	if (done && func) {
		when_counted = NULL;
		func();
	}
	return done;
}

#include "../src/base/deadline.h"

static bool time_is_up; /* whatever was waited for */
static const uint32_t *woken[4];
static int wakes;

static int note_wake(uint32_t *word, int most, uint32_t bits, bool shared)
{
	woken[wakes++ % 4] = word;
	return lull__futex_wake_bits(word, most, bits, shared);
}

#define lull__is_past(ns)				(time_is_up || lull__is_past(ns))
#define lull__futex_wake_bits(word, most, bits, shared) note_wake(word, most, bits, shared)
#undef lull_cas_release
#define lull_cas_release(p, old, v)                                                                \
	then_call(__atomic_compare_exchange_n((p), (old), (v), false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
#include "../src/mutex/cond.c"

static struct lull_mutex lock;
static struct lull_cond cond;
static int ready, back, may_signal, has_signalled;
static uint32_t waiter_tid;

static void *signals_once(void *broadcast)
{
	await_flag(&may_signal, 1);
	if (broadcast)
		lull_cond_broadcast(&cond);
	else
		lull_cond_signal(&cond);
	lull_store_release(&has_signalled, 1);
	return NULL;
}

static void signal_comes(void)
{
	lull_store_release(&may_signal, 1);
	await_flag(&has_signalled, 1);
}

static void *waits_in_window(void *unused)
{
	lull_mutex_lock(&lock);
	lull_store_release(&waiter_tid, my_tid());
	when_counted = signal_comes;
	while (!ready)
		lull_cond_wait(&cond, &lock);
	lull_mutex_unlock(&lock);
	lull_store_release(&back, 1);
	return unused;
}

/*
 * The early one was for something else, and has taken this waiter off those that no signal has been for. So the waiter
 * must not sleep then; else its own signal finds no thread to wake.
 */
static void expect_woken(void *broadcast)
{
	pthread_t thread, signaller;

	ready = back = may_signal = has_signalled = 0;
	waiter_tid = 0;
	signaller = start_thread(signals_once, broadcast);
	thread = start_thread(waits_in_window, NULL);
	AWAIT(lull_load_acquire(&has_signalled) && sleeps(&waiter_tid));
	lull_mutex_lock(&lock);
	ready = 1;
	lull_cond_signal(&cond);
	lull_mutex_unlock(&lock);
	AWAIT(lull_load_acquire(&back)); /* or it sleeps, and a signal has been for it */
	join_thread(thread);
	join_thread(signaller);
	assert_int_equal(cond.waiters, 0);
}

TEST(signal_when_counted)
{
	alarm(110);
	for (int i = 0; i < 3; i++) {
		expect_woken(NULL);
		expect_woken(&cond);
	}
}

/* A waiter that does not come in a minute is in no process that was killed, but in this one. */
TEST(destroy_beside_stuck)
{
	EXPECT_ABORT("is destroyed while threads wait for it") {
		lull_store_relaxed(&cond.waiters, WAITER);
		time_is_up = true;
		lull_cond_destroy(&cond);
	}
}

static void wait_in_vain(struct lull_mutex *m)
{
	lull_mutex_lock(m);
	assert_int_equal(lull_cond_timedwait(&cond, m, 1), -ETIMEDOUT);
	lull_mutex_unlock(m);
}

/* The first to wait with another mutex wakes those that were moved to the one before it; nobody else does. */
TEST(another_mutex_wakes)
{
	struct lull_mutex first = LULL_MUTEX_INIT, second = LULL_MUTEX_INIT;

	lull_cond_init(&cond, 0);
	wakes = 0;
	wait_in_vain(&first);
	wait_in_vain(&second);
	assert_int_equal(wakes, 0); /* nobody waited */
	assert_int_equal(cond.seq, 2);
	lull_store_relaxed(&cond.waiters, WAITER);
	wait_in_vain(&second);
	assert_int_equal(wakes, 0);
	wait_in_vain(&first);
	assert_int_equal(wakes, 2);
	assert_ptr_equal(woken[0], &cond.seq);
	assert_ptr_equal(woken[1], &second.turn);
	assert_int_equal(cond.seq, 3); /* no thread on its way goes to sleep there */
	lull_cond_init(&cond, 0);
}

/* A waiter that has been moved to the mutex, which the caller may have, is woken there to leave. */
TEST(destroy_wakes)
{
	lull_cond_init(&cond, LULL_MUTEX_SHARED);
	assert_int_equal(cond.waiters, LULL_MUTEX_SHARED);
	cond.mutex = (intptr_t)&lock - (intptr_t)&cond;
	cond.seq = 5;
	lull_store_relaxed(&cond.waiters, LULL_MUTEX_SHARED | WAITER);
	time_is_up = true;
	wakes = 0;
	lull_cond_destroy(&cond);
	time_is_up = false;
	assert_int_equal(wakes, 2);
	assert_ptr_equal(woken[0], &cond.seq);
	assert_ptr_equal(woken[1], &lock.word);
	assert_int_equal(cond.seq, 6); /* no thread on its way goes to sleep there */
	assert_int_equal(cond.waiters, LULL_MUTEX_SHARED);
	lull_cond_init(&cond, 0);
}
