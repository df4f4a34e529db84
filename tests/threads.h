/* SPDX-License-Identifier: MIT */
/*
 * threads.h - threads that a test starts, and waits that end.
 */
#ifndef LULL_TEST_THREADS_H
#define LULL_TEST_THREADS_H

#include <sched.h>
#include <signal.h>
#include <time.h>

#include "library.h"

static inline void nap_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/*
 * Waits have an end, which comes where something lost has made it impossible to go on, and not where a machine is only
 * busy: then the program says what it waited for, in whatever thread, and dies.
 */
#define PATIENCE_NS UINT64_C(60000000000)

static inline void check_patience(uint64_t since_ns, const char *what, const char *file, int line)
{
	if (now_ns() - since_ns < PATIENCE_NS)
		return;
	fprintf(stderr, "%s:%d: waited %u s for %s\n", file, line, (unsigned)(PATIENCE_NS / 1000000000u), what);
	abort();
}

/* Wait until the condition holds. */
#define AWAIT(condition)                                                                           \
	do {                                                                                       \
		uint64_t since_ns_ = now_ns();                                                     \
		while (!(condition)) {                                                             \
			check_patience(since_ns_, #condition, __FILE__, __LINE__);                 \
			nap_ms(1);                                                                 \
		}                                                                                  \
	} while (0)

/* The same for what comes soon and often: yield, do not sleep. */
#define AWAIT_SOON(condition)                                                                      \
	do {                                                                                       \
		uint64_t since_ns_ = now_ns();                                                     \
		while (!(condition)) {                                                             \
			check_patience(since_ns_, #condition, __FILE__, __LINE__);                 \
			sched_yield();                                                             \
		}                                                                                  \
	} while (0)

/* Count a round of a storm. No locked instruction, which would be a fence; so some that are counted at once are lost. */
static inline void came_round(int *rounds)
{
	lull_store_relaxed(rounds, lull_load_relaxed(rounds) + 1);
}

/*
 * Does a storm go on? For @ns from @since_ns on, and until its threads have come round @least times: where others have the
 * processors, nothing has happened yet.
 */
#define storm_goes_on(since_ns, ns, rounds, least) storm_goes_on_at(since_ns, ns, rounds, least, #rounds, __FILE__, __LINE__)
static inline bool storm_goes_on_at(uint64_t since_ns, uint64_t ns, const int *rounds, int least, const char *what,
				    const char *file, int line)
{
	if (now_ns() < since_ns + ns)
		return true;
	if (lull_load_relaxed(rounds) >= least)
		return false;
	check_patience(since_ns, what, file, line);
	return true;
}

/* Wait until *flag, set by another thread, has this value. */
#define await_flag(flag, value) await_flag_at(flag, value, #flag " == " #value, __FILE__, __LINE__)
static inline void await_flag_at(const int *flag, int value, const char *what, const char *file, int line)
{
	uint64_t since_ns = now_ns();

	while (lull_load_acquire(flag) != value) {
		check_patience(since_ns, what, file, line);
		sched_yield();
	}
}

/*
 * Interrupt @thread with @signal until its handler has counted *@flag up to @value. Once is enough but under ThreadSanitizer,
 * which now and then loses one that comes just before the thread sleeps; the handler may run again later.
 */
static inline void interrupt_until(pthread_t thread, int signal, const int *flag, int value)
{
	uint64_t since_ns = now_ns(), next_ns = 0;

	while (lull_load_acquire(flag) < value) {
		check_patience(since_ns, "a signal handler", __FILE__, __LINE__);
		if (now_ns() >= next_ns) {
			assert_int_equal(pthread_kill(thread, signal), 0);
			next_ns = now_ns() + 1000000000u;
		}
		nap_ms(1);
	}
}

static inline pthread_t start_thread(void *(*func)(void *), void *arg)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, func, arg), 0);
	return thread;
}

static inline void join_thread(pthread_t thread)
{
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static inline void start_threads(pthread_t *threads, int count, void *(*func)(void *), void *arg)
{
	for (int i = 0; i < count; i++)
		threads[i] = start_thread(func, arg);
}

static inline void join_threads(const pthread_t *threads, int count)
{
	for (int i = 0; i < count; i++)
		join_thread(threads[i]);
}

#endif /* LULL_TEST_THREADS_H */
