/* SPDX-License-Identifier: MIT */
/*
 * test_thread.c - thread.h: records come by themselves and go with their threads; late readers, fork.
 */
#include <limits.h>

#include "support.h"

static void test_count(void **state)
{
	unsigned before;

	(void)state;
	lull_thread_register();
	lull_thread_register();
	lull_rcu_free(malloc(16));
	lull_rcu_barrier(); /* the reclaimer has a record too */
	before = lull_thread_count();
	lull_thread_unregister();
	assert_int_equal(lull_thread_count(), before - 1);
	lull_thread_unregister();
	/* Sections work, for as long as they last. */
	lull_rcu_read_lock();
	assert_int_equal(lull_thread_count(), before);
	lull_rcu_cookie cookie = lull_rcu_gp_start();
	assert_false(lull_rcu_gp_poll(cookie));
	lull_rcu_read_unlock();
	assert_true(lull_rcu_gp_poll(cookie));
	assert_int_equal(lull_thread_count(), before - 1);
	lull_rcu_free(malloc(16));
	lull_rcu_synchronize();
	lull_rcu_read_lock();
	lull_thread_register(); /* does nothing here: the record is linked in already */
	assert_int_equal(lull_thread_count(), before);
	lull_rcu_read_unlock();
	assert_int_equal(lull_thread_count(), before - 1);
	lull_rcu_online(); /* registers */
	lull_rcu_offline();
	assert_int_equal(lull_thread_count(), before);
	lull_thread_unregister();
	lull_thread_register();
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	assert_int_equal(lull_thread_count(), before);
	lull_rcu_barrier();
}

static void *reads_once(void *unused)
{
	(void)unused;
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	return NULL;
}

static void *touches_nothing(void *unused)
{
	(void)unused;
	return NULL;
}

static void test_short_lived(void **state)
{
	unsigned before;

	(void)state;
	lull_thread_register();
	before = lull_thread_count();
	for (int i = 0; i < 2000; i++)
		join_thread(start_thread(i % 3 ? reads_once : touches_nothing, NULL));
	assert_true(lull_thread_count() <= before); /* a thread of the library's may have ended meanwhile */
	lull_rcu_synchronize();
}

/* ---- readers after exit handling -------------------------------------------------------------------------- */

static pthread_key_t late_key;
static int late_runs;
static int *late_pointer;

/*
 * Asks for another round as long as glibc gives one, so the last ones come after lull's own destructor. (In the
 * last round of all ThreadSanitizer is gone from the thread.)
 */
#ifdef LULL__TSAN
#define LATE_ROUNDS 2
#else
#define LATE_ROUNDS 100
#endif
static __thread int late_round;

static void late_reader(void *value)
{
	lull_rcu_read_lock();
	lull_rcu_read_lock();
	assert_int_equal(*lull_rcu_dereference(late_pointer), 7);
	lull_rcu_read_unlock();
	lull_rcu_read_unlock();
	lull_rcu_free(malloc(32));
	lull_rcu_synchronize();
	lull_add_relaxed(&late_runs, 1);
	if (++late_round < LATE_ROUNDS)
		pthread_setspecific(late_key, value);
}

static void *ends_late(void *unused)
{
	(void)unused;
	pthread_setspecific(late_key, &late_key);
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	return NULL;
}

static void test_late_readers(void **state)
{
	unsigned before;
	int seven = 7;

	(void)state;
	late_pointer = &seven;
	lull_thread_register();
	lull_rcu_free(malloc(32));
	lull_rcu_barrier();
	before = lull_thread_count();
	assert_int_equal(pthread_key_create(&late_key, late_reader), 0);
	for (int i = 0; i < 50; i++) {
		join_thread(start_thread(ends_late, NULL));
		lull_rcu_synchronize();
	}
	assert_true(late_runs >= 100); /* some of them after the record was given back */
	assert_int_equal(lull_thread_count(), before);
	pthread_key_delete(late_key);
	lull_rcu_barrier();
}

