/* SPDX-License-Identifier: MIT */
/*
 * support.h - what the core's tests share: cmocka, threads, and children that are expected to die.
 */
#ifndef LULL_TEST_SUPPORT_H
#define LULL_TEST_SUPPORT_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <lull/debug.h>
#include <lull/rcu.h>
#include <lull/reclaim.h>

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

/* Wait until *flag, set by another thread, has this value. */
static inline void await_flag(const int *flag, int value)
{
	while (lull_load_acquire(flag) != value)
		sched_yield();
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

#ifdef LULL__TSAN
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif

/* gcc says so in a macro, clang in a feature. */
#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif

#define SANITIZED (UNDER_TSAN || UNDER_ASAN)

/* The tests valgrind_* say so. Its malloc() is its own and ends the program, and it traces no processor. */
static inline bool under_valgrind(void)
{
	return getenv("LULL_TEST_VALGRIND") != NULL;
}

/* Forked children that start threads: beyond ThreadSanitizer, and beyond qemu-user. */
#if defined(LULL__TSAN) || defined(LULL_TEST_EMULATED)
#define THREADS_IN_CHILD 0
#else
#define THREADS_IN_CHILD 1
#endif
#define NEEDS_THREADS_IN_CHILD()                                                                   \
	do {                                                                                       \
		if (!THREADS_IN_CHILD)                                                             \
			skip();                                                                    \
	} while (0)

/* Report a wait every @ms milliseconds, 0: never. The core alone (tests/core) never does. */
static inline void set_stall_ms(uint32_t ms)
{
#ifndef LULL_TEST_CORE
	lull_debug_set_stall_ms(ms);
#else
	(void)ms;
#endif
}

/* Who reclaims from here on; all else as it is by default. */
static inline void set_mode(enum lull_reclaim_mode mode)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.mode = mode;
	assert_int_equal(lull_reclaim_configure(&config), 0);
}

/* How much has been deferred and not reclaimed. */
static inline size_t waiting(void)
{
	struct lull_reclaim_counts stats;

	lull_reclaim_stats(&stats);
	return stats.items;
}

/* What the library has said: the last line, and how many there were. */
static char heard[512];
static int heard_lines;

static inline void hear(const char *line)
{
	snprintf(heard, sizeof(heard), "%s", line);
	lull_add_relaxed(&heard_lines, 1);
}

static inline void start_hearing(void)
{
	heard[0] = '\0';
	heard_lines = 0;
	lull_debug_set_message_hook(hear);
}

static inline void stop_hearing(void)
{
	lull_debug_set_message_hook(NULL);
}

static inline void check_silence(void)
{
	if (heard_lines)
		print_error("heard: %s\n", heard);
	assert_int_equal(heard_lines, 0);
}

/* Run func in a forked child; what it wrote to standard error goes to text. Returns the wait status. */
static inline int run_child(void (*func)(void), char *text, size_t size)
{
	int ends[2], status = 0;
	size_t length = 0;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct rlimit no_core = { 0, 0 };

		setrlimit(RLIMIT_CORE, &no_core);
		dup2(ends[1], 2);
		lull_debug_set_message_hook(NULL); /* this is standard error from now on */
		close(ends[0]);
		close(ends[1]);
		func();
		_exit(0);
	}
	close(ends[1]);
	while (length + 1 < size) {
		ssize_t got = read(ends[0], text + length, size - 1 - length);

		if (got <= 0)
			break;
		length += (size_t)got;
	}
	text[length] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

/* func must abort after one line that contains @words. */
static inline void expect_abort(void (*func)(void), const char *words)
{
	char text[4096];
	int status = run_child(func, text, sizeof(text));

	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || !strstr(text, words))
		print_error("status %x, wrote: %s\n", (unsigned)status, text);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_non_null(strstr(text, words));
	assert_true(strncmp(text, "lull: ", 6) == 0);
#ifndef LULL_TEST_EMULATED /* the emulator has something to say about it, too */
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
#endif
}

/* func must end well and print nothing. */
static inline void expect_fine(void (*func)(void))
{
	char text[4096];
	int status = run_child(func, text, sizeof(text));

	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || text[0])
		print_error("status %x, wrote: %s\n", (unsigned)status, text);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_string_equal(text, "");
}

/* For use in a child, where cmocka's assertions would not end it. */
#define must(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

#endif /* LULL_TEST_SUPPORT_H */
