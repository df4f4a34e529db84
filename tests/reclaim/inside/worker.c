/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * worker.c - the reclaimer's thread from the inside: when it may sleep, how it gets up, what exit() leaves
 * behind.
 */
#include "child.h"
#include "threads.h"

#include <lull/hazptr.h>

#include "../src/os/os.h"

static bool join(pthread_t thread, uint64_t ns);

#define lull__join join
#include "../src/reclaim/worker.c"
#include "../src/reclaim/wake.c"
#undef lull__join

#include "../src/reclaim/backlog.h"
#include "../src/reclaim/overflow.h"
#include "../src/reclaim/queue.h"

static bool never_ends;

static bool join(pthread_t thread, uint64_t ns)
{
	return lull__join(thread, ns) && !never_ends;
}

static int runs;

static void count_run(struct lull_head *head)
{
	lull_add_relaxed(&runs, 1);
	free(head);
}

static struct lull_head *new_head(void)
{
	return malloc(sizeof(struct lull_head));
}

static void defer_without_memory(void)
{
	struct lull_head *head = new_head();

	head->func = count_run;
	lull__defer_without_memory(LULL__CALLS, head);
}

SETUP
{
	lull_hazptr_barrier();
	must(lull_load_relaxed(&lull__reclaimer.thread) == NO_THREAD);
	runs = 0;
}

/* Under POLL the thread leaves to the program what is there. */
TEST(leaves_work_to_program)
{
	lull_rcu_call(new_head(), count_run);
	assert_false(something_due(PASS_ALL));
	defer_without_memory();
	assert_false(something_due(PASS_ALL));
	assert_int_equal(lull_reclaim_poll(SIZE_MAX, 0), 2);
	assert_int_equal(runs, 2);
}

/* Callbacks that take no memory wait as well. */
TEST(nothing_waits)
{
	assert_true(nothing_waits());
	lull_rcu_call_sized(new_head(), count_run, 0);
	assert_false(nothing_waits());
	lull_rcu_barrier();
	assert_true(nothing_waits());
}

/* A worker that is awake says so: else each deferral would wake it. */
TEST(gets_up)
{
	uint32_t before = lull_load_relaxed(&lull__reclaimer.sleep);

	for (uint32_t depth = NAPPING; depth < ASLEEP; depth++) {
		assert_false(go_to_sleep(depth, lull__now_ns() + 1000000));
		assert_int_equal(lull_load_relaxed(&lull__reclaimer.sleep), AWAKE);
	}
	lull_store_relaxed(&lull__reclaimer.sleep, before);
}

/* A worker that is to stay wakes up at its time, and takes no notification away from a program that polls. */
TEST(stays_while_program_polls)
{
	uint32_t before = lull_load_relaxed(&lull__reclaimer.sleep);

	lull__own_thread_configure(UINT32_MAX, 0, NULL);
	assert_false(go_to_sleep(ASLEEP, lull__now_ns() + 1000000));
	assert_int_equal(lull_load_relaxed(&lull__reclaimer.sleep), ASLEEP);
	lull__own_thread_configure(LULL__IDLE_MS, 0, NULL);
	lull_store_relaxed(&lull__reclaimer.sleep, before);
}

/* Until it is time to look at the owners again it sleeps, and does not go round and round. */
TEST(lingers)
{
	uint32_t before = lull_load_relaxed(&lull__reclaimer.sleep);
	struct rounds r = { .waits = true, .look_at_ns = lull__now_ns() + 30000000 };

	assert_false(rest(&r, 0));
	assert_true(lull__is_past(r.look_at_ns));
	lull_store_relaxed(&lull__reclaimer.sleep, before);
}

/* Where callbacks come one at a time it tries ever more rarely whether more come if it waits; where many come, always. */
TEST(naps)
{
	struct rounds r = { .waits = false };
	unsigned gap = 0, rounds = 0;

	assert_true(shall_nap(&r, 1, true));
	while (rounds < 1000000) {
		unsigned most = gap;

		for (gap = 0; !shall_nap(&r, 1, true); gap++)
			assert_in_range(gap, 0, 2 * TRY_NAP_MOST + 8);
		assert_in_range(gap, most < TRY_NAP_MOST ? most + 1 : most, 2 * most + 8);
		rounds += gap + 1;
	}
	assert_true(gap >= TRY_NAP_MOST);
	for (int i = 0; i < 100; i++)
		assert_true(shall_nap(&r, NAP_FROM, true));
	assert_true(shall_nap(&r, 1, false)); /* a nap is what it can afford */
}

