/* SPDX-License-Identifier: MIT */
/* runs: core */
/*
 * shazptr_threads.c - shazptr.h: threads that end, and after; signal handlers; fork; no thread to be had.
 */
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

/* ---- no thread to be had --------------------------------------------------------------------- */

static int is_about_to_wait, has_let_go;

static void lets_go_later(void *holder)
{
	AWAIT(lull_load_acquire(&is_about_to_wait));
	nap_ms(100);
	lull_store_release(&has_let_go, 1);
	holder_clears(holder);
}

static void no_thread(void)
{
	struct rlimit none = { 0, 0 };
	struct holder holder;
	uint64_t scans;

	hold(&holder, ONCE, &name_a);
	actor_begin(&holder.actor, lets_go_later, &holder);
	must(setrlimit(RLIMIT_NPROC, &none) == 0);
	must(setgid(65534) == 0 && setuid(65534) == 0); /* the limit does not bind root */
	must(lull_shazptr_synchronize_timeout(&name_a, 10) == -ETIMEDOUT);
	scans = lull_shazptr_scan_count();
	lull_store_release(&is_about_to_wait, 1);
	lull_shazptr_synchronize(&name_a);
	must(lull_load_acquire(&has_let_go));
	must(lull_shazptr_scan_count() - scans < 40);
	lull_shazptr_synchronize(&name_b);
	actor_await(&holder.actor);
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
