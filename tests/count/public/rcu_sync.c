/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences */
/*
 * rcu_sync.c - rcu_sync.h: states of one thread, readers that writers wait for, and both beside each other. Also as
 * C++.
 */
#include "child.h"
#include "random.h"
#include "threads.h"

#include <lull/mutex.h>
#include <lull/rcu_sync.h>

static struct lull_rcu_sync rs; /* never initialised */

/* Some time without a writer. */
static void pause_writers(void)
{
	lull_rcu_barrier();
	lull_rcu_barrier();
}

static void end_sync(void)
{
	lull_rcu_sync_dtor(&rs);
	assert_true(lull_rcu_sync_is_idle(&rs));
}

USE_TEARDOWN(end_sync)

/* Each call in each state. */
TEST(random)
{
	uint64_t random = test_seed();
	int in = 0;

	assert_true(lull_rcu_sync_is_idle(&rs));
	for (int i = 0; i < 500; i++) {
		switch (dice(&random, 5)) {
		case 0:
		case 1:
			lull_rcu_sync_enter(&rs);
			in++;
			break;
		case 2:
		case 3:
			if (in) {
				lull_rcu_sync_exit(&rs);
				in--;
			}
			break;
		default:
			pause_writers();
			assert_int_equal(lull_rcu_sync_is_idle(&rs), in == 0);
			if (!in && dice(&random, 2)) {
				lull_rcu_sync_dtor(&rs);
				memset(&rs, 0x5a, sizeof(rs));
				lull_rcu_sync_init(&rs);
			}
		}
		if (in)
			assert_false(lull_rcu_sync_is_idle(&rs));
	}
	for (; in; in--)
		lull_rcu_sync_exit(&rs);
}

static int read_here, may_read_on; /* read_here is plain but for the wait */

static void *reads_in_section(void *read)
{
	lull_rcu_read_lock();
	assert_true(lull_rcu_sync_is_idle(&rs));
	lull_store_release(&may_read_on, 1);
	await_flag(&may_read_on, 2);
	*(int *)read = 1;
	lull_rcu_read_unlock();
	return NULL;
}

static int entered;

static void *enters(void *read)
{
	lull_rcu_sync_enter(&rs);
	assert_int_equal(*(int *)read, 1);
	lull_add_release(&entered, 1);
	return NULL;
}

/* The first writer waits for readers, and so do those that come meanwhile. Another thread may leave for them. */
TEST(waits)
{
	pthread_t reader, writers[3];

	read_here = may_read_on = entered = 0;
	reader = start_thread(reads_in_section, &read_here);
	await_flag(&may_read_on, 1);
	start_threads(writers, 3, enters, &read_here);
	AWAIT(!lull_rcu_sync_is_idle(&rs));
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&entered), 0);
	lull_store_release(&may_read_on, 2);
	join_thread(reader);
	join_threads(writers, 3);
	assert_int_equal(entered, 3);
	for (int i = 0; i < 3; i++) {
		pause_writers();
		assert_false(lull_rcu_sync_is_idle(&rs));
		lull_rcu_sync_exit(&rs);
	}
}

/* A writer that comes soon after another does not wait: not even for a reader. */
TEST(burst)
{
	pthread_t reader;

	read_here = may_read_on = 0;
	lull_rcu_sync_enter(&rs);
	lull_rcu_read_lock(); /* it stays busy */
	for (int i = 0; i < 1000; i++) {
		lull_rcu_sync_exit(&rs);
		lull_rcu_read_unlock();
		lull_rcu_sync_enter(&rs);
		lull_rcu_read_lock();
	}
	lull_rcu_read_unlock();
	lull_rcu_sync_exit(&rs);
	pause_writers();
	assert_true(lull_rcu_sync_is_idle(&rs));
	reader = start_thread(reads_in_section, &read_here);
	await_flag(&may_read_on, 1);
	lull_store_release(&may_read_on, 2);
	lull_rcu_sync_enter(&rs);
	assert_int_equal(read_here, 1);
	lull_rcu_sync_exit(&rs);
	join_thread(reader);
}

static struct lull_mutex slow_path;
static long one_half, other_half; /* plain: equal outside of a writer's section */
static int over, fast_reads;

static void *reads_either_way(void *unused)
{
	while (!lull_load_relaxed(&over)) {
		lull_rcu_read_lock();
		if (lull_rcu_sync_is_idle(&rs)) {
			assert_int_equal(one_half, other_half);
			lull_add_relaxed(&fast_reads, 1);
			lull_rcu_read_unlock();
			continue;
		}
		lull_rcu_read_unlock();
		lull_mutex_lock(&slow_path);
		assert_int_equal(one_half, other_half);
		lull_mutex_unlock(&slow_path);
	}
	return unused;
}

static void *writes_in_bursts(void *unused)
{
	for (int i = 0; i < 300; i++) {
		lull_rcu_sync_enter(&rs);
		lull_mutex_lock(&slow_path);
		one_half++;
		if (i % 8 == 0)
			sched_yield();
		other_half++;
		lull_mutex_unlock(&slow_path);
		lull_rcu_sync_exit(&rs);
		if (i % 20 == 0)
			lull_rcu_barrier();
	}
	return unused;
}

/* Readers on the fast path never meet a writer, and see all that it has done. */
TEST(storm)
{
	pthread_t readers[2], writers[2];
	long before = one_half;

	over = fast_reads = 0;
	start_threads(readers, 2, reads_either_way, NULL);
	start_threads(writers, 2, writes_in_bursts, NULL);
	join_threads(writers, 2);
	pause_writers();
	AWAIT_SOON(lull_load_relaxed(&fast_reads) > 100);
	lull_store_relaxed(&over, 1);
	join_threads(readers, 2);
	assert_int_equal(one_half, before + 600);
}

TEST(misuse)
{
	EXPECT_ABORT("lull_rcu_sync_exit: nobody has entered 0x")
		lull_rcu_sync_exit(&rs);
	EXPECT_ABORT("lull_rcu_sync_enter in a read section would wait for itself for ever") {
		lull_rcu_read_lock();
		lull_rcu_sync_enter(&rs);
	}
	EXPECT_ABORT("lull_rcu_sync_dtor: somebody has entered 0x") {
		lull_rcu_sync_enter(&rs);
		lull_rcu_sync_dtor(&rs);
	}
	if (THREADS_IN_CHILD)
		EXPECT_ABORT("lull_rcu_sync_dtor in a read section") {
			lull_rcu_sync_enter(&rs);
			lull_rcu_read_lock();
			lull_rcu_sync_exit(&rs);
			lull_rcu_sync_dtor(&rs);
		}
}

/* The child leaves what its thread had entered, and goes on. */
TEST(fork)
{
	NEEDS_THREADS_IN_CHILD();
	lull_rcu_sync_enter(&rs);
	for (int left = 0; left < 2; left++) {
		EXPECT_FINE {
			must(left || !lull_rcu_sync_is_idle(&rs));
			if (!left)
				lull_rcu_sync_exit(&rs);
			lull_rcu_sync_enter(&rs);
			lull_rcu_sync_exit(&rs);
			pause_writers();
			must(lull_rcu_sync_is_idle(&rs));
		}
		if (!left)
			lull_rcu_sync_exit(&rs);
	}
}
