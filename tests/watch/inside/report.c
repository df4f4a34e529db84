/* SPDX-License-Identifier: MIT */
/*
 * report.c - src/watch/report.c from the inside: the words for each kind of stall, which hook gets it, and a child's
 * copy.
 */
#include "child.h"
#include "threads.h"

#include "../src/watch/report.c"

/* ---- in words ----------------------------------------------------------------------------------- */

static const struct {
	struct lull_stall stall;
	const char *line;
} cases[] = {
	{ { .what = LULL_WAIT_GP, .kind = "rcu grace period", .tid = 7, .thread_name = "sam", .state = LULL_THREAD_RUNS,
	    .where = "", .depth = 2, .age_ms = 1234, .site_name = "", .waiting_items = 5, .waiting_bytes = 66 },
	  "rcu grace period has waited 1234 ms for thread \"sam\" (tid 7), in a read section (depth 2); it runs; 5 objects "
	  "(66 bytes) wait behind it" },
	{ { .what = LULL_WAIT_GP, .kind = "rcu grace period", .tid = 7, .thread_name = "sam", .state = LULL_THREAD_SLEEPS,
	    .where = "in read at f+0x1", .depth = 1, .age_ms = 1, .site = cases, .site_name = "g+0x2" },
	  "rcu grace period has waited 1 ms for thread \"sam\" (tid 7), in a read section (depth 1) entered at g+0x2; it sleeps "
	  "in read at f+0x1; 0 objects (0 bytes) wait behind it" },
	{ { .what = LULL_WAIT_GP, .kind = "rcu grace period", .tid = 7, .thread_name = "sam", .state = LULL_THREAD_SLEEPS,
	    .where = "", .site_name = "" },
	  "rcu grace period has waited 0 ms for thread \"sam\" (tid 7), online without a quiescent state, and asleep; it sleeps; "
	  "0 objects (0 bytes) wait behind it" },
	{ { .what = LULL_WAIT_GP, .kind = "rcu grace period", .tid = 7, .thread_name = "sam", .state = LULL_THREAD_STOPPED,
	    .where = "", .site_name = "" },
	  "rcu grace period has waited 0 ms for thread \"sam\" (tid 7), online without a quiescent state; it is stopped; 0 objects "
	  "(0 bytes) wait behind it" },
	{ { .what = LULL_WAIT_HAZPTR, .kind = "hazptr synchronize", .tid = 8, .thread_name = "kim", .state = LULL_THREAD_GONE,
	    .where = "in read", .slots = 1, .age_ms = 20, .site_name = "" },
	  "hazptr synchronize has waited 20 ms for thread \"kim\" (tid 8), which protects it (1 slot in all); it has exited, so this "
	  "wait will never end; 0 objects (0 bytes) wait behind it" },
	{ { .what = LULL_WAIT_SHAZPTR, .kind = "shazptr synchronize", .tid = 8, .thread_name = "kim",
	    .state = LULL_THREAD_UNKNOWN, .where = "", .slots = 3, .depth = 1, .age_ms = 20, .site_name = "" },
	  "shazptr synchronize has waited 20 ms for thread \"kim\" (tid 8), which protects it (3 slots in all); 0 objects (0 bytes) "
	  "wait behind it" },
	{ { .what = LULL_WAIT_HAZPTR, .kind = "hazptr synchronize", .thread_name = "?", .where = "", .slots = 1,
	    .age_ms = 9, .site_name = "", .waiting_items = 2, .waiting_bytes = 3 },
	  "hazptr synchronize has waited 9 ms for 1 slot that no thread owns; 2 objects (3 bytes) wait behind it" },
	{ { .what = LULL_WAIT_HAZPTR_BARRIER, .kind = "hazptr barrier", .thread_name = "?", .where = "", .slots = 2,
	    .age_ms = 9, .site_name = "", .waiting_items = 2, .waiting_bytes = 3 },
	  "hazptr barrier has waited 9 ms for 2 slots that no thread owns; 2 objects (3 bytes) wait behind it" },
	{ { .what = LULL_WAIT_CALLBACK, .kind = "callback", .tid = 9, .thread_name = "lull-reclaim", .state = LULL_THREAD_RUNS,
	    .where = "", .age_ms = 77, .site = cases, .site_name = "f+0x0", .waiting_items = 3, .waiting_bytes = 40 },
	  "callback f+0x0 has not returned for 77 ms on thread \"lull-reclaim\" (tid 9); it runs; 3 objects (40 bytes) wait behind "
	  "it" },
	{ { .what = LULL_WAIT_LIMIT, .kind = "hard limit", .tid = 9, .thread_name = "sam", .state = LULL_THREAD_RUNS,
	    .where = "", .site_name = "", .waiting_items = 1001, .waiting_bytes = 16016 },
	  "1001 deferred objects (16016 bytes) wait, more than the hard limit; thread \"sam\" (tid 9) defers more" },
};

TEST(words)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		start_hearing();
		lull__report_stall(&cases[i].stall);
		assert_string_equal(heard, cases[i].line);
		assert_int_equal(heard_lines, 1);
	}
	stop_hearing();
}

/* ---- the hook ------------------------------------------------------------------------------------ */

static int one, calls;

static void hook_one(const struct lull_stall *stall, void *arg)
{
	assert_ptr_equal(stall, &cases[0].stall);
	assert_ptr_equal(arg, &one);
	lull_add_release(&calls, 1);
}

static void *reports(void *unused)
{
	lull__report_stall(&cases[0].stall);
	return unused;
}

/* While a hook and its argument are being set, no thread takes one without the other. */
TEST(hook_and_argument)
{
	pthread_t reporter;

	calls = 0;
	lull__lock(&hook_lock);
	stall_hook = hook_one;
	reporter = start_thread(reports, NULL);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&calls), 0);
	stall_arg = &one;
	lull__unlock(&hook_lock);
	join_thread(reporter);
	assert_int_equal(calls, 1);
	assert_int_equal(hook_lock.word, 0);
	lull_debug_set_stall_hook(NULL, NULL);
}

TEST(child_has_it)
{
	lull_debug_set_stall_hook(hook_one, &one);
	EXPECT_FINE {
		calls = 0;
		lull__report_stall(&cases[0].stall);
		must(calls == 1);
	}
	lull_debug_set_stall_hook(NULL, NULL);
}
