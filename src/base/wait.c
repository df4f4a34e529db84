/* SPDX-License-Identifier: MIT */
/*
 * wait.c - begin, sleep, end: see wait.h.
 */
#include "wait.h"

static uint32_t stall_ms = 1000;

void lull_debug_set_stall_ms(uint32_t ms)
{
	lull_store_relaxed(&stall_ms, ms);
}

uint32_t lull__stall_ms(void)
{
	return lull_load_relaxed(&stall_ms);
}

void lull__wait_begin(struct lull__wait *wait, enum lull_wait_kind kind, uint64_t quiet_ns)
{
	wait->kind = kind;
	wait->place = -1;
	wait->since_ns = lull__now_ns();
	wait->quiet_until_ns = wait->since_ns + quiet_ns;
	wait->report_ms = 0;
	if (lull__watch)
		lull__watch->wait_begin(wait);
}

void lull__wait_end(struct lull__wait *wait)
{
	if (lull__watch)
		lull__watch->wait_end(wait);
	wait->kind = LULL_WAIT_NONE;
}

/*
 * Blame the threads that hold @wait up, and return when to do that again; 0: it is to be reported, and @report
 * says what.
 */
static uint64_t blame_now(struct lull__wait *wait, lull__blame blame, void *arg, struct lull__report *report)
{
	unsigned holders = 0;
	uint64_t next_ns;

	report->named = 0;
	if (!lull__watch)
		return LULL__NEVER;
	if (lull__now_ns() < wait->quiet_until_ns)
		return wait->quiet_until_ns;
	report->named = blame(arg, report->first, &holders);
	next_ns = lull__watch->wait_blame(wait, report->first, report->named, holders);
	if (next_ns)
		report->named = 0;
	report->wait = *wait;
	return next_ns;
}

void lull__wait_report(struct lull__report *report)
{
	if (!report->named)
		return;
	LULL__CHECK_WAITS(LULL__NEVER, .kind = LULL__AWAITS_LATER);
	lull__watch->wait_report(&report->wait, report->first, report->named);
}

static bool give_up_wait(const struct lull__wait *wait)
{
	if (lull__watch)
		lull__watch->wait_left(wait);
	return false;
}

bool lull__wait_sleep(struct lull__wait *wait, uint32_t *word, uint32_t value, uint64_t deadline_ns,
		      uint64_t again_ns, lull__blame blame, void *arg, struct lull__report *report)
{
	struct lull__report own;
	uint64_t report_ns;

	if (lull__is_past(deadline_ns))
		return give_up_wait(wait);
	report_ns = blame_now(wait, blame, arg, report ? report : &own);
	if (report_ns) {
		lull__futex_wait(word, value, lull__earlier(report_ns, lull__earlier(again_ns, deadline_ns)));
		return true;
	}
	if (report)
		return give_up_wait(wait);
	lull__wait_report(&own);
	return true; /* the hook may have changed what is waited for */
}
