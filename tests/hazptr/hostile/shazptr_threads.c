/* SPDX-License-Identifier: MIT */
/* runs: core */
/*
 * shazptr_threads.c - shazptr.h: threads that end, and after; signal handlers; fork; no thread to be had.
 */
#include <signal.h>

#include "hazptr/shazptr.h"

/* ---- threads that end, and after ------------------------------------------------------------- */

BOTH_WAYS(exit_while_holding)
{
	for (int way = 0; way < WAYS; way++) {
		struct holder holder;
		struct waiter waiter;

		start_hearing();
		hold_and_exit(&holder, (enum way)way, &name_a);
		waiter_start(&waiter, &name_a);
		nap_ms(20);
		assert_int_equal(lull_load_acquire(&waiter.done), 0);
		finish(&holder);
		join_thread(waiter.thread);
		stop_hearing();
		assert_non_null(strstr(heard, "exits with its simple hazard pointer in use"));
		assert_non_null(strstr(heard, way == NESTED ? "(depth 2)" : "(depth 1)"));
		assert_gets_through(&name_a);
	}
}

TEST_WITH(unregistered, self_scan, NULL)
{
	struct lull_shazptr_guard outer, inner;
	unsigned before;

	lull_shazptr_synchronize(&name_a);
	lull_thread_register();
	before = lull_thread_count();
	lull_thread_unregister();
	assert_int_equal(lull_thread_count(), before - 1);

	/* The record is linked in for as long as something is held, and each time. */
	outer = lull_shazptr_acquire_wildcard();
	assert_int_equal(lull_thread_count(), before);
	lull_shazptr_clear(outer);
	assert_int_equal(lull_thread_count(), before - 1);
	outer = lull_shazptr_acquire(&name_a);
	assert_int_equal(lull_thread_count(), before);
	assert_true(nobody_gets_through(&name_a));
	inner = lull_shazptr_acquire(&name_b);
	assert_true(nobody_gets_through(&name_c));
	lull_shazptr_clear(outer);
	assert_int_equal(lull_thread_count(), before);
	assert_true(nobody_gets_through(&name_c));
	lull_shazptr_clear(inner);
	assert_int_equal(lull_thread_count(), before - 1);
	assert_true(others_get_through(&name_a));
	assert_gets_through(&name_a);

	/* A read section that ends meanwhile does not take it out, ... */
	lull_rcu_read_lock();
	outer = lull_shazptr_acquire(&name_a);
	assert_int_equal(lull_thread_count(), before);
	lull_rcu_read_unlock();
	assert_int_equal(lull_thread_count(), before);
	assert_true(nobody_gets_through(&name_a));

	/* ... nor the other way round. */
	lull_rcu_read_lock();
	lull_rcu_cookie cookie = lull_rcu_gp_start();
	lull_shazptr_clear(outer);
	assert_int_equal(lull_thread_count(), before);
	assert_true(others_get_through(&name_a));
	assert_false(lull_rcu_gp_poll(cookie));
	lull_rcu_read_unlock();
	assert_int_equal(lull_thread_count(), before - 1);
	assert_true(lull_rcu_gp_poll(cookie));

	lull_thread_register();
	assert_int_equal(lull_thread_count(), before);
	outer = lull_shazptr_acquire(&name_a);
	assert_true(nobody_gets_through(&name_a));
	lull_shazptr_clear(outer);
	assert_int_equal(lull_thread_count(), before);
}

BOTH_WAYS(wait_for_unregistered)
{
	for (int way = 0; way < WAYS; way++) {
		struct holder holder;
		struct waiter waiter;

		memset(&holder, 0, sizeof(holder));
		holder.way = (enum way)way;
		holder.ptr = &name_a;
		holder.thread = start_thread(late_holder_run, &holder);
		await(&holder.holding, 1);
		waiter_start(&waiter, &name_a);
		nap_ms(20);
		assert_int_equal(lull_load_acquire(&waiter.done), 0);
		release_waiter(&holder);
		join_thread(waiter.thread);
		finish(&holder);
	}
}

