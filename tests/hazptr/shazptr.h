/* SPDX-License-Identifier: MIT */
/*
 * shazptr.h - what every test program of simple hazard pointers begins with: names, threads that hold one in
 * each of the ways, threads that wait, and the two ways to scan.
 */
#ifndef LULL_TEST_SHAZPTR_FIXTURE_H
#define LULL_TEST_SHAZPTR_FIXTURE_H

#include <lull/shazptr.h>

#include "child.h"
#include "hazptr/actor.h"

/* Names to wait for. They are never followed. */
static char name_a, name_b __attribute__((unused)), name_c __attribute__((unused));

/* ---- a thread that holds a name, in one of several ways -------------------------------------- */

enum way {
	ONCE,	  /* the slot says the name */
	WILDCARD, /* the slot is a wildcard from the start */
	NESTED,	  /* ... because of a second acquisition, of something else, which still lasts */
};

struct holder {
	struct actor actor;
	void *ptr;
	enum way way;
	bool holds;
	struct lull_shazptr_guard first, second;
	uint32_t group, tid;
};

static inline void holder_acquires(void *arg)
{
	struct holder *holder = (struct holder *)arg;

	holder->first = holder->way == WILDCARD ? lull_shazptr_acquire_wildcard() : lull_shazptr_acquire(holder->ptr);
	if (holder->way == NESTED)
		holder->second = lull_shazptr_acquire(&name_c);
	holder->group = lull__self.shazptr_group;
	holder->tid = lull__self.tid;
	holder->holds = true;
}

static inline void holder_clears(void *arg)
{
	struct holder *holder = (struct holder *)arg;

	if (holder->way == NESTED)
		lull_shazptr_clear(holder->second);
	lull_shazptr_clear(holder->first);
	holder->holds = false;
}

static inline void hold(struct holder *holder, enum way way, void *ptr)
{
	memset(holder, 0, sizeof(*holder));
	holder->way = way;
	holder->ptr = ptr;
	actor_start(&holder->actor);
	on(&holder->actor, holder_acquires, holder);
}

/* The slot is clear on return, the thread is still there. */
static inline void let_go(struct holder *holder)
{
	on(&holder->actor, holder_clears, holder);
}

static inline void finish(struct holder *holder)
{
	if (holder->holds)
		let_go(holder);
	actor_end(&holder->actor);
}

/* ---- threads that wait ------------------------------------------------------------------------ */

static inline void waits_for(void *name)
{
	lull_shazptr_synchronize(name);
}

static inline void start_waiting(struct actor *waiter, void *name)
{
	actor_start(waiter);
	actor_begin(waiter, waits_for, name);
}

static inline bool is_waiting(struct actor *waiter)
{
	return !actor_is_done(waiter);
}

static inline void end_waiting(struct actor *waiter)
{
	actor_await(waiter);
	actor_end(waiter);
}

/*
 * Whether an updater gets through. One who does is not held to a time; one who does not has been looked for
 * by itself and by the thread that scans for all.
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

/*
 * Most tests are run with the look by the caller and without. The test is among the threads that lull_thread_count() counts.
 */
static inline void no_self_scan(void)
{
	lull_thread_register();
	lull_shazptr_set_skip_self_scan(true);
}

static inline void self_scan(void)
{
	no_self_scan();
	lull_shazptr_set_skip_self_scan(false);
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
