/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, core */
/*
 * holds.c - hazptr.h: what readers can rely on: without system calls, and at the end of their thread.
 */
#include <lull/mutex.h>

#include "hazptr/actor.h"
#include "hazptr/fixture.h"
#include "seccomp.h"

TEST(no_system_calls)
{
	if (SANITIZED || !THREADS_IN_CHILD || under_valgrind()) /* they ask the kernel for themselves */
		SKIP(OWN_MEMORY);
	/* Slots, and more holds than slots. No thread sleeps for any of them. */
	EXPECT_FINE {
		struct lull_hazptr_hold hold[LULL_HAZPTR_SLOTS + 4];

		own();
		lull_hazptr_publish(variable, &first);
		lull_hazptr_synchronize(&first);
		forbid_all();
		for (int round = 0; round < 1000; round++) {
			struct lull_hazptr *h = lull_hazptr_alloc(own());

			if (lull_hazptr_protect(h, variable, rcu) != &first || lull_hazptr_tryprotect_ptr(h, variable) != &first)
				_exit(1);
			for (int i = 0; i < LULL_HAZPTR_SLOTS + 4; i++)
				if (lull_hazptr_acquire(&hold[i], &variable) != &first)
					_exit(1);
			for (int i = 0; i < LULL_HAZPTR_SLOTS + 4; i++)
				lull_hazptr_release(&hold[i], &first);
			lull_hazptr_clear(h);
			lull_hazptr_free(own(), h);
		}
	}
}

/* ---- threads that end ------------------------------------------------------------------------------ */

/* A thread that only locks, and ends; without locks, one that only ends. */
static void *only_locks(void *lock)
{
#ifndef LULL_TEST_CORE
	lull_mutex_lock((struct lull_mutex *)lock);
	lull_mutex_unlock((struct lull_mutex *)lock);
#endif
	(void)lock;
	return NULL;
}

/* By the thread itself, after all; nor is what is detached anything to a thread that only locks, and ends. */
TEST(detach)
{
	struct lull_hazptr_hold hold;
	struct thing *thing = &first;
	static struct lull_mutex lock;

	lull_hazptr_acquire(&hold, &thing);
	lull_hazptr_detach(&hold);
	check_all_free(own());
	join_thread(start_thread(only_locks, &lock));
	assert_false(is_free_of(&first));
	lull_hazptr_release(&hold, &first);
	assert_true(is_free_of(&first));
}

static void *holds_few_on_stack(void *unused)
{
	struct lull_hazptr_hold hold[2];
	struct thing *thing = &first;

	for (int i = 0; i < 2; i++)
		lull_hazptr_acquire(&hold[i], &thing);
	pthread_exit(unused);
}

/* The slots are not on the stack. */
TEST(exit_with_few)
{
	start_hearing();
	join_thread(start_thread(holds_few_on_stack, NULL));
	stop_hearing();
	assert_int_equal(heard_lines, 1);
	assert_non_null(strstr(heard, "protects 2 objects"));
	assert_true(is_free_of(&first));
}

static __thread bool has_no_slots;
static int late_without_slots;

static void reads_late(void)
{
	struct lull_hazptr_hold hold[12];
	struct lull_hazptr *h = lull_hazptr_alloc(lull_hazptr_thread_context());

	if (!h)
		has_no_slots = true; /* from the exit handling on, and for good */
	assert_true(!h == has_no_slots);
	lull_add_relaxed(&late_without_slots, !h);
	for (int i = 0; i < 12; i++)
		assert_ptr_equal(lull_hazptr_acquire(&hold[i], &variable), &first);
	assert_int_equal(lull_hazptr_synchronize_timeout(&second, 1000), 0);
	lull_hazptr_retire(malloc(32));
	for (int i = 0; i < 12; i++)
		lull_hazptr_release(&hold[i], &first);
	if (h)
		lull_hazptr_free(lull_hazptr_thread_context(), h);
}

static void waits_for_first(void)
{
	lull_hazptr_synchronize(&first);
}

TEST(late_readers)
{
	lull_hazptr_publish(variable, &first);
	start_hearing();
	end_threads_late(reads_late, NULL, waits_for_first);
	assert_true(late_without_slots >= (LATE_ROUNDS > 2 ? 50 : 0));
	lull_hazptr_barrier();
	stop_hearing();
	assert_int_equal(heard_lines, 0);
}
