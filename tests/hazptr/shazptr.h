/* SPDX-License-Identifier: MIT */
/*
 * shazptr.h - what every test program of simple hazard pointers begins with: names, threads that hold one in
 * each of the ways, threads that wait, and the two ways to scan.
 */
#ifndef LULL_TEST_SHAZPTR_FIXTURE_H
#define LULL_TEST_SHAZPTR_FIXTURE_H

#include <errno.h>
#include <sched.h>

#include <lull/shazptr.h>

#include "child.h"
#include "threads.h"

/* Names to wait for. They are never followed. */
static char name_a, name_b __attribute__((unused)), name_c __attribute__((unused));

/* Without taking the processor from the awaited threads. */
#define await(flag, value) AWAIT(lull_load_acquire(flag) == (value))

static inline void tell(int *flag)
{
	lull_store_release(flag, 1);
}

/* ---- a thread that holds a name, in one of several ways -------------------------------------- */

enum way {
	ONCE,	  /* the slot says the name */
	WILDCARD, /* the slot is a wildcard from the start */
	NESTED,	  /* ... because of a second acquisition, of something else, which still lasts */
	NESTED_BEFORE, /* ... which is over */
	OUTER_FIRST,   /* ... and the first one is over, but the second lasts */
	WAYS
};

static inline bool is_wildcard(enum way way)
{
	return way != ONCE;
}

struct holder {
	pthread_t thread;
	const void *ptr;
	enum way way;
	bool exits; /* without clearing */
	int holding, release_waiter, cleared, finish;
	uint32_t group, tid;
};

static inline void *holder_run(void *arg)
{
	struct holder *holder = (struct holder *)arg;
	struct lull_shazptr_guard first, second;

	first = holder->way == WILDCARD ? lull_shazptr_acquire_wildcard() : lull_shazptr_acquire(holder->ptr);
	second = first;
	if (holder->way >= NESTED)
		second = lull_shazptr_acquire(&name_c);
	if (holder->way == NESTED_BEFORE)
		lull_shazptr_clear(second);
	if (holder->way == OUTER_FIRST)
		lull_shazptr_clear(first);
	holder->group = lull__self.shazptr_group;
	holder->tid = lull__self.tid;
	tell(&holder->holding);
	await(&holder->release_waiter, 1);
	if (holder->exits)
		return NULL;
	if (holder->way == NESTED)
		lull_shazptr_clear(second);
	lull_shazptr_clear(holder->way == OUTER_FIRST ? second : first);
	tell(&holder->cleared);
	await(&holder->finish, 1);
	return NULL;
}

static inline void holder_start(struct holder *holder, enum way way, const void *ptr)
{
	bool exits = holder->exits;

	memset(holder, 0, sizeof(*holder));
	holder->exits = exits;
	holder->way = way;
	holder->ptr = ptr;
	holder->thread = start_thread(holder_run, holder);
	await(&holder->holding, 1);
}

static inline void hold(struct holder *holder, enum way way, const void *ptr)
{
	holder->exits = false;
	holder_start(holder, way, ptr);
}

static inline void hold_and_exit(struct holder *holder, enum way way, const void *ptr)
{
	holder->exits = true;
	holder_start(holder, way, ptr);
}

/* The slot is clear on return, the thread is still there. */
static inline void release_waiter(struct holder *holder)
{
	tell(&holder->release_waiter);
	await(&holder->cleared, 1);
}

static inline void finish(struct holder *holder)
{
	tell(&holder->release_waiter);
	tell(&holder->finish);
	join_thread(holder->thread);
}

/* ---- a thread that waits --------------------------------------------------------------------- */

struct waiter {
	pthread_t thread;
	const void *ptr;
	int done;
	uint64_t cpu_ns;
};

static inline void *waiter_run(void *arg)
{
	struct waiter *waiter = (struct waiter *)arg;
	struct timespec cpu;

	lull_shazptr_synchronize(waiter->ptr);
	lull_store_release(&waiter->done, 1);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	waiter->cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	return NULL;
}

static inline void waiter_start(struct waiter *waiter, const void *ptr)
{
	memset(waiter, 0, sizeof(*waiter));
	waiter->ptr = ptr;
	waiter->thread = start_thread(waiter_run, waiter);
}

/*
 * Whether an updater gets through. One who does is not held to a time; one who does not has been looked for
 * by itself and by the thread that scans.
 */
#define PATIENCE_MS 60000

/* For "no"; "yes" may take longer on a busy machine. */
static inline bool gets_through(const void *ptr)
{
	return lull_shazptr_synchronize_timeout(ptr, 20) == 0;
}

static inline void assert_gets_through(const void *ptr)
{
	lull_shazptr_synchronize(ptr);
	assert_int_equal(lull_shazptr_synchronize_timeout(ptr, PATIENCE_MS), 0);
}

static inline void *look_run(void *arg)
{
	return gets_through(arg) ? arg : NULL;
}

static inline void *look_patiently_run(void *arg)
{
	return lull_shazptr_synchronize_timeout(arg, PATIENCE_MS) == 0 ? arg : NULL;
}

static inline bool look(void *(*run)(void *arg), void *ptr)
{
	void *result;

	assert_int_equal(pthread_join(start_thread(run, ptr), &result), 0);
	return result != NULL;
}

/* The same for a thread that holds something itself. */
static inline bool nobody_gets_through(void *ptr)
{
	return !look(look_run, ptr);
}

static inline bool others_get_through(void *ptr)
{
	return look(look_patiently_run, ptr);
}

/* Wait for a scan, since there were @scans. */
#define await_scan(scans) AWAIT(lull_shazptr_scan_count() != (scans))

/*
 * Most tests are run with the look by the caller and without. The thread that scans has been started, and is
 * among those that lull_thread_count() counts.
 */
static inline void no_self_scan(void)
{
	lull_shazptr_set_skip_self_scan(true);
	lull_shazptr_synchronize(&name_a);
}

static inline void self_scan(void)
{
	no_self_scan();
	lull_shazptr_set_skip_self_scan(false);
}

/* A holder without a record: its waiters hear of the end as well. */
static inline void *late_holder_run(void *arg)
{
	lull_thread_register();
	lull_thread_unregister();
	return holder_run(arg);
}

static int toggle_stop;

static inline void *toggles(void *ptr)
{
	while (!lull_load_relaxed(&toggle_stop)) {
		struct lull_shazptr_guard guard = lull_shazptr_acquire(ptr);

		for (int i = 0; i < 500; i++)
			lull_cpu_relax();
		lull_shazptr_clear(guard);
	}
	return NULL;
}

/* A test that is run in both ways. */
#define BOTH_WAYS(name)                                                                            \
	static void test_##name(void);                                                             \
	AT_START_(lists_##name)                                                                     \
	{                                                                                          \
		static struct test both_with = { #name, __LINE__, test_##name, self_scan, NULL, NULL };  \
		static struct test both_without = { #name, __LINE__, test_##name, no_self_scan, NULL, NULL }; \
		list_test(&test_file_here, &both_with);                                                  \
		list_test(&test_file_here, &both_without);                                               \
	}                                                                                          \
	static void test_##name(void)

#endif /* LULL_TEST_SHAZPTR_FIXTURE_H */
