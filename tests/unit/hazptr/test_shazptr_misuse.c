/* SPDX-License-Identifier: MIT */
/*
 * test_shazptr_misuse.c - shazptr.h: stalls that are reported, misuse that aborts, the tunable.
 */
#include "hazptr/shazptr_fixture.h"
#include "seccomp_support.h"

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

static void test_stall(void **state)
{
	struct holder holder;
	struct waiter waiter;

	(void)state;
	stalls = 0;
	lull_debug_set_stall_hook(note_stall, NULL);
	lull_debug_set_stall_ms(10);
	hold(&holder, NESTED, &name_a);
	waiter_start(&waiter, &name_a);
	AWAIT(lull_load_acquire(&stalls) >= 2);
	assert_int_equal(lull_load_acquire(&waiter.done), 0);
	release_waiter(&holder);
	join_thread(waiter.thread);
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

/* Of many readers that hold a wait up four are named, each once, with its own depth; and how many there are. */
static void test_stall_of_many(void **state)
{
	struct holder other;
	struct waiter waiter;
	bool is_named[MANY] = { false };

	(void)state;
	reports = 0;
	lull_debug_set_stall_hook(note_named, NULL);
	lull_debug_set_stall_ms(10);
	hold(&other, ONCE, &name_b);
	for (int i = 0; i < MANY; i++)
		hold(&many[i], i % 2 ? NESTED : ONCE, &name_a);
	waiter_start(&waiter, &name_a);
	AWAIT(lull_load_acquire(&reports) >= NAMED);
	assert_int_equal(holders_shown(), MANY);
	for (int i = 0; i < MANY; i++)
		release_waiter(&many[i]);
	join_thread(waiter.thread);
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

/* ---- misuse ---------------------------------------------------------------------------------- */

static void waits_for_itself(void)
{
	lull_shazptr_acquire(&name_a);
	lull_shazptr_synchronize(&name_a);
}

static void waits_for_its_wildcard(void)
{
	lull_shazptr_acquire_wildcard();
	lull_shazptr_synchronize(&name_a);
}

static void waits_nested(void)
{
	struct lull_shazptr_guard guard;

	lull_shazptr_acquire(&name_a);
	guard = lull_shazptr_acquire(&name_b);
	lull_shazptr_clear(guard);
	lull_shazptr_synchronize_timeout(&name_c, 1);
}

static void unregisters_while_holding(void)
{
	lull_shazptr_acquire(&name_a);
	lull_thread_unregister();
}

static void test_misuse(void **state)
{
	(void)state;
	expect_abort(waits_for_itself, "lull_shazptr_synchronize of ");
	expect_abort(waits_for_itself, "would wait for itself for ever");
	expect_abort(waits_for_its_wildcard, "would wait for itself for ever");
	expect_abort(waits_nested, "lull_shazptr_synchronize_timeout of ");
	expect_abort(unregisters_while_holding, "lull_thread_unregister while the thread's simple hazard pointer");
}

#ifdef LULL_DEBUG
static void acquires_null(void)
{
	lull_shazptr_acquire(NULL);
}

static void acquires_no_address(void)
{
	lull_shazptr_acquire((void *)~(uintptr_t)1);
}

static void acquires_highest_address(void)
{
	lull_shazptr_acquire((void *)~(uintptr_t)0);
}

static void clears_twice(void)
{
	struct lull_shazptr_guard guard = lull_shazptr_acquire(&name_a);

	lull_shazptr_clear(guard);
	lull_shazptr_clear(guard);
}

static struct lull_shazptr_guard kept;

static void *clears_kept(void *unused)
{
	(void)unused;
	lull_shazptr_clear(kept);
	return NULL;
}

static void clears_elsewhere(void)
{
	kept = lull_shazptr_acquire(&name_a);
	join_thread(start_thread(clears_kept, NULL));
}

static void test_debug_checks(void **state)
{
	(void)state;
	expect_abort(acquires_null, "lull_shazptr_acquire: not an address");
	expect_abort(acquires_no_address, "lull_shazptr_acquire: not an address");
	expect_abort(acquires_highest_address, "lull_shazptr_acquire: not an address");
	expect_abort(clears_twice, "lull_shazptr_clear: cleared already");
	if (THREADS_IN_CHILD)
		expect_abort(clears_elsewhere, "lull_shazptr_clear: acquired by another thread");
}
#endif

/* Before anything else, as the program begins. */
static void test_at_start(void **state)
{
	(void)state;
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

/* Of all threads, and in any context. */
static void test_tunable_of_all(void **state)
{
	struct sigaction action;
	uint64_t scans;

	(void)state;
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

/* Nobody sleeps for the slot, so nobody is woken. */
static void only_reads(void)
{
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

static void test_no_system_calls(void **state)
{
	(void)state;
	if (SANITIZED || !THREADS_IN_CHILD || under_valgrind()) /* they ask the kernel for themselves */
		SKIP(OWN_MEMORY);
	expect_fine(only_reads);
}

static void test_tunable(void **state)
{
	uint64_t scans = lull_shazptr_scan_count();

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_start),
#ifndef LULL_TEST_CORE
		BOTH_WAYS(test_stall),
		BOTH_WAYS(test_stall_of_many),
#endif
		BOTH_WAYS(test_misuse),
#ifdef LULL_DEBUG
		cmocka_unit_test_setup(test_debug_checks, self_scan),
#endif
		cmocka_unit_test_setup(test_no_system_calls, self_scan),
		cmocka_unit_test_setup(test_tunable, self_scan),
		cmocka_unit_test_setup(test_tunable_of_all, self_scan),
	};

	set_stall_ms(0); /* a slow machine is not worth a line */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
