/* SPDX-License-Identifier: MIT */
/* runs: core */
/*
 * shazptr_threads.c - shazptr.h: threads that end, and after; signal handlers; fork; waiters that come and go.
 */
#include <dirent.h>
#include <signal.h>

#include "hazptr/shazptr.h"

/* ---- threads that end, and after ------------------------------------------------------------- */

static void reads_late(void)
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
}

/* It is told off, and then it is as if it did not. */
static void is_left_holding(void)
{
	lull_shazptr_acquire(&name_a);
	lull_shazptr_acquire(&name_b);
}

static void waits_for_name(void)
{
	lull_shazptr_synchronize(&name_a);
}

BOTH_WAYS(late_destructors)
{
	unsigned before;

	lull_thread_register();
	before = lull_thread_count();
	start_hearing();
	end_threads_late(reads_late, is_left_holding, waits_for_name);
	stop_hearing();
	assert_true(lull_thread_count() <= before); /* a thread of the library's may have ended meanwhile */
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
	interrupt_until(holder.actor.thread, SIGUSR1, &in_handler, 1);
	assert_false(gets_through(&name_a));
	assert_false(gets_through(&name_b));
	assert_false(gets_through(&name_c));
	lull_store_release(&handler_may_go, 1);
	let_go(&holder);
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
	struct actor waiter;

	hold(&holder_a, ONCE, &name_a);
	hold(&holder_b, WILDCARD, NULL);
	start_waiting(&waiter, &name_a);
	nap_ms(20);
	/* Other threads' slots and waits are not here. */
	EXPECT_FINE {
		lull_shazptr_synchronize(&name_a);
		must(lull_shazptr_synchronize_timeout(&name_b, 60000) == 0);
	}
	kept = lull_shazptr_acquire(&name_c);
	if (THREADS_IN_CHILD)
		EXPECT_FINE {
			struct holder holder;
			struct actor mine;

			/* The forking thread still holds what it held. */
			must(nobody_gets_through(&name_c));
			lull_shazptr_clear(kept);
			must(others_get_through(&name_c));
			lull_shazptr_synchronize(&name_a);
			hold(&holder, ONCE, &name_a);
			start_waiting(&mine, &name_a);
			nap_ms(20);
			must(is_waiting(&mine));
			let_go(&holder);
			end_waiting(&mine);
			finish(&holder);
		}
	lull_shazptr_clear(kept);
	assert_true(is_waiting(&waiter));
	finish(&holder_b);
	finish(&holder_a);
	end_waiting(&waiter);
}

static pid_t forked;
static int has_forked;

static void forking_handler(int unused)
{
	(void)unused;
	forked = fork();
	if (forked)
		lull_store_release(&has_forked, 1);
}

static pthread_t waiting_thread;

static void *interrupts_wait(void *holder)
{
	nap_ms(20);
	interrupt_until(waiting_thread, SIGUSR1, &has_forked, 1);
	let_go((struct holder *)holder);
	return NULL;
}

/* The child's thread, which scanned for all or waited for another one's scan, waits for nobody. */
BOTH_WAYS(fork_amid_wait)
{
	NEEDS_THREADS_IN_CHILD();
	handle(forking_handler);
	waiting_thread = pthread_self();
	for (int i = 0; i < 8; i++) {
		struct holder holder;
		struct actor other;
		pthread_t interrupter;
		int status;

		has_forked = 0;
		hold(&holder, ONCE, &name_a);
		if (i % 2) {
			start_waiting(&other, &name_a);
			nap_ms(5);
		}
		interrupter = start_thread(interrupts_wait, &holder);
		lull_shazptr_synchronize(&name_a);
		if (forked == 0) {
			lull_shazptr_synchronize(&name_a);
			_exit(lull_shazptr_synchronize_timeout(&name_b, 60000) ? 1 : 0);
		}
		join_thread(interrupter);
		if (i % 2)
			end_waiting(&other);
		finish(&holder);
		assert_int_equal(waitpid(forked, &status, 0), forked);
		assert_int_equal(status, 0);
	}
}

/* ---- waiters that come and go ---------------------------------------------------------------- */

