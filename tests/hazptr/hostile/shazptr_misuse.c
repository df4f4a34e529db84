/* SPDX-License-Identifier: MIT */
/*
 * shazptr_misuse.c - shazptr.h: stalls that are reported, and the tunable.
 */
#include "hazptr/shazptr.h"
#include "seccomp.h"

#include <lull/stats.h>

/* ---- stalls ---------------------------------------------------------------------------------- */

#ifndef LULL_TEST_CORE

static int stalls;
static struct lull_stall last_stall;

static void note_stall(const struct lull_stall *stall, void *arg)
{
	(void)arg;
	last_stall = *stall;
	lull_add_release(&stalls, 1);
}

BOTH_WAYS(stall)
{
	struct holder holder;
	struct actor waiter;

	stalls = 0;
	lull_debug_set_stall_hook(note_stall, NULL);
	lull_debug_set_stall_ms(10);
	hold(&holder, NESTED, &name_a);
	start_waiting(&waiter, &name_a);
	AWAIT(lull_load_acquire(&stalls) >= 2);
	assert_true(is_waiting(&waiter));
	let_go(&holder);
	end_waiting(&waiter);
	finish(&holder);
	lull_debug_set_stall_ms(0);
	lull_debug_set_stall_hook(NULL, NULL);
	assert_string_equal(last_stall.kind, "shazptr synchronize");
	assert_int_equal(last_stall.depth, 2);
	assert_true(last_stall.tid != 0);
	assert_true(last_stall.age_ms >= 20);
}

enum { MANY = 20, NAMED = 4 };
static struct holder many[MANY];
static struct lull_stall named[NAMED];
static int reports;

static void note_named(const struct lull_stall *stall, void *arg)
{
	int nth = lull_load_relaxed(&reports);

	(void)arg;
	if (nth < NAMED)
		named[nth] = *stall;
	lull_store_release(&reports, nth + 1);
}

/* Returns the number of the holder that @stall names. */
static int holder_of(const struct lull_stall *stall)
{
	for (int i = 0; i < MANY; i++)
		if (many[i].tid == stall->tid)
			return i;
	fail_msg("tid %u holds nobody up", stall->tid);
	return 0;
}

/* How many hold the one wait up, as the page of counts has it. */
static uint32_t holders_shown(void)
{
	const struct lull_stats_wait *waits = lull_stats_page()->waits;

	for (unsigned i = 0; i < LULL_STATS_WAITS; i++)
		if (lull_load_relaxed(&waits[i].kind) == LULL_WAIT_SHAZPTR)
			return lull_load_relaxed(&waits[i].holders);
	return 0;
}

/* When many readers hold a wait up, four are named, each once, with its own depth; and how many there are. */
BOTH_WAYS(stall_of_many)
{
	struct holder other;
	struct actor waiter;
	bool is_named[MANY] = { false };

	reports = 0;
	lull_debug_set_stall_hook(note_named, NULL);
	lull_debug_set_stall_ms(10);
	hold(&other, ONCE, &name_b);
	for (int i = 0; i < MANY; i++)
		hold(&many[i], i % 2 ? NESTED : ONCE, &name_a);
	start_waiting(&waiter, &name_a);
	AWAIT(lull_load_acquire(&reports) >= NAMED);
	assert_int_equal(holders_shown(), MANY);
	for (int i = 0; i < MANY; i++)
		let_go(&many[i]);
	end_waiting(&waiter);
	lull_debug_set_stall_ms(0);
	lull_debug_set_stall_hook(NULL, NULL);
	for (int i = 0; i < MANY; i++)
		finish(&many[i]);
	finish(&other);
	for (int i = 0; i < NAMED; i++) {
		int nth = holder_of(&named[i]);

		assert_false(is_named[nth]);
		is_named[nth] = true;
		assert_int_equal(named[i].what, LULL_WAIT_SHAZPTR);
		assert_int_equal(named[i].depth, nth % 2 + 1);
		assert_int_equal(named[i].slots, MANY);
	}
}
#endif

/* ---- the tunable, and no system calls -------------------------------------------------------- */

/* Before anything else, as the program begins. */
FIRST_TEST(at_start)
{
	assert_false(lull_shazptr_skip_self_scan());
	assert_int_equal(lull_shazptr_scan_count(), 0);
	lull_shazptr_synchronize(&name_a);
	assert_int_equal(lull_shazptr_scan_count(), 0);
}

static void *synchronizes(void *unused)
{
	assert_true(lull_shazptr_skip_self_scan());
	lull_shazptr_synchronize(&name_a);
	return unused;
}

static int tuned;
static bool handler_sees;

static void tuning_handler(int unused)
{
	(void)unused;
	lull_shazptr_set_skip_self_scan(true);
	handler_sees = lull_shazptr_skip_self_scan() && lull_shazptr_scan_count() > 0;
	lull_store_release(&tuned, 1);
}

/* The tunable of all threads, and in any context. */
TEST_WITH(tunable_of_all, self_scan, NULL)
{
	struct sigaction action;
	uint64_t scans;

	memset(&action, 0, sizeof(action));
	action.sa_handler = tuning_handler;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	lull_shazptr_set_skip_self_scan(false);
	lull_rcu_read_lock();
	interrupt_until(pthread_self(), SIGUSR1, &tuned, 1);
	lull_rcu_read_unlock();
	assert_true(handler_sees);
	for (int i = 0; i < 3; i++) {
		scans = lull_shazptr_scan_count();
		join_thread(start_thread(synchronizes, NULL));
		assert_true(lull_shazptr_scan_count() > scans);
	}
}

TEST_WITH(no_system_calls, self_scan, NULL)
{
	if (SANITIZED || !THREADS_IN_CHILD || under_valgrind()) /* they ask the kernel for themselves */
		SKIP(OWN_MEMORY);
	/* No thread sleeps for the slot, so none is woken. */
	EXPECT_FINE {
		lull_thread_register();
		lull_shazptr_clear(lull_shazptr_acquire(&name_a));
		forbid_all();
		for (int i = 0; i < 1000; i++) {
			struct lull_shazptr_guard outer = lull_shazptr_acquire(&name_a);
			struct lull_shazptr_guard inner = lull_shazptr_acquire(&name_b);

			lull_shazptr_clear(outer);
			lull_shazptr_clear(inner);
			lull_shazptr_clear(lull_shazptr_acquire_wildcard());
		}
	}
}

TEST_WITH(tunable, self_scan, NULL)
{
	uint64_t scans = lull_shazptr_scan_count();

	lull_shazptr_set_skip_self_scan(false);
	assert_false(lull_shazptr_skip_self_scan());
	for (int i = 0; i < 10; i++)
		lull_shazptr_synchronize(&name_a);
	assert_int_equal(lull_shazptr_scan_count(), scans);
	lull_shazptr_set_skip_self_scan(true);
	assert_true(lull_shazptr_skip_self_scan());
	for (int i = 0; i < 10; i++)
		lull_shazptr_synchronize(&name_a);
	assert_true(lull_shazptr_scan_count() >= scans + 10);
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
