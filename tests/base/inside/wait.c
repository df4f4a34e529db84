/* SPDX-License-Identifier: MIT */
/*
 * wait.c - the step that all waits for readers are made of, from the inside: base/wait.c sleeps until the first of its
 * reasons to wake.
 */
#include "library.h"

#include <unistd.h>

#include <lull/debug.h>

#include "../src/base/wait.h"

static unsigned blames;

static unsigned blame_nobody(void *arg, struct lull_stall *first, unsigned *holders)
{
	(void)arg;
	*first = (struct lull_stall){ .tid = 0 };
	*holders = 1;
	blames++;
	return 1;
}

/* A sleep that does not end ends the test. */
SETUP
{
	blames = 0;
	lull_debug_set_stall_ms(0);
	alarm(60);
}

TEST(deadline)
{
	struct lull__wait wait;
	uint32_t word = 1;
	uint64_t deadline_ns;
	int tries = 0;

	lull__wait_begin(&wait, LULL_WAIT_HAZPTR, 0);
	do { /* a machine that stops this thread for so long lets it ask no thread */
		deadline_ns = lull__now_ns() + 20000000u;
		while (lull__wait_sleep(&wait, &word, 1, deadline_ns, LULL__NEVER, blame_nobody, NULL, NULL))
			;
		assert_true(lull__now_ns() >= deadline_ns);
	} while (!blames && ++tries < 100);
	assert_true(blames > 0);
	/* Once it is past no thread is asked, and none sleeps. */
	blames = 0;
	assert_false(lull__wait_sleep(&wait, &word, 1, deadline_ns, LULL__NEVER, blame_nobody, NULL, NULL));
	assert_int_equal(blames, 0);
	lull__wait_end(&wait);
	assert_int_equal(wait.kind, LULL_WAIT_NONE);
}

/* The caller's own time to look again, where a reader may not wake it. */
TEST(again)
{
	struct lull__wait wait;
	uint32_t word = 1;
	uint64_t again_ns = lull__now_ns() + 10000000u;

	lull__wait_begin(&wait, LULL_WAIT_HAZPTR, 0);
	do
		assert_true(lull__wait_sleep(&wait, &word, 1, LULL__NEVER, again_ns, blame_nobody, NULL, NULL));
	while (lull__now_ns() < again_ns);
	/* The word is another one: it does not sleep. */
	assert_true(lull__wait_sleep(&wait, &word, 2, LULL__NEVER, LULL__NEVER, blame_nobody, NULL, NULL));
	lull__wait_end(&wait);
}

/* In the quiet time no thread is asked who holds the wait up; it wakes when that is over. */
TEST(quiet)
{
	struct lull__wait wait;
	uint32_t word = 1;

	lull__wait_begin(&wait, LULL_WAIT_SHAZPTR, 20000000u);
	do
		assert_true(lull__wait_sleep(&wait, &word, 1, LULL__NEVER, LULL__NEVER, blame_nobody, NULL, NULL));
	while (!blames && lull__now_ns() < wait.quiet_until_ns);
	assert_true(lull__now_ns() >= wait.quiet_until_ns);
	assert_true(lull__wait_sleep(&wait, &word, 1, LULL__NEVER, lull__now_ns(), blame_nobody, NULL, NULL));
	assert_true(blames > 0);
	lull__wait_end(&wait);
}

/* Milliseconds, from now on; what no clock will reach is never. */
TEST(timeouts)
{
	static const uint64_t none[] = { UINT64_MAX, UINT64_MAX - 1, UINT64_MAX / 1000000u };

	for (uint64_t ms = 0; ms < 1000000; ms = 3 * ms + 1) {
		uint64_t before_ns = lull__now_ns(), deadline_ns = lull__deadline_in_ms(ms), after_ns = lull__now_ns();
		bool past = after_ns >= deadline_ns, is_past = lull__is_past(deadline_ns);

		assert_in_range(deadline_ns, before_ns + ms * 1000000u, after_ns + ms * 1000000u);
		assert_true(is_past ? lull__now_ns() >= deadline_ns : !past);
		assert_true(is_past || ms > 0);
	}
	for (int i = 0; i < 3; i++)
		assert_true(lull__deadline_in_ms(none[i]) == LULL__NEVER);
	assert_true(lull__deadline_in_ms(UINT64_MAX / 2000000u) < LULL__NEVER);
	assert_false(lull__is_past(LULL__NEVER));
	assert_true(lull__is_past(0));
	assert_true(lull__earlier(1, LULL__NEVER) == 1 && lull__earlier(3, 2) == 2);
}
