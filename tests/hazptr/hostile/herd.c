/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * herd.c - many threads wait for objects of one reader: each is woken for its own, and the reader is
 * reported, not the waiters.
 */
#include "hazptr/support.h"

#include <lull/stats.h>

#define HERD_MOST 512
#define HERD (SANITIZED || under_valgrind() ? 64 : HERD_MOST)

static int object[HERD_MOST];
static int started, done, held, stall_lines;
static int let_go; /* so many objects the reader no longer protects */
static bool one_for_all;

static void *protector_run(void *unused)
{
	static struct lull_hazptr_context context[HERD_MOST / LULL_HAZPTR_SLOTS];
	struct lull_hazptr *slot[HERD_MOST];
	int *place;

	for (int i = 0; i < HERD; i++) {
		struct lull_hazptr_context *ctx = &context[i / LULL_HAZPTR_SLOTS];

		if (i % LULL_HAZPTR_SLOTS == 0)
			lull_hazptr_context_init(ctx);
		slot[i] = lull_hazptr_alloc(ctx);
		place = &object[i];
		lull_hazptr_protect_ptr(slot[i], place);
	}
	lull_store_release(&held, 1);
	for (int i = 0; i < HERD; i++) {
		AWAIT(lull_load_acquire(&let_go) > i);
		lull_hazptr_clear(slot[i]);
	}
	for (int i = HERD - 1; i >= 0; i--)
		lull_hazptr_free(&context[i / LULL_HAZPTR_SLOTS], slot[i]);
	for (int i = 0; i < HERD; i += LULL_HAZPTR_SLOTS)
		lull_hazptr_context_cleanup(&context[i / LULL_HAZPTR_SLOTS]);
	return unused;
}

static void *herd_run(void *arg)
{
	lull_add_release(&started, 1);
	if (one_for_all)
		lull_hazptr_synchronize_range(object, sizeof(object));
	else
		lull_hazptr_synchronize(arg);
	lull_add_release(&done, 1);
	return NULL;
}

static uint64_t heavy_fences(void)
{
	return lull_load_relaxed(&lull_stats_page()->heavy_fences);
}

static pthread_t reader, waiter[HERD_MOST];

static void herd_start(bool range)
{
	started = done = held = let_go = stall_lines = 0;
	one_for_all = range;
	reader = start_thread(protector_run, NULL);
	await_count(&held, 1);
	for (int i = 0; i < HERD; i++)
		waiter[i] = start_thread(herd_run, &object[i]);
	await_count(&started, HERD);
	nap_ms(300); /* most of them sleep by now */
}

static void herd_join(void)
{
	for (int i = 0; i < HERD; i++)
		join_thread(waiter[i]);
	join_thread(reader);
}

/* The reader clears them one by one, and each time one thread goes on: the total cost grows as the herd does. */
TEST(each_for_its_own)
{
	uint64_t fences;

	lull_debug_set_stall_ms(0);
	herd_start(false);
	fences = heavy_fences();
	for (int i = 0; i < HERD; i++) {
		lull_store_release(&let_go, i + 1);
		AWAIT(lull_load_acquire(&done) > i);
	}
	fences = heavy_fences() - fences;
	herd_join();
	if (fences > 6u * (unsigned)HERD)
		print_error("%llu heavy fences\n", (unsigned long long)fences);
	assert_true(fences <= 6u * (unsigned)HERD);
}

/* A wait for a range goes on from slot to slot. */
TEST(all_for_all)
{
	lull_debug_set_stall_ms(0);
	herd_start(true);
	for (int i = 0; i < HERD; i++) {
		assert_int_equal(lull_load_acquire(&done), 0);
		lull_store_release(&let_go, i + 1);
		if (i % 64 == 0)
			nap_ms(1);
	}
	await_count(&done, HERD);
	herd_join();
}

#ifndef LULL_TEST_CORE
static void count_line(const struct lull_stall *stall, void *arg)
{
	(void)stall;
	(void)arg;
	lull_add_relaxed(&stall_lines, 1);
}

/* Print as many lines as if one thread waited, and a few more. */
TEST(one_line_per_holder)
{
	int lines;

	lull_debug_set_stall_hook(count_line, NULL);
	lull_debug_set_stall_ms(500);
	herd_start(false);
	while (!lull_load_relaxed(&stall_lines))
		nap_ms(10);
	nap_ms(1000);
	lines = lull_load_relaxed(&stall_lines);
	lull_store_release(&let_go, HERD);
	herd_join();
	lull_debug_set_stall_hook(NULL, NULL);
	lull_debug_set_stall_ms(1000);
	if (lines > HERD / 4)
		print_error("%d lines\n", lines);
	assert_in_range(lines, 1, HERD / 4);
}
#endif

BEFORE_ALL
{
	alarm(110);
}