/* The first use of all is in the last round of destructors: no further one would take the record out. */
static void last_minute_reader(void *value)
{
	if (++late_round < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(late_key, value);
	else
		late_reader(value);
}

static void *begins_late(void *unused)
{
	(void)unused;
	late_round = 0;
	pthread_setspecific(late_key, &late_key);
	return NULL;
}

static void test_last_minute(void **state)
{
	unsigned before = lull_thread_count();
	int seven = 7;

	(void)state;
#ifdef LULL__TSAN /* is gone from the thread by then */
	skip();
#endif
	late_pointer = &seven;
	late_runs = 0;
	assert_int_equal(pthread_key_create(&late_key, last_minute_reader), 0);
	for (int i = 0; i < 50; i++) {
		join_thread(start_thread(begins_late, NULL));
		assert_int_equal(lull_thread_count(), before);
	}
	assert_int_equal(late_runs, 50);
	pthread_key_delete(late_key);
	lull_rcu_barrier();
}

/* ---- exit inside a section ----------------------------------------------------------------------------------- */

static void *exits_inside(void *unused)
{
	(void)unused;
	lull_rcu_read_lock();
	lull_rcu_read_lock();
	pthread_exit(NULL);
}

static void test_exit_inside(void **state)
{
	(void)state;
	start_hearing();
	join_thread(start_thread(exits_inside, NULL));
	lull_rcu_synchronize(); /* does not wait for the dead */
	stop_hearing();
	assert_non_null(strstr(heard, "exits in a read section (depth 2)"));
}

/* ---- fork -------------------------------------------------------------------------------------------------- */

static int other_inside, other_leave;

static void *stays_inside(void *unused)
{
	(void)unused;
	lull_rcu_read_lock();
	lull_store_release(&other_inside, 1);
	await_flag(&other_leave, 1);
	lull_rcu_read_unlock();
	return NULL;
}

static int callbacks_run;

static void count_callback(struct lull_rcu_head *head)
{
	(void)head;
	lull_add_relaxed(&callbacks_run, 1);
}

/* The other thread's section does not exist in the child, everything works there. */
static void child_does_everything(void)
{
	static struct lull_rcu_head head;

	must(lull_thread_count() <= 1);
	lull_rcu_synchronize();
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	lull_rcu_free(malloc(100));
	lull_rcu_call(&head, count_callback);
	lull_rcu_barrier();
	must(callbacks_run == 1);
	join_thread(start_thread(reads_once, NULL));
	lull_rcu_synchronize();
}

/*
 * The child of a fork amid threads that come and go. Under AddressSanitizer it cannot start threads, because the
 * sanitizer's own lock may have been held by another one; under ThreadSanitizer no child can.
 */
static void child_reads_and_waits(void)
{
	must(lull_thread_count() <= 1);
	lull_rcu_synchronize();
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
}

static bool threads_in_child(bool churn)
{
#if UNDER_ASAN
	return !churn;
#else
	(void)churn;
	return THREADS_IN_CHILD;
#endif
}

static void test_fork(void **state)
{
	pthread_t other = start_thread(stays_inside, NULL);

	(void)state;
	await_flag(&other_inside, 1);
	lull_rcu_free(malloc(100));
	expect_fine(threads_in_child(false) ? child_does_everything : child_reads_and_waits);
	lull_store_release(&other_leave, 1);
	join_thread(other);
	lull_rcu_barrier();
}

/* The forking thread's own section goes on in the child. */
static void child_in_section(void)
{
	must(lull_rcu_read_lock_held());
	lull_rcu_cookie cookie = lull_rcu_gp_start();
	must(!lull_rcu_gp_poll(cookie));
	lull_rcu_read_unlock();
	must(lull_rcu_gp_poll(cookie));
}

static void test_fork_in_section(void **state)
{
	(void)state;
	lull_rcu_read_lock();
	expect_fine(child_in_section);
	lull_rcu_read_unlock();
}

/* fork while other threads lead grace periods, retire and come and go. */
static int churn_stop;

static void *churn(void *unused)
{
	(void)unused;
	while (!lull_load_relaxed(&churn_stop)) {
		lull_rcu_free(malloc(64));
		lull_rcu_synchronize();
		join_thread(start_thread(reads_once, NULL));
	}
	return NULL;
}

static void test_fork_under_load(void **state)
{
	pthread_t threads[2];

	(void)state;
	other_inside = other_leave = 0;
	for (int i = 0; i < 2; i++)
		threads[i] = start_thread(churn, NULL);
	for (int i = 0; i < 50; i++) {
		expect_fine(child_reads_and_waits);
		if (threads_in_child(true))
			expect_fine(child_does_everything);
	}
	lull_store_relaxed(&churn_stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(threads[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_short_lived),
		cmocka_unit_test(test_late_readers),
		cmocka_unit_test(test_last_minute),
		cmocka_unit_test(test_exit_inside),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_fork_in_section),
		cmocka_unit_test(test_fork_under_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