/* All that runs is counted, for which there was memory and for which there was none. */
TEST(counts_overflow)
{
	for (int i = 0; i < 5; i++)
		defer_without_memory();
	assert_int_equal(lull__overflow_run(false), 5);
	assert_int_equal(runs, 5);
	for (int i = 0; i < 3; i++)
		defer_without_memory();
	lull_rcu_call(new_head(), count_run);
	lull__rcu_wait(lull__rcu_cookie());
	assert_int_equal(lull__pass(PASS_ALL), 4);
	assert_int_equal(runs, 9);
}

/* ---- threads that come and go ------------------------------------------------------------------- */

enum { COMERS = 40 };
static int have_come, may_go;

static void *comes_and_goes(void *unused)
{
	lull_rcu_call(new_head(), count_run);
	lull_add_relaxed(&have_come, 1);
	await_flag(&may_go, 1);
	return unused;
}

/* With a bag that is empty at its end: it frees that at once. */
static void *goes_last(void *unused)
{
	lull_rcu_free(malloc(1));
	return unused;
}

/*
 * With no thread of lull's and nothing to be done, those that go clear up behind those that went. A thread that goes
 * while another clears up leaves its bag to the next one that goes.
 */
TEST(bags_of_threads_that_went)
{
	pthread_t thread[COMERS];

	have_come = may_go = 0;
	for (int i = 0; i < COMERS; i++)
		thread[i] = start_thread(comes_and_goes, NULL);
	await_flag(&have_come, COMERS);
	lull_rcu_barrier();
	assert_int_equal(runs, COMERS);
	lull_store_release(&may_go, 1);
	for (int i = 0; i < COMERS; i++)
		join_thread(thread[i]);
	join_thread(start_thread(goes_last, NULL));
	assert_in_range(lull_load_relaxed(&lull__reclaimer.orphans), 0, 4 * LULL__SPARE_BAGS);
}

/* ---- exit() ------------------------------------------------------------------------------------- */

static void thread_that_stays(void)
{
	alarm(60);
	set_mode(LULL_RECLAIM_THREAD);
	lull_rcu_call(new_head(), count_run);
	lull_rcu_barrier();
	must(lull_load_relaxed(&lull__reclaimer.thread) == HAS_THREAD);
	never_ends = true;
	stop_worker();
	must(lull_load_relaxed(&lull__reclaimer.thread) == HAS_THREAD);
	must(lull_load_relaxed(&lull__reclaimer.stop) == 0);
}

/* A thread that is in a callback which does not end is there still: no other one is started beside it. */
TEST(thread_that_stays)
{
	NEEDS_THREADS_IN_CHILD();
	expect_fine(thread_that_stays);
}

static bool defers_at_the_end;

/* Later than the library's own. */
__attribute__((destructor(101))) static void after_all(void)
{
	if (!defers_at_the_end)
		return;
	must(lull_load_relaxed(&lull__reclaimer.thread) == NO_THREAD);
	lull_rcu_call(new_head(), count_run);
	lull_rcu_barrier();
	must(runs == 2);
}

/* A deferral that a destructor makes after the library's thread has ended is done, too, if it waits for that. */
TEST(barrier_after_the_end)
{
	NEEDS_THREADS_IN_CHILD();
	if (UNDER_ASAN)
		SKIP("the leak check at exit() wants to stop all threads, and says that it cannot in a forked child");
	EXPECT_FINE {
		alarm(60);
		set_mode(LULL_RECLAIM_THREAD);
		lull_rcu_call(new_head(), count_run);
		lull_rcu_barrier();
		must(runs == 1);
		defers_at_the_end = true;
		exit(0);
	}
}

BEFORE_ALL
{
	set_stall_ms(0);
	set_mode(LULL_RECLAIM_POLL); /* so no thread is started that would have the same words to change */
	alarm(110);
}