/* The last rounds come after lull's own destructor, as in base/public/thread.c. */
#ifdef LULL__TSAN
#define LATE_ROUNDS 2
#else
#define LATE_ROUNDS 100
#endif
static pthread_key_t late_key;
static int late_runs;
static __thread int late_round;

static void late_destructor(void *value)
{
	struct lull_shazptr_guard outer = lull_shazptr_acquire(&name_a);
	struct lull_shazptr_guard inner = lull_shazptr_acquire(&name_b);

	lull_shazptr_synchronize(NULL);
	lull_shazptr_clear(inner);
	lull_shazptr_clear(outer);
	outer = lull_shazptr_acquire(&name_a);
	assert_int_equal(lull_shazptr_synchronize_timeout(&name_b, 60000), 0);
	lull_shazptr_clear(outer);
	lull_shazptr_synchronize(&name_a);
	lull_add_relaxed(&late_runs, 1);
	if (++late_round < LATE_ROUNDS)
		pthread_setspecific(late_key, value);
}

static void *ends_late(void *holds)
{
	pthread_setspecific(late_key, &late_key);
	lull_thread_register();
	if (holds) { /* and is told off; then it is as if it did not */
		lull_shazptr_acquire(&name_a);
		lull_shazptr_acquire(&name_b);
	}
	return NULL;
}

BOTH_WAYS(late_destructors)
{
	unsigned before;

	lull_thread_register();
	before = lull_thread_count();
	late_runs = 0;
	assert_int_equal(pthread_key_create(&late_key, late_destructor), 0);
	start_hearing();
	for (int i = 0; i < 50; i++) {
		join_thread(start_thread(ends_late, i % 8 == 7 ? &late_key : NULL));
		lull_shazptr_synchronize(&name_a);
	}
	stop_hearing();
	assert_true(late_runs >= 100);
	assert_true(lull_thread_count() <= before); /* a thread of the library's may have ended meanwhile */
	pthread_key_delete(late_key);
}

/* ---- signals --------------------------------------------------------------------------------- */

static int in_handler, handler_may_go;

static void waiting_handler(int unused)
{
	struct lull_shazptr_guard guard = lull_shazptr_acquire(&name_b);

	(void)unused;
	lull_store_release(&in_handler, 1);
	AWAIT_SOON(lull_load_acquire(&handler_may_go));
	lull_shazptr_clear(guard);
}

static void handle(void (*handler)(int))
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = SA_RESTART;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

/* In a handler that interrupts a reader: both names are held, by the wildcard. */
BOTH_WAYS(handler_nests)
{
	struct holder holder;

	in_handler = handler_may_go = 0;
	handle(waiting_handler);
	hold(&holder, ONCE, &name_a);
	assert_gets_through(&name_b);
	interrupt_until(holder.thread, SIGUSR1, &in_handler, 1);
	assert_false(gets_through(&name_a));
	assert_false(gets_through(&name_b));
	assert_false(gets_through(&name_c));
	lull_store_release(&handler_may_go, 1);
	release_waiter(&holder);
	assert_gets_through(&name_a);
	assert_gets_through(&name_b);
	finish(&holder);
}

static int handled;

static void quick_handler(int unused)
{
	struct lull_shazptr_guard guard = lull_shazptr_acquire(&name_a);

	(void)unused;
	lull_add_relaxed(&handled, 1);
	lull_shazptr_clear(guard);
}

static void *toggles_nested(void *unused)
{
	(void)unused;
	lull_thread_register();
	while (!lull_load_relaxed(&toggle_stop)) {
		struct lull_shazptr_guard outer = lull_shazptr_acquire(&name_a);
		struct lull_shazptr_guard inner = lull_shazptr_acquire(&name_b);

		lull_shazptr_clear(outer);
		lull_shazptr_clear(inner);
	}
	/* Out of balance, it would say so in the end. */
	assert_int_equal(lull__self.shazptr, 0);
	assert_int_equal(lull__self.shazptr_nested, 0);
	return NULL;
}

