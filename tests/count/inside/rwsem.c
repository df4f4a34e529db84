/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * rwsem.c - rcu_sync and percpu_rwsem from the inside, in steps: this program contains their sources, and whatever
 * waits, sleeps, or is put off there lets a test do meanwhile what another thread would.
 */
#include "count/support.h"

#include <lull/percpu_rwsem.h>

#include "../src/base/hooks.h"
#include "../src/base/rseq_use.h"
#include "../src/count/percpu_cells.h"
#include "../src/os/os.h"

static int waited, sleeps, queued; /* for readers; by futex; callbacks that are to come */
static struct lull_head *queued_head;
static lull_rcu_func queued_func;
static void (*meanwhile)(void); /* called once, in the place of another thread */
static bool no_memory;

static void do_meanwhile(void)
{
	void (*what)(void) = meanwhile;

	meanwhile = NULL;
	if (what)
		what();
}

static void wait_here(void)
{
	waited++;
	do_meanwhile();
}

static void put_off(struct lull_head *head, lull_rcu_func func)
{
	assert_int_equal(queued++, 0);
	queued_head = head;
	queued_func = func;
}

static void run_put_off(void)
{
	assert_int_equal(queued--, 1);
	queued_func(queued_head);
}

static void run_all_put_off(void)
{
	if (queued)
		run_put_off();
}

static void sleep_here(uint32_t *word, uint32_t value)
{
	assert_int_equal(lull_load_relaxed(word), value);
	assert_non_null(meanwhile); /* else it sleeps for ever */
	sleeps++;
	do_meanwhile();
}

static int forgotten; /* heads that debug builds have noted as queued */

static void forget(const struct lull_head *head)
{
	assert_non_null(head);
	forgotten++;
}

static bool may_alloc(struct lull__percpu *cell)
{
	return !no_memory && lull__percpu_alloc(cell);
}

#define lull__rseq_barrier()			wait_here()
#define lull_rcu_synchronize()			wait_here()
#define lull_rcu_call(head, func)		put_off(head, func)
#define lull_rcu_barrier()			run_all_put_off()
#define lull__futex_wait(word, value, until_ns) sleep_here(word, value)
#define lull__percpu_alloc(cell)		may_alloc(cell)
#undef LULL__CHECK
#define LULL__CHECK(hook, what)			CHECK_##hook(what)
#define CHECK_reclaimed(head)			forget(head)
#define CHECK_may_block(call)			((void)0)
#include "../src/count/rcu_sync.c"

#include "../src/count/percpu_rwsem.c"
#undef lull_rcu_call
#undef lull_rcu_barrier

static struct lull_rcu_sync rs;
static struct lull_percpu_rwsem sem;

static void begin(void)
{
	start_hearing();
	lull_debug_set_stall_ms(0);
	waited = sleeps = queued = 0;
	meanwhile = NULL;
	no_memory = false;
	lull_rcu_sync_init(&rs);
	lull_percpu_rwsem_init(&sem);
}

static void end(void)
{
	run_all_put_off();
	lull_percpu_rwsem_destroy(&sem);
	check_silence();
	stop_hearing();
	lull_debug_set_stall_ms(1000);
}

USE_SETUP(begin)
USE_TEARDOWN(end)

/* ---- rcu_sync ---------------------------------------------------------------------------------------- */

static void comes(void)
{
	lull_rcu_sync_enter(&rs);
}

static void goes(void)
{
	lull_rcu_sync_exit(&rs);
}

static void comes_and_goes(void)
{
	comes();
	goes();
}

/* Another writer comes between the callback's look and its store: then the word does not become idle. */
TEST(while_it_closes)
{
	static void (*const others[])(void) = { NULL, comes, comes_and_goes };

	rs.idle = rs.word = 16; /* counters of CPUs */
	for (int i = 0; i < 3; i++) {
		comes_and_goes();
		assert_int_equal(queued, 1);
		waited = 0;
		meanwhile = others[i];
		run_put_off();
		assert_int_equal(waited, 1);
		assert_int_equal(lull_rcu_sync_is_idle(&rs), i == 0);
		if (i == 0) {
			assert_int_equal(queued, 0);
			assert_int_equal(rs.word, 16);
			continue;
		}
		run_put_off();
		if (i == 1) { /* it saw a writer, whose exit queues it again */
			assert_int_equal(waited, 1);
			assert_int_equal(queued, 0);
			goes();
			run_put_off();
		}
		assert_int_equal(waited, 2);
		assert_int_equal(queued, 0);
		assert_int_equal(rs.word, 16);
	}
	rs.idle = rs.word = 0;
}

/* Any number of writers wait for readers once, and put off one callback. */
TEST(burst_pays_once)
{
	for (int i = 0; i < 1000; i++) {
		comes();
		if (i % 3 == 0)
			comes_and_goes();
		goes();
	}
	assert_int_equal(waited, 1);
	run_put_off();
	assert_true(lull_rcu_sync_is_idle(&rs));
	for (int i = 0; i < 100; i++) {
		lull_percpu_rwsem_write_lock(&sem);
		lull_percpu_rwsem_write_unlock(&sem);
		assert_true(lull_percpu_rwsem_write_trylock(&sem));
		lull_percpu_rwsem_write_unlock(&sem);
	}
	assert_int_equal(waited, 2);
	run_put_off();
	assert_true(lull_rcu_sync_is_idle(&sem.sync));
}