static void stuck_handler(int unused)
{
	(void)unused;
	lull_store_release(&in_handler, 1);
	AWAIT(lull_load_acquire(&handler_may_go));
}

/* The first one scans for all. It does not, because it is in a handler: then another one does. */
BOTH_WAYS(leader_is_stuck)
{
	enum { N = 5 };
	struct holder holder;
	struct actor waiter[N];

	in_handler = handler_may_go = 0;
	handle(stuck_handler);
	hold(&holder, ONCE, &name_a);
	start_waiting(&waiter[0], &name_a);
	nap_ms(20);
	interrupt_until(waiter[0].thread, SIGUSR1, &in_handler, 1);
	for (int i = 1; i < N; i++)
		start_waiting(&waiter[i], &name_a);
	nap_ms(5);
	let_go(&holder);
	for (int i = 1; i < N; i++)
		end_waiting(&waiter[i]);
	assert_gets_through(&name_b);
	assert_true(is_waiting(&waiter[0]));
	lull_store_release(&handler_may_go, 1);
	end_waiting(&waiter[0]);
	finish(&holder);
}

static void gives_up(void *name)
{
	assert_int_equal(lull_shazptr_synchronize_timeout(name, 30), -ETIMEDOUT);
}

/* The first one's time is up, and another one scans for those that are left. */
BOTH_WAYS(leader_gives_up)
{
	struct holder holder_a, holder_b;
	struct actor first, waiter[2];

	hold(&holder_a, ONCE, &name_a);
	hold(&holder_b, ONCE, &name_b);
	actor_start(&first);
	actor_begin(&first, gives_up, &name_a);
	start_waiting(&waiter[0], &name_a);
	start_waiting(&waiter[1], &name_b);
	actor_await(&first);
	for (int i = 0; i < 2; i++)
		assert_true(is_waiting(&waiter[i]));
	/* The second one goes: the third one scans. */
	let_go(&holder_a);
	end_waiting(&waiter[0]);
	assert_true(is_waiting(&waiter[1]));
	let_go(&holder_b);
	end_waiting(&waiter[1]);
	actor_end(&first);
	finish(&holder_a);
	finish(&holder_b);
}

static void *waits_shortly(void *name)
{
	for (int i = 0; i < 300; i++)
		lull_shazptr_synchronize_timeout(name, (uint64_t)(i % 3));
	return NULL;
}

static void *waits_often(void *name)
{
	for (int i = 0; i < 100; i++)
		lull_shazptr_synchronize(name);
	return NULL;
}

/* However they come and go, there is always one that scans, and no thread is forgotten. */
BOTH_WAYS(come_and_go)
{
	enum { N = 8 };
	static char *const names[2] = { &name_a, &name_b };
	pthread_t reader[2], waiter[N];

	lull_store_relaxed(&toggle_stop, 0);
	for (int i = 0; i < 2; i++)
		reader[i] = start_thread(toggles, names[i]);
	for (int i = 0; i < N; i++)
		waiter[i] = start_thread(i % 4 ? waits_shortly : waits_often, names[i % 2]);
	for (int i = 0; i < N; i++)
		join_thread(waiter[i]);
	lull_store_relaxed(&toggle_stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(reader[i]);
	assert_gets_through(&name_a);
}

static int threads_here(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int count = 0;

	assert_non_null(tasks);
	while (readdir(tasks))
		count++;
	closedir(tasks);
	return count;
}

/* No thread is started to scan for them. */
TEST_WITH(no_thread, self_scan, NULL)
{
	struct holder holder;
	struct actor waiter[2];
	uint64_t scans = lull_shazptr_scan_count();
	int before;

	hold(&holder, ONCE, &name_a);
	for (int i = 0; i < 2; i++)
		actor_start(&waiter[i]);
	before = threads_here();
	for (int i = 0; i < 2; i++)
		actor_begin(&waiter[i], waits_for, &name_a);
	AWAIT(lull_shazptr_scan_count() >= scans + 3);
	assert_true(threads_here() <= before); /* one of lull's other threads may have ended */
	let_go(&holder);
	for (int i = 0; i < 2; i++)
		end_waiting(&waiter[i]);
	finish(&holder);
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
