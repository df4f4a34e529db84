/* SPDX-License-Identifier: MIT */
/*
 * stall.c - when a wait that lasts is reported, from the inside: this program calls the watch as base/wait.c does.
 */
#include "threads.h"

#include <lull/debug.h>
#include <lull/rcu.h>
#include <lull/stats.h>
#include <lull/thread.h>

#include "../src/base/events.h"
#include "../src/watch/stall.h"

static unsigned reports;

static void count_report(const struct lull_stall *stall, void *arg)
{
	(void)arg;
	assert_in_range(stall->tid, 7, 8);
	reports++;
}

TEST(at_start)
{
	assert_int_equal(lull__stall_ms(), 1000);
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
 * hook is the program's, and may have changed what is waited for without a wake-up.
 */
TEST(when_reported)
{
	struct lull__wait wait = { .kind = LULL_WAIT_GP, .place = -1, .since_ns = 1 };
	uint64_t now = lull__now_ns();

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

static unsigned blame_one(void *arg, struct lull_stall *first, unsigned *holders)
{
	*first = (struct lull_stall){ .tid = 7 };
	*holders = 1;
	(void)arg;
	return 1;
}

static uint32_t shown_waiter(const struct lull__wait *wait)
{
	return lull__page()->waits[wait->place].waiter_tid;
}

/* A grace period's wait goes on when the thread gives up that leads it, and perhaps in another: the page shows that. */
TEST(whose)
{
	struct lull__wait wait = { .place = -1 };
	struct lull__report report;
	uint32_t word = 0;

	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	lull__wait_begin(&wait, LULL_WAIT_GP, 0);
	assert_int_equal(shown_waiter(&wait), (uint32_t)gettid());
	assert_false(lull__wait_sleep(&wait, &word, 0, 1, LULL__NEVER, blame_one, NULL, NULL));
	assert_int_equal(shown_waiter(&wait), 0);
	assert_true(lull__wait_sleep(&wait, &word, 1, LULL__NEVER, LULL__NEVER, blame_one, NULL, NULL));
	assert_int_equal(shown_waiter(&wait), (uint32_t)gettid());
	lull_debug_set_stall_ms(1);
	wait.since_ns = 1;
	wait.report_ms = 1;
	assert_false(lull__wait_sleep(&wait, &word, 1, LULL__NEVER, LULL__NEVER, blame_one, NULL, &report));
	assert_int_equal(shown_waiter(&wait), 0);
	lull__wait_end(&wait);
	lull_debug_set_stall_ms(0);
}

static uint32_t last_tid;

static void note_tid(const struct lull_stall *stall, void *arg)
{
	(void)arg;
	last_tid = stall->tid;
	reports++;
}

/* Does a wait of @kind, which began at @since_ns, report @tid? */
static bool is_reported(enum lull_wait_kind kind, uint64_t since_ns, uint32_t tid)
{
	struct lull__wait wait = { .kind = kind, .place = -1, .since_ns = since_ns };
	struct lull_stall stall = { .tid = tid };
	unsigned before = reports;

	lull__stall_report(&wait, &stall, 1);
	if (reports != before)
		assert_true(reports == before + 1 && last_tid == tid);
	return reports != before;
}

#define REMEMBERED 64
#define FIRST	   1000
#define LAST	   1099

/*
 * A report of one holder speaks for the other waits of its kind that were going on then, until it has lasted half as long
 * again. It says nothing of other holders, however many there are, of other kinds, and of waits that began later.
 */
TEST(one_report_per_holder)
{
	uint64_t long_ago_ns = 1, now;

	lull_debug_set_stall_hook(note_tid, NULL);
	for (uint32_t tid = FIRST; tid <= LAST; tid++)
		assert_true(is_reported(LULL_WAIT_GP, long_ago_ns, tid));
	/* The latest are remembered. */
	for (uint32_t tid = LAST - REMEMBERED + 1; tid <= LAST; tid++)
		assert_false(is_reported(LULL_WAIT_GP, long_ago_ns + 1, tid));
	assert_true(is_reported(LULL_WAIT_HAZPTR, long_ago_ns, LAST));
	assert_false(is_reported(LULL_WAIT_HAZPTR, long_ago_ns, LAST));
	assert_false(is_reported(LULL_WAIT_GP, long_ago_ns, LAST));
	now = lull__now_ns();
	assert_true(is_reported(LULL_WAIT_GP, now, LAST));

	/* A stall of some milliseconds is reported again after half that time. */
	nap_ms(4);
	assert_true(is_reported(LULL_WAIT_SHAZPTR, now, 7));
	AWAIT(is_reported(LULL_WAIT_SHAZPTR, now, 7));
	lull_debug_set_stall_hook(NULL, NULL);
}

/* Each wait has a place of its own on the page, as long as there are some; and gives it back. */
TEST(places)
{
	struct lull__wait wait[LULL_STATS_WAITS + 1];
	const struct lull_stats_page *page = lull_stats_page();
	uint32_t taken = 0;

	for (unsigned i = 0; i < LULL_STATS_WAITS; i++) {
		wait[i] = (struct lull__wait){ .kind = LULL_WAIT_GP, .place = -1, .since_ns = 1000 + i };
		lull__stall_begin(&wait[i]);
		assert_in_range(wait[i].place, 0, LULL_STATS_WAITS - 1);
		assert_false(taken >> wait[i].place & 1);
		taken |= 1u << wait[i].place;
	}
	for (unsigned i = 0; i < LULL_STATS_WAITS; i++)
		assert_int_equal(page->waits[wait[i].place].since_ns, 1000 + i);
	wait[LULL_STATS_WAITS] = (struct lull__wait){ .kind = LULL_WAIT_HAZPTR, .place = -1, .since_ns = 5 };
	lull__stall_begin(&wait[LULL_STATS_WAITS]);
	assert_int_equal(wait[LULL_STATS_WAITS].place, -1);
	lull__stall_end(&wait[LULL_STATS_WAITS]);
	for (unsigned i = 0; i < LULL_STATS_WAITS; i += 5) {
		int place = wait[i].place;

		lull__stall_end(&wait[i]);
		assert_int_equal(wait[i].place, -1);
		assert_int_equal(page->waits[place].kind, LULL_WAIT_NONE);
		wait[i] = (struct lull__wait){ .kind = LULL_WAIT_SHAZPTR, .place = -1, .since_ns = 5 };
		lull__stall_begin(&wait[i]);
		assert_int_equal(wait[i].place, place);
		assert_int_equal(page->waits[place].kind, LULL_WAIT_SHAZPTR);
	}
	for (unsigned i = 0; i < LULL_STATS_WAITS; i++)
		lull__stall_end(&wait[i]);
	for (unsigned i = 0; i < LULL_STATS_WAITS; i++)
		assert_int_equal(page->waits[i].kind, LULL_WAIT_NONE);
}

static size_t last_items, last_bytes;

static void note_limit(const struct lull_stall *stall, void *arg)
{
	(void)arg;
	assert_int_equal(stall->what, LULL_WAIT_LIMIT);
	assert_string_equal(stall->kind, "hard limit");
	assert_int_equal(stall->tid, gettid());
	last_items = stall->waiting_items;
	last_bytes = stall->waiting_bytes;
}

/* Memory over the limit is told, though by now there is less: here, nothing. */
TEST(limit)
{
	lull_thread_register();
	lull_debug_set_stall_hook(note_limit, NULL);
	lull__stall_over_limit(1234, 56789);
	lull_debug_set_stall_hook(NULL, NULL);
	assert_int_equal(last_items, 1234);
	assert_int_equal(last_bytes, 56789);
}