static void opens(void)
{
	lull_or_release(&rs.word, SYNC_OPEN);
}

/* A writer that comes while the first one waits sleeps until that has waited. */
TEST(waits_for_first)
{
	rs.word = LULL__RCU_SYNC_BUSY | SYNC_WRITER;
	meanwhile = opens;
	comes();
	assert_int_equal(sleeps, 1);
	assert_int_equal(waited, 0);
	goes();
	goes();
	run_put_off();
	assert_true(lull_rcu_sync_is_idle(&rs));
}

/* The callback that the parent had queued is lost, and the next writer has another one; or it is there, and is run. */
TEST(queued_by_parent)
{
	for (int lost = 0; lost < 2; lost++) {
		comes_and_goes();
		lull__rcu_sync_fork_child(1);
		if (lost)
			queued = 0;
		forgotten = 0;
		waited = 0;
		comes();
		assert_int_equal(waited, !lost); /* it was idle again, or still busy */
		assert_int_equal(forgotten, lost);
		goes();
		run_put_off();
		assert_true(lull_rcu_sync_is_idle(&rs));
	}
	lull_rcu_sync_init(&rs); /* it may have been lost */
	assert_int_equal(forgotten, 2);
	/* One that this process has queued is left alone, and so is an idle word, whatever its bits. */
	comes_and_goes();
	comes();
	assert_int_equal(queued, 1);
	goes();
	run_put_off();
	rs.idle = rs.word = SYNC_QUEUED;
	comes_and_goes();
	run_put_off();
	assert_int_equal(rs.word, SYNC_QUEUED);
	rs.idle = rs.word = 0;
	for (int i = 0; i < 14; i++)
		lull__rcu_sync_fork_child(1);
	assert_int_equal(forks_of_sync, 0);
	lull_rcu_sync_init(&rs);
	assert_int_equal(forgotten, 2);
}

/* ---- percpu_rwsem ------------------------------------------------------------------------------------ */

static void reader_goes(void)
{
	lull__percpu_rwsem_read_unlock_slow(&sem);
}

static void two_readers_go(void)
{
	lull__percpu_rwsem_read_unlock_slow(&sem);
	meanwhile = reader_goes;
}

static void writer_goes(void)
{
	lull_percpu_rwsem_write_unlock(&sem);
}

/* A writer sleeps until the last reader has gone; a reader until the writer has, and then it is in. */
TEST(who_sleeps)
{
	lull_percpu_rwsem_read_lock(&sem);
	lull_percpu_rwsem_read_lock(&sem);
	meanwhile = NULL;
	mark(&sem, "test"); /* first, so that the next call waits for readers only */
	meanwhile = two_readers_go;
	lull_percpu_rwsem_write_lock(&sem);
	lull_rcu_sync_exit(&sem.sync);
	assert_int_equal(sleeps, 2);
	meanwhile = writer_goes;
	lull_percpu_rwsem_read_lock(&sem);
	assert_int_equal(sleeps, 3);
	assert_int_equal(readers_in(sem.state), 1);
	assert_false(lull_percpu_rwsem_write_trylock(&sem));
	lull_percpu_rwsem_read_unlock(&sem);
	assert_int_equal(sem.state & ~(uint64_t)RWSEM_PHASE, 0);
}

static void reader_went_while_marked(void)
{
	lull_percpu_rwsem_read_unlock(&sem); /* in the word: it is less than nobody there */
	assert_int_equal(readers_in(sem.state), -1);
}

/* Readers that came on any CPU, and leave while the writer marks the lock. */
TEST(sum)
{
	struct lull__percpu counters = counters_of(&sem);
	intptr_t *last = (intptr_t *)(void *)((char *)counters.first +
					      (size_t)(lull__percpu_count() - 1) * LULL__PERCPU_STRIDE);

	last[0] += 3;
	last[1] += 1;
	counters.first[1] += 1;
	meanwhile = reader_went_while_marked;
	assert_true(lull_percpu_rwsem_write_trylock(&sem));
	assert_int_equal(lull__percpu_sum(&counters), 0);
	assert_int_equal(last[0], 0);
	lull_percpu_rwsem_write_unlock(&sem);
	run_put_off();
	lull_percpu_rwsem_read_lock(&sem);
	assert_false(lull_percpu_rwsem_write_trylock(&sem));
	lull_percpu_rwsem_read_unlock(&sem);
}

/* Without memory for counters it is a lock all the same. */
TEST(no_memory)
{
	lull_percpu_rwsem_destroy(&sem);
	no_memory = true;
	lull_percpu_rwsem_init(&sem);
	for (int i = 0; i < 3; i++) {
		lull_percpu_rwsem_read_lock(&sem);
		assert_int_equal(readers_in(sem.state), 1);
		assert_false(lull_percpu_rwsem_write_trylock(&sem));
		lull_percpu_rwsem_read_unlock(&sem);
		lull_percpu_rwsem_write_lock(&sem);
		assert_false(lull_percpu_rwsem_read_trylock(&sem));
		lull_percpu_rwsem_write_unlock(&sem);
	}
	assert_int_equal(waited, 0);
	assert_int_equal(queued, 0);
	assert_int_equal(readers_in(sem.state), 0);
}

BEFORE_ALL
{
	alarm(100);
}
