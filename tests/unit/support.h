/* SPDX-License-Identifier: MIT */
/*
 * support.h - what the core's tests share: cmocka, threads, and children that are expected to die.
 */
#ifndef LULL_TEST_SUPPORT_H
#define LULL_TEST_SUPPORT_H

#include <fnmatch.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
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

/* Skip the test function that calls it. The summary of scripts/check names the function and the reason. */
#undef skip
#define SKIP(why)                                                                                  \
	do {                                                                                       \
		print_message("skipped: %s\n", why);                                               \
		_skip(__FILE__, __LINE__);                                                         \
	} while (0)

/* Reasons that several have, in the same words. */
#define ROOT_ONLY		 "it is for root"
#define OWN_MEMORY		 "sanitizers, valgrind and the emulator have a heap, or need memory, of their own"
#define SANITIZER_HEAP_OVER_FORK "a sanitizer's heap may be locked in a forked child, by a thread that is not there"
#define TSAN_OVER_FORK		 "ThreadSanitizer does not follow what threads hold into a forked child"
#define TSAN_MISSES_UNLOCK	 "ThreadSanitizer would miss the unlock"
#define VALGRIND_THREADS	 "valgrind runs threads in its own way"

/* The tests valgrind_* say so. Its malloc() is its own and ends the program, and it traces no processor. */
static inline bool under_valgrind(void)
{
	return getenv("LULL_TEST_VALGRIND") != NULL;
}

/* Forked children that start threads: beyond ThreadSanitizer, and beyond qemu-user. */
#define NO_THREADS_IN_CHILD "ThreadSanitizer and the emulator start no threads in a forked child"
#if defined(LULL__TSAN) || defined(LULL_TEST_EMULATED)
#define THREADS_IN_CHILD 0
#else
#define THREADS_IN_CHILD 1
#endif
#define NEEDS_THREADS_IN_CHILD()                                                                   \
	do {                                                                                       \
		if (!THREADS_IN_CHILD)                                                             \
			SKIP(NO_THREADS_IN_CHILD);                                                 \
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

/* func must abort after the line that misuse of lull is reported by, and that says @words (a pattern of fnmatch(3)). */
static inline void expect_misuse(void (*func)(void), const char *words)
{
	char text[4096], pattern[512];
	int status = run_child(func, text, sizeof(text));
#ifdef LULL_TEST_EMULATED
	const char *end = "*"; /* the emulator has something to say about it, too */
#else
	const char *end = "";
#endif

	snprintf(pattern, sizeof(pattern), "lull: %s (thread \"*\", tid [0-9]*)\n%s", words, end);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || fnmatch(pattern, text, 0))
		print_error("status %x, wrote: %s, and not: %s\n", (unsigned)status, text, pattern);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_int_equal(fnmatch(pattern, text, 0), 0);
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
