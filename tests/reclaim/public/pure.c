/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences */
/*
 * pure.c - lull_rcu_call_pure() and lull_hazptr_call_pure_sized(): which thread runs callbacks, where, how many wait.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include <lull/hazptr.h>

#include "reader.h"

#define MANY 20000

struct object {
	struct lull_head head;
	struct object *more;
	char rest[64];
};

static int runs, own_runs, bad_runs;
static pthread_t deferrer;
static __thread bool inside; /* a section, or online */

static void free_object(struct lull_head *head)
{
	struct object *o = lull_container_of(head, struct object, head);

	if (pthread_equal(pthread_self(), deferrer))
		lull_add_relaxed(&own_runs, 1);
	if (inside)
		lull_add_relaxed(&bad_runs, 1);
	if (o->more)
		lull_rcu_call_pure(&o->more->head, free_object);
	free(o);
	lull_add_release(&runs, 1);
}

static struct object *new_object(struct object *more)
{
	struct object *o = (struct object *)malloc(sizeof(*o));

	assert_non_null(o);
	o->more = more;
	return o;
}

static void defer(void)
{
	lull_rcu_call_pure(&new_object(NULL)->head, free_object);
}

static void defer_in_section(void)
{
	lull_rcu_read_lock();
	inside = true;
	defer();
	inside = false;
	lull_rcu_read_unlock();
}

static void defer_hazptr(void)
{
	lull_hazptr_call_pure_sized(&new_object(NULL)->head, free_object, sizeof(struct object));
}

static struct lull_reclaim_counts counts(void)
{
	struct lull_reclaim_counts stats;

	lull_reclaim_stats(&stats);
	return stats;
}

/* Configure as at the start; but no queue is taken for abandoned, however long its owner gets no processor. */
SETUP
{
	struct lull_reclaim_config config;

	lull_rcu_barrier();
	lull_reclaim_default_config(&config);
	config.linger_ms = 1000000;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	lull_reclaim_reset_peak();
	runs = own_runs = bad_runs = 0;
	deferrer = pthread_self();
}

TEARDOWN
{
	lull_rcu_barrier();
	set_mode(LULL_RECLAIM_THREAD);
}

/* The thread that defers runs what it has deferred, and not more waits than twice the soft limit. */
TEST(own_thread)
{
	for (int i = 0; i < MANY; i++)
		defer();
	if (runs < MANY - 8192 - 64 || own_runs != runs || counts().peak_items > 8192 + 64)
		print_error("%d ran, %d of them here; peak %zu\n", runs, own_runs, counts().peak_items);
	assert_true(runs >= MANY - 8192 - 64);
	assert_int_equal(own_runs, runs);
	assert_true(counts().peak_items <= 8192 + 64);
	lull_rcu_barrier();
	assert_int_equal(runs, MANY);
	assert_int_equal(waiting(), 0);
}

/* Also under POLL, where no thread polls. */
TEST(under_poll)
{
	set_mode(LULL_RECLAIM_POLL);
	for (int i = 0; i < MANY; i++)
		defer();
	assert_true(runs > 0);
	assert_int_equal(own_runs, runs);
}

/* Not before a grace period has passed. */
TEST(reader_holds_up)
{
	pthread_t thread = start_hold_up();

	for (int i = 0; i < MANY / 4; i++)
		defer();
	assert_int_equal(runs, 0);
	end_hold_up(thread);
	lull_rcu_barrier();
	assert_int_equal(runs, MANY / 4);
}

/* No deferral in a section runs any. */
TEST(not_in_section)
{
	for (int i = 0; i < MANY; i++) {
		defer();
		defer_in_section();
	}
	lull_rcu_barrier();
	assert_int_equal(runs, 2 * MANY);
	assert_int_equal(bad_runs, 0);
	assert_true(own_runs > 0);
}

/* A thread that defers only there, after a deferral outside, leaves all to the reclaimer, and needs no barrier. */
TEST(only_in_sections)
{
	defer();
	for (int i = 1; i < MANY; i++)
		defer_in_section();
	await_flag(&runs, MANY);
	assert_int_equal(bad_runs, 0);
}

/* The same for a thread that is online. */
TEST(online)
{
	lull_rcu_online();
	for (int i = 0; i < MANY; i++) {
		inside = true;
		defer();
		inside = false;
		lull_rcu_quiescent();
	}
	lull_rcu_offline();
	await_flag(&runs, MANY);
	assert_int_equal(bad_runs, 0);
}

static void *defers_and_exits(void *unused)
{
	for (int i = 0; i < 10; i++)
		defer();
	return unused;
}

/* One that comes alone wakes the reclaimer, though this only waits for its time to look after abandoned memory. */
TEST(one_in_section)
{
	defer_in_section();
	await_flag(&runs, 1);
	lull_rcu_free(malloc(64));
	nap_ms(50);
	defer_in_section();
	await_flag(&runs, 2);
}

/* A hazard pointer does not hold them up. */
TEST(not_for_slots)
{
	struct object *o = new_object(NULL);
	struct lull_hazptr *slot = lull_hazptr_alloc(lull_hazptr_thread_context());

	assert_non_null(slot);
	assert_ptr_equal(lull_hazptr_protect(slot, o, head), o);
	lull_rcu_call_pure(&o->head, free_object);
	lull_rcu_barrier();
	assert_int_equal(runs, 1);
	lull_hazptr_free(lull_hazptr_thread_context(), slot);
}

