/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * exit.c - the process ends while a callback and a hook are busy on lull's threads, for longer than lull waits for
 * them. They end before ThreadSanitizer, which then looks for threads that are never joined, does so.
 */
#include "threads.h"

#define LATE_MS 400 /* lull waits 100 ms for each thread, ThreadSanitizer 1000 ms */

static int stalls, entered, leave;

static void leave_late(int *here)
{
	lull_store_release(here, 1);
	await_flag(&leave, 1);
	nap_ms(LATE_MS);
}

static void late_hook(const struct lull_stall *stall, void *unused)
{
	(void)stall;
	(void)unused;
	leave_late(&stalls);
}

static void late_callback(struct lull_head *head)
{
	(void)head;
	leave_late(&entered);
}

TEST(hold_both_threads)
{
	static struct lull_head head;

	lull_debug_set_stall_ms(10);
	lull_debug_set_stall_hook(late_hook, NULL);
	lull_rcu_call(&head, late_callback);
	await_flag(&entered, 1);
	await_flag(&stalls, 1);
	lull_store_release(&leave, 1);
}

/* The end of main() is what is tested. */
BEFORE_ALL
{
	alarm(100);
}
