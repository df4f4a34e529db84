/* SPDX-License-Identifier: MIT */
/*
 * reader.h - a reader that stays in its section until the test lets it go; one at a time.
 */
#ifndef LULL_TEST_READER_SUPPORT_H
#define LULL_TEST_READER_SUPPORT_H

#include "child.h"
#include "threads.h"

static int held_up_inside, held_up_leave;

static void *holds_up(void *unused)
{
	lull_rcu_read_lock();
	lull_store_release(&held_up_inside, 1);
	await_flag(&held_up_leave, 1);
	lull_rcu_read_unlock();
	return unused;
}

static pthread_t start_hold_up(void)
{
	pthread_t thread;

	held_up_inside = held_up_leave = 0;
	thread = start_thread(holds_up, NULL);
	await_flag(&held_up_inside, 1);
	return thread;
}

static void end_hold_up(pthread_t thread)
{
	lull_store_release(&held_up_leave, 1);
	join_thread(thread);
}

#endif /* LULL_TEST_READER_SUPPORT_H */
