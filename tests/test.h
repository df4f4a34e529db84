/* SPDX-License-Identifier: MIT */
/*
 * test.h - TEST(name) { ... } lists itself. main.c, which every test program has, runs the tests of one source file in a
 * process. A request in a source's first lines, as in
 *	runs: c++, full-fences, no-rseq
 * is read by tests/CMakeLists.txt, where each word is explained.
 */
#ifndef LULL_TEST_H
#define LULL_TEST_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
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

#ifdef __cplusplus
extern "C" {
#endif

struct test {
	const char *name;
	int line;
	void (*run)(void), (*setup)(void), (*teardown)(void);
	struct test *next;
};

/* A source file with tests. */
struct test_file {
	const char *name;
	struct test *tests;
	void (*before)(void), (*after)(void); /* all tests */
	void (*setup)(void), (*teardown)(void);
	int (*with_arguments)(int argc, char **argv);
	bool (*own_syscall)(long number, const long *arg, long *result);
	struct test_file *next;
};

void list_test(struct test_file *file, struct test *test);

/* The name the program was called by: under valgrind /proc/self/exe is valgrind. */
extern const char *test_program;
/* If set before all tests: the name of the one that is run. */
extern const char *test_only;
extern bool (*test_own_syscall)(long number, const long *arg, long *result);

#ifdef __cplusplus
}
#endif

#ifndef LULL_TEST_FILE
#define LULL_TEST_FILE __BASE_FILE__
#endif

static struct test_file test_file_here __attribute__((unused)) = { LULL_TEST_FILE, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL };

#define AT_START_(name) __attribute__((constructor)) static void name(void)

#define TEST_(func, text, line, setup, teardown)                                                    \
	static void func(void);                                                                    \
	AT_START_(lists_##func)                                                                     \
	{                                                                                          \
		static struct test listed = { text, line, func, setup, teardown, NULL };          \
		list_test(&test_file_here, &listed);                                                   \
	}                                                                                          \
	static void func(void)

static inline void test_no_fixture(void)
{
}

/* A test, between the SETUP and the TEARDOWN of its file, if it has them. */
#define TEST(name) TEST_(test_##name, #name, __LINE__, NULL, NULL)
/* A test between functions of its own. */
#define TEST_WITH(name, setup, teardown) TEST_(test_##name, #name, __LINE__, setup, teardown)
/* A test alone. */
#define TEST_BARE(name) TEST_(test_##name, #name, __LINE__, test_no_fixture, test_no_fixture)
/* The same for tests that have to be the first of their file. */
#define FIRST_TEST(name)      TEST_(test_##name, #name, __LINE__ - 100000, NULL, NULL)
#define FIRST_TEST_BARE(name) TEST_(test_##name, #name, __LINE__ - 100000, test_no_fixture, test_no_fixture)

#define FILE_HAS_(what, func)                                                                       \
	AT_START_(set_##what##_here)                                                               \
	{                                                                                          \
		test_file_here.what = func;                                                        \
	}
#define FIXTURE_(what)                                                                              \
	static void what##_here(void);                                                             \
	FILE_HAS_(what, what##_here)                                                               \
	static void what##_here(void)
/* SETUP { ... } is run before each test of the file, TEARDOWN { ... } after each. */
#define SETUP	 FIXTURE_(setup)
#define TEARDOWN FIXTURE_(teardown)
/* The same by functions that have names, of a header perhaps. */
#define USE_SETUP(func)	   FILE_HAS_(setup, func)
#define USE_TEARDOWN(func) FILE_HAS_(teardown, func)
/* Once, before and after the tests of the file. */
#define BEFORE_ALL FIXTURE_(before)
#define AFTER_ALL  FIXTURE_(after)
/*
 * Before all that, when the program is called with more arguments: --file NAME ARGUMENT... Returns the exit status, or
 * RUN_TESTS.
 */
#define RUN_TESTS -1
#define WITH_ARGUMENTS(argc, argv)                                                                  \
	static int with_arguments_here(int argc, char **argv);                                     \
	FILE_HAS_(with_arguments, with_arguments_here)                                             \
	static int with_arguments_here(int argc, char **argv)

/* For use in a child, where cmocka's assertions would not end it. */
#define must(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* gcc says so in macros, clang in features. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#else
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
#if UNDER_TSAN || defined(LULL_TEST_EMULATED)
#define THREADS_IN_CHILD 0
#else
#define THREADS_IN_CHILD 1
#endif
#define NEEDS_THREADS_IN_CHILD()                                                                   \
	do {                                                                                       \
		if (!THREADS_IN_CHILD)                                                             \
			SKIP(NO_THREADS_IN_CHILD);                                                 \
	} while (0)

#endif /* LULL_TEST_H */
