/* SPDX-License-Identifier: MIT */
/*
 * Heavy fences when the kernel refuses one for a moment, or for longer. This program has its own syscall() and
 * sched_setaffinity(), which the library uses, too: it counts, and refuses.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>

#include "support.h"

static int fails, error, tries, globals, global_error, visits, visit_error, visit_fails;

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long arg[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_membarrier && arg[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED) {
		tries++;
		if (fails > 0) {
			fails--;
			errno = error;
			return -1;
		}
	}
	if (number == SYS_membarrier && arg[0] == MEMBARRIER_CMD_GLOBAL) {
		globals++;
		if (global_error) {
			errno = global_error;
			return -1;
		}
	}
	return real(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

int sched_setaffinity(pid_t tid, size_t size, const cpu_set_t *set)
{
	static int (*real)(pid_t, size_t, const cpu_set_t *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "sched_setaffinity");
	visits++;
	if (visit_error && visit_fails > 0) {
		visit_fails--;
		errno = visit_error;
		return -1;
	}
	return real(tid, size, set);
}

static void fences(int count)
{
	for (int i = 0; i < count; i++)
		lull_fence_heavy();
}

static void begin(int failures, int with)
{
	if (lull_fence_strategy() == LULL_FENCE_FULL)
		skip();
	fails = 0;
	visit_error = global_error = 0;
	visit_fails = INT_MAX;
	fences(2100); /* beyond what a test before has left */
	fails = failures;
	error = with;
	tries = visits = globals = 0;
}

/* One failure makes one fence slow. */
static void test_once(void **state)
{
	static const int errors[] = { ENOMEM, EINTR, EAGAIN };

	(void)state;
	for (unsigned i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		begin(1, errors[i]);
		fences(1);
		assert_true(visits > 0);
		visits = 0;
		fences(100);
		assert_int_equal(visits, 0);
		assert_int_equal(tries, 101);
	}
}

/* While it lasts it is tried ever more rarely; and when it is over, that is noticed. */
static void test_lasting(void **state)
{
	int before;

	(void)state;
	begin(INT_MAX, ENOMEM);
	fences(1000);
	assert_in_range(tries, 5, 20);
	fails = 0;
	before = tries;
	fences(2100);
	assert_true(tries > before + 500);
}

/* No way but the slowest: it is taken, and nothing aborts. */
static void test_global(void **state)
{
	(void)state;
	begin(1, ENOMEM);
	visit_error = EPERM;
	fences(2);
	assert_int_equal(tries, 2);
	assert_true(globals == 1);
}

/* None but the one that has failed for a moment. */
static void test_again_at_once(void **state)
{
	(void)state;
	begin(3, ENOMEM);
	visit_error = global_error = EPERM;
	fences(2);
	assert_int_equal(fails, 0);
	assert_int_equal(tries, 5);
}

/* membarrier is gone for good, and what takes its place fails for a moment. */
static void test_visit_again(void **state)
{
	(void)state;
	begin(INT_MAX, EPERM);
	global_error = EPERM;
	visit_error = ENOMEM;
	visit_fails = 3;
	fences(2);
	assert_int_equal(visit_fails, 0);
	fails = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_lasting),
		cmocka_unit_test(test_global),
		cmocka_unit_test(test_again_at_once),
		cmocka_unit_test(test_visit_again),
	};

	return cmocka_run_group_tests_name("fence_fails", tests, NULL, NULL);
}
