/* SPDX-License-Identifier: MIT */
/*
 * test_shazptr_misuse.c - shazptr.h: stalls that are reported, misuse that aborts, the tunable.
 */
#include "hazptr/shazptr_fixture.h"

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
	while (lull_load_acquire(&stalls) < 2)
		nap_ms(1);
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
	expect_abort(clears_twice, "lull_shazptr_clear: cleared already");
	if (THREADS_IN_CHILD)
		expect_abort(clears_elsewhere, "lull_shazptr_clear: acquired by another thread");
}
#endif

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
#ifndef LULL_TEST_CORE
		BOTH_WAYS(test_stall),
#endif
		BOTH_WAYS(test_misuse),
#ifdef LULL_DEBUG
		cmocka_unit_test_setup(test_debug_checks, self_scan),
#endif
		cmocka_unit_test_setup(test_tunable, self_scan),
	};

	set_stall_ms(0); /* a slow machine is not worth a line */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
