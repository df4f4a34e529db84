/* SPDX-License-Identifier: MIT */
/*
 * support.h - objects that are retired into cohorts, a reader that holds one up, a thread that waits.
 */
#ifndef LULL_TEST_COHORT_SUPPORT_H
#define LULL_TEST_COHORT_SUPPORT_H

#include <errno.h>

#include "child.h"
#include "threads.h"

#include <lull/cohort.h>

struct member {
	long before;
	struct lull_cohort_head cohort;
	int value; /* 42 while it is alive */
	int *gone; /* where its end is counted */
};

typedef void (*retire_func)(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func);

enum { WAYS = 3 };
static const retire_func ways[WAYS] = { lull_cohort_call_rcu, lull_cohort_call_hazptr, lull_cohort_call_rcu_hazptr };

static inline struct member *new_member(int *gone)
{
	struct member *member = (struct member *)malloc(sizeof(*member));

	assert_non_null(member);
	member->value = 42;
	member->gone = gone;
	return member;
}

static inline void member_gone(struct lull_cohort_head *head)
{
	struct member *member = lull_container_of(head, struct member, cohort);
	int *gone = member->gone;

	lull_store_relaxed(&member->value, -1);
	free(member);
	lull_add_release(gone, 1);
}

/* ---- a reader in a section, and one that protects by a hazard pointer ------------------------------ */

static int reader_is_in, reader_may_leave;

static inline void *reads(void *unused)
{
	lull_rcu_read_lock();
	lull_store_release(&reader_is_in, 1);
	await_flag(&reader_may_leave, 1);
	lull_rcu_read_unlock();
	return unused;
}

static inline void *protects(void *arg)
{
	struct member **source = (struct member **)arg;
	struct lull_hazptr_hold hold;
	struct member *member = lull_hazptr_acquire_member(&hold, source, cohort.head);

	lull_store_release(&reader_is_in, 1);
	await_flag(&reader_may_leave, 1);
	assert_int_equal(lull_load_relaxed(&member->value), 42);
	lull_hazptr_release(&hold, member);
	return NULL;
}

static inline pthread_t start_reader(void *(*how)(void *), struct member **source)
{
	pthread_t thread;

	reader_is_in = reader_may_leave = 0;
	thread = start_thread(how, source);
	await_flag(&reader_is_in, 1);
	return thread;
}

static inline void end_reader(pthread_t thread)
{
	lull_store_release(&reader_may_leave, 1);
	join_thread(thread);
}

/* ---- a thread that waits --------------------------------------------------------------------------- */

static int waited;

static inline void *waits(void *arg)
{
	lull_cohort_wait((struct lull_cohort *)arg);
	lull_store_release(&waited, 1);
	return NULL;
}

/* Start it, until it sleeps. */
static inline pthread_t start_waiter(struct lull_cohort *c)
{
	pthread_t thread;

	waited = 0;
	thread = start_thread(waits, c);
	AWAIT(lull_load_relaxed(&c->state) & 1);
	return thread;
}

SETUP
{
	set_mode(LULL_RECLAIM_THREAD);
	assert_int_equal(lull_hazptr_barrier_timeout(20000), 0); /* no test leaves anything behind */
	lull_rcu_barrier();
	set_stall_ms(0);
}

#endif /* LULL_TEST_COHORT_SUPPORT_H */