BOTH_WAYS(handlers_anywhere)
{
	pthread_t reader;

	handle(quick_handler);
	lull_store_relaxed(&toggle_stop, 0);
	reader = start_thread(toggles_nested, NULL);
	for (int i = 0; i < 2000; i++) {
		pthread_kill(reader, SIGUSR1);
		if (i % 4 == 0)
			lull_shazptr_synchronize(i % 8 ? &name_a : &name_c);
		else if (i % 16 == 1)
			sched_yield();
	}
	lull_store_relaxed(&toggle_stop, 1);
	join_thread(reader);
	assert_true(lull_load_relaxed(&handled) > 0);
	assert_gets_through(&name_a);
	assert_gets_through(&name_c);
}

/* ---- fork ------------------------------------------------------------------------------------ */

static struct lull_shazptr_guard kept;

BOTH_WAYS(fork)
{
	struct holder holder_a, holder_b;
	struct waiter waiter;

	hold(&holder_a, ONCE, &name_a);
	hold(&holder_b, WILDCARD, NULL);
	waiter_start(&waiter, &name_a);
	nap_ms(20);
	/* Without the look by the caller even this takes the thread that scans. */
	if (THREADS_IN_CHILD || !lull_shazptr_skip_self_scan())
		/* Other threads' slots and waits are not here. */
		EXPECT_FINE {
			lull_shazptr_synchronize(&name_a);
			must(lull_shazptr_synchronize_timeout(&name_b, 60000) == 0);
		}
	kept = lull_shazptr_acquire(&name_c);
	if (THREADS_IN_CHILD)
		EXPECT_FINE {
			struct holder holder;
			struct waiter mine;

			/* The forking thread still holds what it held. */
			must(nobody_gets_through(&name_c));
			lull_shazptr_clear(kept);
			must(others_get_through(&name_c));
			lull_shazptr_synchronize(&name_a);
			hold(&holder, ONCE, &name_a);
			waiter_start(&mine, &name_a);
			nap_ms(20);
			must(!lull_load_acquire(&mine.done));
			release_waiter(&holder);
			join_thread(mine.thread);
			finish(&holder);
		}
	lull_shazptr_clear(kept);
	assert_int_equal(lull_load_acquire(&waiter.done), 0);
	finish(&holder_b);
	finish(&holder_a);
	join_thread(waiter.thread);
}

/* ---- no thread to be had --------------------------------------------------------------------- */

static int is_about_to_wait;

static void *lets_go_later(void *arg)
{
	struct holder *holder = (struct holder *)arg;

	await(&is_about_to_wait, 1);
	nap_ms(100);
	tell(&holder->release_waiter);
	return NULL;
}

static void no_thread(void)
{
	struct rlimit none = { 0, 0 };
	struct holder holder;
	pthread_t helper;
	uint64_t scans;

	hold(&holder, ONCE, &name_a);
	helper = start_thread(lets_go_later, &holder);
	must(setrlimit(RLIMIT_NPROC, &none) == 0);
	must(setgid(65534) == 0 && setuid(65534) == 0); /* the limit does not bind root */
	must(lull_shazptr_synchronize_timeout(&name_a, 10) == -ETIMEDOUT);
	scans = lull_shazptr_scan_count();
	tell(&is_about_to_wait);
	lull_shazptr_synchronize(&name_a);
	must(lull_load_acquire(&holder.release_waiter));
	must(lull_shazptr_scan_count() - scans < 40);
	lull_shazptr_synchronize(&name_b);
	join_thread(helper);
	finish(&holder);
}

TEST_WITH(no_thread, self_scan, NULL)
{
	char text[4096];
	int status;

	NEEDS_THREADS_IN_CHILD();
	if (geteuid() != 0)
		SKIP(ROOT_ONLY);
	status = run_child(no_thread, text, sizeof(text));
	if (status)
		print_error("%s", text);
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "cannot start the scanning thread"));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
