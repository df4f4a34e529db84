/* SPDX-License-Identifier: MIT */
/*
 * rseq_use.c - src/base/rseq_use.c over a kernel that this test plays: whether restartable sequences may be used, and
 * how those under way are ended when the kernel refuses.
 */
#include "test.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>

#include <lull/detail/rseq.h>

#ifdef LULL__RSEQ
#include <sys/rseq.h>

static long fake_syscall(long number, ...);
static uint32_t full_mode;
#define syscall		     fake_syscall
#define lull__fence_full_mode full_mode
#define lull__visit_cpus     fake_visit
#define lull__nap	     fake_nap
#define lull__die	     fake_die
#define lull__rseq_cpu	     own_rseq_cpu
#define lull__rseq_usable    own_rseq_usable
#define lull__rseq_barrier   own_rseq_barrier
#include "../src/base/rseq_use.c"

static int rseq_error;	  /* of registering the area once more; 0: the kernel takes it */
static int rseq_calls;
static bool is_registered; /* for the barrier */
static int barrier_error, barrier_good_after; /* so many calls fail with it */
static int barriers, visits, naps;
static int visit_error;

static char *area(void)
{
	return (char *)__builtin_thread_pointer() + __rseq_offset;
}

static long fail_with(int error)
{
	errno = error;
	return error ? -1 : 0;
}

static long fake_syscall(long number, ...)
{
	va_list args;
	long first, second, third;

	va_start(args, number);
	first = va_arg(args, long);
	second = va_arg(args, long);
	third = va_arg(args, long);
	va_end(args);
	if (number == SYS_rseq) {
		assert_true(first == (long)area());
		assert_int_equal((uint32_t)second, __rseq_size < 32 ? 32 : __rseq_size);
		assert_int_equal((int)third, rseq_calls ? RSEQ_FLAG_UNREGISTER : 0);
		return rseq_calls++ ? 0 : fail_with(rseq_error);
	}
	assert_int_equal(number, SYS_membarrier);
	assert_int_equal((int)second | (int)third, 0);
	if ((int)first == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ) {
		is_registered = barrier_error != EINVAL;
		return fail_with(is_registered ? 0 : EINVAL);
	}
	assert_int_equal((int)first, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ);
	barriers++;
	if (barrier_error && barriers <= barrier_good_after)
		return fail_with(barrier_error);
	return fail_with(is_registered ? 0 : EPERM);
}

int fake_visit(void)
{
	visits++;
	return visit_error;
}

void fake_nap(uint64_t ns)
{
	assert_int_equal(ns, LULL__FENCE_AGAIN_NS);
	naps++;
}

static jmp_buf died;
static char last_words[256];

void fake_die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(last_words, sizeof(last_words), format, args);
	va_end(args);
	longjmp(died, 1);
}

static void setup(void)
{
	full_mode = 0;
	rseq_error = EBUSY;
	rseq_calls = barriers = visits = naps = visit_error = barrier_error = 0;
	barrier_good_after = 1 << 30;
	is_registered = false;
	errno = 44;
}

USE_SETUP(setup)

/* glibc has registered the area, the kernel knows that, and has the barrier. */
TEST(usable)
{
	static const struct {
		uint32_t full_mode;
		int rseq_error, barrier_error, calls;
		bool usable;
	} cases[] = {
		{ 0, EBUSY, 0, 1, true },
		{ 1, EBUSY, 0, 0, false },
		{ 0, ENOSYS, 0, 1, false },
		{ 0, 0, 0, 2, false }, /* the kernel did not know: nothing stays registered */
		{ 0, EBUSY, EINVAL, 1, false },
		{ 0, EBUSY, ENOMEM, 1, false },
	};

	if (__rseq_size == 0 || (int)*(uint32_t *)(void *)(area() + 4) < 0)
		SKIP("glibc has registered no area here");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		setup();
		full_mode = cases[i].full_mode;
		rseq_error = cases[i].rseq_error;
		barrier_error = cases[i].barrier_error;
		assert_int_equal(own_rseq_usable(), cases[i].usable);
		assert_int_equal(rseq_calls, cases[i].calls);
		assert_int_equal(errno, 44);
		if (cases[i].usable)
			assert_true(is_registered && barriers == 1);
	}
}

/* CPU 0 is one as well. */
TEST(cpu)
{
	cpu_set_t saved, one;

	if (__rseq_size == 0 || sched_getaffinity(0, sizeof(saved), &saved) != 0)
		SKIP("glibc has registered no area here");
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (!CPU_ISSET(cpu, &saved) || sched_setaffinity(0, sizeof(one), &one) != 0)
			continue;
		assert_ptr_equal(own_rseq_cpu(), area() + 4);
		assert_int_equal(*own_rseq_cpu(), cpu);
		assert_int_equal(sched_setaffinity(0, sizeof(saved), &saved), 0);
	}
}

/* A child has to register first. */
TEST(barrier)
{
	own_rseq_barrier();
	assert_true(is_registered);
	assert_int_equal(barriers, 2);
	own_rseq_barrier();
	assert_int_equal(barriers, 3);
	assert_int_equal(visits, 0);
	/* An area that failed for want of memory is not registered anew. */
	is_registered = false;
	barrier_error = ENOMEM;
	own_rseq_barrier();
	assert_false(is_registered);
	assert_int_equal(visits, 1);
	assert_int_equal(naps, 0);
	assert_int_equal(errno, 44);
}

static void goes_on_for_ever(void)
{
	if (!setjmp(died)) {
		own_rseq_barrier();
		fail_msg("it goes on");
	}
}

/* Neither way goes for a while, or ever: then the program ends, and says why. */
TEST(again)
{
	char words[256];

	is_registered = true;
	barrier_error = ENOMEM;
	barrier_good_after = 7;
	visit_error = -EPERM;
	own_rseq_barrier();
	assert_true(barriers == 8 && visits == 7 && naps == 7);
	setup();
	is_registered = true;
	barrier_error = EINVAL; /* for good, but threads will be moved */
	visit_error = -EMFILE;
	goes_on_for_ever();
	assert_int_equal(naps, LULL__FENCE_AGAIN_MOST);
	setup();
	barrier_error = EINVAL;
	visit_error = -EACCES;
	goes_on_for_ever();
	assert_true(visits == 1 && naps == 0);
	snprintf(words, sizeof(words), "membarrier is no longer permitted (%s) and threads cannot be moved either (%s); start the "
		 "program with LULL_FENCE=full", strerror(EINVAL), strerror(EACCES));
	assert_string_equal(last_words, words);
}
#else
TEST(none)
{
	SKIP("there are no restartable sequences in this build");
}
#endif
