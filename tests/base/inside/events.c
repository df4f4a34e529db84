/* SPDX-License-Identifier: MIT */
/*
 * events.c - what each event changes on the page of stats.h, from the inside: with times, and in an order of threads,
 * that no run has for sure. All else on the page stays.
 */
#include "library.h"

#include "../src/base/events.c"

static struct lull_stats_page page, expected;

SETUP
{
	memset(&page, 0, sizeof(page));
	memset(&expected, 0, sizeof(expected));
	lull__page_now = &page;
}

TEARDOWN
{
	lull__page_forget();
}

static void check_page(void)
{
	assert_memory_equal(&page, &expected, sizeof(page));
}

#define LAST (LULL_STATS_BUCKETS - 1)

/* Bucket n is for [2^n, 2^(n+1)) ns, and the last one for all that is longer. */
TEST(times)
{
	static const struct {
		uint64_t ns;
		uint32_t weight;
		unsigned bucket;
	} cases[] = {
		{ 0, 1, 0 },	 { 1, 1, 0 },	  { 2, 1, 1 },		     { 3, 8, 1 },
		{ 4, 1, 2 },	 { 1023, 8, 9 },  { 1024, 8, 10 },	     { 5000000000, 1, 32 },
		{ 1025, 1, 10 }, { 900, 0, LAST }, { UINT64_C(1) << 63, 0, 0 }, { (UINT64_C(1) << LAST) - 1, 1, LAST - 1 },
		{ UINT64_C(1) << LAST, 1, LAST }, { UINT64_C(2) << LAST, 1, LAST }, { UINT64_C(1) << 60, 1, LAST },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t ns = cases[i].ns;

		lull__event_gp_end(1000000 + i, ns, cases[i].weight);
		expected.gp_ended++;
		if (cases[i].weight) {
			expected.gp_ns_sum += ns * cases[i].weight;
			expected.gp_ns_max = ns > expected.gp_ns_max ? ns : expected.gp_ns_max;
			expected.gp_ns[cases[i].bucket] += cases[i].weight;
		}
		check_page();
	}
}

TEST(counted)
{
	for (uint64_t n = 1; n <= 3; n++) {
		lull__event_heavy_fence();
		lull__event_gp_start(70 + n);
		lull__event_mutex_sleep();
		lull__event_count(&lull__page()->passes, n);
		expected.heavy_fences = expected.gp_started = expected.mutex_sleeps = n;
		expected.passes += n;
		check_page();
	}
}

TEST(stored)
{
	lull__event_peak(30, 4000);
	expected.peak_items = 30;
	expected.peak_bytes = 4000;
	check_page();
	lull__event_peak(2, 100); /* after a reset */
	expected.peak_items = 2;
	expected.peak_bytes = 100;
	lull__event_kept(6);
	expected.kept = 6;
	lull__event_scan_end(11);
	lull__event_scan_end(9);
	expected.scans = 2;
	expected.slots_in_use = 9;
	lull__event_threads(5);
	expected.threads = 5;
	check_page();
}

/* Threads publish what they knew a moment ago, in any order: what has been counted once is not taken back. */
TEST(backlog)
{
	static const struct {
		uint64_t queued, waiting, all_queued, done;
	} cases[] = {
		{ 10, 4, 10, 6 }, { 8, 5, 10, 6 },   { 12, 12, 12, 6 }, { 12, 0, 12, 12 },
		{ 11, 1, 12, 12 }, { 5, 7, 12, 12 }, { 13, 13, 13, 12 }, { 13, 0, 13, 13 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		lull__event_backlog(&page.queued_items, &page.waiting_items, &page.done_items, cases[i].queued,
				    cases[i].waiting);
		expected.queued_items = cases[i].all_queued;
		expected.waiting_items = cases[i].waiting;
		expected.done_items = cases[i].done;
		check_page();
	}
}

/* A thread that comes is no event: readers register, and have no page. An event makes the page, and that stays. */
TEST(made)
{
	struct lull_stats_page *made;

	lull__page_now = NULL;
	lull__event_threads(3);
	assert_null(lull__page_now);
	lull__event_heavy_fence();
	made = lull__page_now;
	assert_non_null(made);
	assert_int_equal(made->heavy_fences, 1);
	lull__event_heavy_fence();
	assert_ptr_equal(lull__page_now, made);
	assert_int_equal(made->heavy_fences, 2);
	assert_ptr_equal(lull__page_make(), made);
}

/* A child whose parent was just making one. */
TEST(made_in_child)
{
	lull__lock(&making);
	private_page.stalls = 7;
	lull__page_forget();
	assert_null(lull__page_now);
	assert_int_equal(making.word, 0);
	assert_non_null(lull__page_make());
	assert_int_equal(lull__page()->stalls, 0);
}