/* The reclaimer runs what a thread leaves behind. */
TEST(leftovers)
{
	join_thread(start_thread(defers_and_exits, NULL));
	await_flag(&runs, 10);
}

/* A callback may defer another one, and a barrier waits for that too. */
TEST(chain)
{
	struct object *o = NULL;

	for (int i = 0; i < MANY; i++) {
		o = new_object(i % 10 ? o : NULL);
		if (i % 10 == 9)
			lull_rcu_call_pure(&o->head, free_object);
	}
	lull_rcu_barrier();
	assert_int_equal(runs, MANY);
}

/* call_pure() counts the head, call_pure_sized() what it is told. */
TEST(bytes)
{
	pthread_t thread = start_hold_up();

	defer();
	assert_int_equal(counts().bytes, sizeof(struct lull_head));
	lull_rcu_call_pure_sized(&new_object(NULL)->head, free_object, 12345);
	assert_int_equal(counts().bytes, sizeof(struct lull_head) + 12345);
	end_hold_up(thread);
	lull_rcu_barrier();
	assert_int_equal(counts().bytes, 0);
	assert_int_equal(runs, 2);
}

/* A forked child runs what waited, once, and so does the parent. */
TEST(fork)
{
	pthread_t thread;
	pid_t child;
	int status;

	NEEDS_THREADS_IN_CHILD();
	thread = start_hold_up();
	for (int i = 0; i < 1000; i++)
		defer();
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		alarm(60);
		lull_rcu_barrier();
		for (int i = 0; i < MANY; i++)
			defer();
		lull_rcu_barrier();
		_exit(runs == MANY + 1000 && own_runs > 0 ? 0 : 1);
	}
	end_hold_up(thread);
	lull_rcu_barrier();
	assert_int_equal(runs, 1000);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* ---- the same, for objects that hazard pointers may protect ---------------------------------------- */

/* The thread that defers runs them, and no section holds them up. */
TEST(hazptr_own_thread)
{
	pthread_t thread = start_hold_up();

	for (int i = 0; i < MANY; i++)
		defer_hazptr();
	assert_true(runs >= MANY - 8192 - 64);
	assert_int_equal(own_runs, runs);
	assert_true(counts().peak_items <= 8192 + 64);
	end_hold_up(thread);
	lull_hazptr_barrier();
	assert_int_equal(runs, MANY);
	assert_int_equal(waiting(), 0);
}

/* A slot holds up the object that it names, and no other one. */
TEST(hazptr_named)
{
	struct object *o = new_object(NULL);
	struct lull_hazptr *slot = lull_hazptr_alloc(lull_hazptr_thread_context());

	assert_non_null(slot);
	assert_ptr_equal(lull_hazptr_protect(slot, o, head), o);
	lull_hazptr_call_pure_sized(&o->head, free_object, sizeof(*o));
	for (int i = 0; i < MANY; i++)
		defer_hazptr();
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	AWAIT(lull_load_relaxed(&runs) == MANY && counts().bytes == sizeof(*o)); /* it may go on for longer than that */
	memset(o->rest, 7, sizeof(o->rest));
	lull_hazptr_free(lull_hazptr_thread_context(), slot);
	lull_hazptr_barrier();
	assert_int_equal(runs, MANY + 1);
}

/* No deferral in a section runs any. */
TEST(hazptr_not_in_section)
{
	for (int i = 0; i < MANY; i++) {
		if (i % 2)
			defer_hazptr();
		lull_rcu_read_lock();
		inside = true;
		defer_hazptr();
		inside = false;
		lull_rcu_read_unlock();
	}
	lull_hazptr_barrier();
	assert_int_equal(runs, MANY * 3 / 2);
	assert_int_equal(bad_runs, 0);
	assert_true(own_runs > 0);
}

static void *defers_hazptr_and_exits(void *unused)
{
	for (int i = 0; i < 10; i++)
		defer_hazptr();
	return unused;
}

static void *defers_hazptr_in_section(void *unused)
{
	lull_rcu_read_lock();
	defer_hazptr();
	lull_rcu_read_unlock();
	await_flag(&runs, 12);
	return unused;
}

/*
 * The reclaimer runs what a thread leaves behind, also while it waits for a section; and what a thread defers in sections
 * alone.
 */
TEST(hazptr_leftovers)
{
	pthread_t thread = start_hold_up();

	lull_rcu_call(&new_object(NULL)->head, free_object);
	nap_ms(50); /* the reclaimer waits for the reader by now */
	join_thread(start_thread(defers_hazptr_and_exits, NULL));
	await_flag(&runs, 10);
	end_hold_up(thread);
	await_flag(&runs, 11);
	join_thread(start_thread(defers_hazptr_in_section, NULL));
}

#ifdef LULL_DEBUG
TEST(deferred_twice)
{
	EXPECT_ABORT("gave to lull_rcu_call_pure") {
		struct object *o = new_object(NULL);

		lull_rcu_read_lock();
		lull_rcu_call_pure(&o->head, free_object);
		lull_rcu_free(o);
	}
}
#endif

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
