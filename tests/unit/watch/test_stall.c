/* SPDX-License-Identifier: MIT */
/*
 * test_stall.c - when a wait that lasts is reported, from the inside: this program calls the watch as base/wait.c does.
 */
#include "support.h"

#include <lull/debug.h>

#include "../../../src/watch/stall.h"

static unsigned reports;

static void count_report(const struct lull_stall *stall, void *arg)
{
	(void)arg;
	assert_in_range(stall->tid, 7, 8);
	reports++;
}

/* Blame @named threads for @wait once. */
static uint64_t look_at(struct lull__wait *wait, unsigned named)
{
	struct lull_stall first[2] = { { .tid = 7 }, { .tid = 8 } };

	uint64_t next_ns = lull__stall_blame(wait, first, named, named);

	if (!next_ns)
		lull__stall_report(wait, first, named);
	return next_ns;
}

/*
 * A report is due after stall_ms and after 2, 4, ... times that. After one the caller is to look again at once: the
 * hook is the program's, and may have changed what is waited for without anybody being woken.
 */
static void test_when_reported(void **state)
{
	struct lull__wait wait = { .kind = LULL_WAIT_GP, .place = -1, .since_ns = 1 };
	uint64_t now = lull__now_ns();

	(void)state;
	lull_debug_set_stall_hook(count_report, NULL);
	lull_debug_set_stall_ms(1000000);
	wait.since_ns = now;
	lull__stall_begin(&wait);
	assert_int_equal(look_at(&wait, 1), now + 1000000u * UINT64_C(1000000));
	assert_int_equal(reports, 0);
	wait.since_ns = now - 1000000u * UINT64_C(1000000);
	assert_int_equal(look_at(&wait, 2), 0);
	assert_int_equal(reports, 2); /* each that is named */
	assert_int_equal(look_at(&wait, 2), wait.since_ns + 2000000u * UINT64_C(1000000));
	assert_int_equal(reports, 2);
	lull__stall_end(&wait);
	assert_int_equal(wait.kind, LULL_WAIT_NONE);

	/* Never, when stall_ms is 0. */
	lull_debug_set_stall_ms(0);
	wait.kind = LULL_WAIT_GP;
	lull__stall_begin(&wait);
	assert_int_equal(look_at(&wait, 1), LULL__NEVER);
	assert_int_equal(reports, 2);
	lull__stall_end(&wait);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_when_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
