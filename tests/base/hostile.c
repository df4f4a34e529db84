/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * Heavy fences when the kernel refuses one for a moment, or for longer, and those that several callers share. This program
 * has its own syscall() and sched_setaffinity(), which the library uses, too: it counts, refuses, and holds up.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>

#include "child.h"
#include "threads.h"
#include "own_syscall.h"

static int fails, error, tries, globals, global_error, visits, visit_error, visit_fails;
static cpu_set_t visited; /* the CPUs to each of which a thread was moved alone */
static __thread int stops, sleeps; /* in the next membarrier; waits of this thread */
static __thread bool no_time_passes;
static int stopped, may_go_on, all_sleeps;

static bool fail_with(int why, long *result)
{
	errno = why;
	*result = -1;
	return true;
}

static bool instead_of_syscall(long number, const long *arg, long *result)
{
	if (number == SYS_membarrier && arg[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED) {
		lull_add_relaxed(&tries, 1);
		if (stops) {
			stops = 0;
			lull_store_release(&stopped, 1);
			await_flag(&may_go_on, 1);
		}
		if (lull_load_relaxed(&fails) > 0 && lull_sub_relaxed(&fails, 1) > 0)
			return fail_with(error, result);
	}
	if (number == SYS_membarrier && arg[0] == MEMBARRIER_CMD_GLOBAL) {
		globals++;
		if (global_error)
			return fail_with(global_error, result);
	}
	if (number == SYS_futex && (arg[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && !sleeps++)
		lull_add_release(&all_sleeps, 1);
	return false;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*real)(clockid_t, struct timespec *);
	static struct timespec fixed;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	if (!no_time_passes)
		return real(clock, now);
	*now = fixed;
	return 0;
}

int sched_setaffinity(pid_t tid, size_t size, const cpu_set_t *set)
{
	static int (*real)(pid_t, size_t, const cpu_set_t *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "sched_setaffinity");
	visits++;
	if (CPU_COUNT(set) == 1)
		CPU_OR(&visited, &visited, set);
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
		SKIP("with full fences there is no membarrier that could fail");
	fails = 0;
	visit_error = global_error = 0;
	visit_fails = INT_MAX;
	fences(2100); /* beyond what a test before has left */
	fails = failures;
	error = with;
	tries = visits = globals = 0;
}

/* One call each, and it is counted. */
TEST(one_call)
{
	uint64_t before;

	begin(0, 0);
	before = lull_fence_heavy_count();
	for (int i = 1; i <= 100; i++) {
		fences(1);
		assert_int_equal(tries, i);
		assert_int_equal(lull_fence_heavy_count() - before, i);
	}
	assert_int_equal(visits + globals, 0);
}

/* A full fence of each side needs no call, and is not counted. */
TEST(no_call)
{
	if (lull_fence_strategy() == LULL_FENCE_MEMBARRIER)
		SKIP("membarrier is there: its calls are tested instead");
	tries = visits = globals = 0;
	fences(100);
	assert_int_equal(tries + visits + globals, 0);
	assert_int_equal(lull_fence_heavy_count(), 0);
}

enum { SHARERS = 4 };

static void *one_fence(void *leads)
{
	stops = leads != NULL;
	no_time_passes = !leads;
	fences(1);
	return NULL;
}

static void *impatient_fence(void *unused)
{
	fences(1);
	return unused;
}

/* Threads that ask for a fence while one is under way wait for the next one, and share it. */
TEST(shared)
{
	uint64_t before;
	pthread_t leader, others[SHARERS];

	begin(0, 0);
	stopped = may_go_on = all_sleeps = 0;
	before = lull_fence_heavy_count();
	leader = start_thread(one_fence, &stopped);
	await_flag(&stopped, 1);
	start_threads(others, SHARERS, one_fence, NULL);
	AWAIT(lull_load_acquire(&all_sleeps) >= SHARERS);
	assert_int_equal(lull_load_relaxed(&tries), 1);
	lull_store_release(&may_go_on, 1);
	join_thread(leader);
	join_threads(others, SHARERS);
	assert_int_equal(tries, 2);
	assert_int_equal(lull_fence_heavy_count() - before, 2);
}

/* ... unless the leader is not run: then they make their own, and try again where one fails. */
TEST(beside_a_stopped_leader)
{
	pthread_t leader, others[SHARERS];

	begin(0, 0);
	stopped = may_go_on = 0;
	leader = start_thread(one_fence, &stopped);
	await_flag(&stopped, 1);
	fails = SHARERS;
	error = ENOMEM;
	start_threads(others, SHARERS, impatient_fence, NULL);
	join_threads(others, SHARERS);
	assert_int_equal(tries, 1 + 2 * SHARERS);
	lull_store_release(&may_go_on, 1);
	join_thread(leader);
	assert_int_equal(visits, 0);
}

/* One failure makes one fence slow. */
TEST(once)
{
	static const int errors[] = { ENOMEM, EINTR, EAGAIN };

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
TEST(lasting)
{
	int before;

	begin(INT_MAX, ENOMEM);
	fences(1000);
	assert_in_range(tries, 5, 20);
	fails = 0;
	before = tries;
	fences(2100);
	assert_true(tries > before + 500);
}

/* membarrier fails @fails times, a visit @visit_fails times, and the slowest way always. What is tried again, and when? */
TEST(other_ways)
{
	static const struct {
		int fails, error, visit_error, visit_fails, global_error;
		int tries, globals; /* of two fences, where they are known */
	} cases[] = {
		/* No way but the slowest: it is taken, and nothing aborts. */
		{ 1, ENOMEM, EPERM, INT_MAX, 0, 2, 1 },
		/* Only the one that has failed for a moment. */
		{ 3, ENOMEM, EPERM, INT_MAX, EPERM, 5, -1 },
		/* membarrier is gone for good, and what takes its place fails for a moment. */
		{ INT_MAX, EPERM, ENOMEM, 3, EPERM, -1, -1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin(cases[i].fails, cases[i].error);
		visit_error = cases[i].visit_error;
		visit_fails = cases[i].visit_fails;
		global_error = cases[i].global_error;
		fences(2);
		if (cases[i].tries >= 0)
			assert_true(fails == 0 && tries == cases[i].tries);
		if (cases[i].globals >= 0)
			assert_int_equal(globals, cases[i].globals);
		if (cases[i].visit_fails != INT_MAX)
			assert_int_equal(visit_fails, 0);
	}
	fails = 0;
}

static int may_end;

static void *stays(void *unused)
{
	await_flag(&may_end, 1);
	return unused;
}

/* Every CPU that a thread of this process may run on is visited, also if the caller may not; and then all is as before. */
TEST(visits_all)
{
	cpu_set_t all, one, after;
	pthread_t thread;
	int cpu = 0;

	begin(1, EAGAIN);
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	may_end = 0;
	thread = start_thread(stays, NULL); /* it may run everywhere */
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	CPU_ZERO(&visited);
	fences(1);
	assert_int_equal(fails, 0);
	assert_true(CPU_EQUAL(&visited, &all));
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&after, &one));
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	lull_store_release(&may_end, 1);
	join_thread(thread);
}

/* Readers make no fences, and nothing else will do. */
TEST(no_way)
{
	begin(0, 0);
	EXPECT_ABORT("lull: membarrier is no longer permitted (Operation not permitted) and threads cannot be moved "
		     "either (Operation not permitted); start the program with LULL_FENCE=full\n") {
		fails = INT_MAX;
		error = visit_error = global_error = EPERM;
		fences(1);
	}
}

TEST(fork)
{
	begin(0, 0);
	EXPECT_FINE {
		uint64_t before = lull_fence_heavy_count();

		tries = visits = globals = 0;
		fences(3);
		must(tries >= 3 && visits + globals == 0);
		must(lull_fence_heavy_count() - before == 3);
	}
}
