/* SPDX-License-Identifier: MIT */
/*
 * stall.c - show waits on the page of stats.h, and report long ones.
 *
 * A wait is reported when it has lasted for stall_ms, and for twice, four, eight ... times that, unless a report of
 * another wait for the same thread has just been made.
 */
#include <stdio.h>
#include <string.h>

#include "../base/events.h"
#include "../base/lock.h"
#include "../base/wait.h"
#include "../reclaim/backlog.h"
#include "report.h"
#include "stall.h"
#include "symbol.h"
#include "task.h"

_Static_assert(LULL_STATS_WAITS <= 32, "one bit each");

static struct lull__lock places_lock;
static uint32_t places; /* which places of the page are taken; not on the page, which is not trusted */

/* Take a free place, with the lock held. Returns -1 if there is none. */
static int take_place(void)
{
	for (unsigned i = 0; i < LULL_STATS_WAITS; i++)
		if (!(places >> i & 1)) {
			places |= 1u << i;
			return (int)i;
		}
	return -1;
}

static uint32_t waiter_of(const struct lull__wait *wait)
{
	return wait->kind == LULL_WAIT_CALLBACK ? 0 : lull__self.tid;
}

void lull__stall_begin(struct lull__wait *wait)
{
	struct lull_stats_wait *shown;

	wait->report_ms = lull__stall_ms();
	LULL__PROBE2(wait_start, wait->kind, wait);
	lull__lock(&places_lock);
	wait->place = take_place();
	if (wait->place >= 0) {
		shown = &lull__page()->waits[wait->place];
		lull_store_relaxed(&shown->waiter_tid, waiter_of(wait));
		lull_store_relaxed(&shown->tid, 0u);
		lull_store_relaxed(&shown->holders, 0u);
		lull_store_relaxed(&shown->depth, 0u);
		lull_store_relaxed(&shown->since_ns, wait->since_ns);
		lull_store_relaxed(&shown->site, (uint64_t)0);
		lull_store_relaxed(&shown->kind, (uint32_t)wait->kind);
	}
	lull__unlock(&places_lock);
}

void lull__stall_left(const struct lull__wait *wait)
{
	if (wait->place >= 0)
		lull_store_relaxed(&lull__page()->waits[wait->place].waiter_tid, 0u);
}

void lull__stall_end(struct lull__wait *wait)
{
	LULL__PROBE2(wait_end, wait->kind, wait);
	wait->kind = LULL_WAIT_NONE;
	if (wait->place < 0)
		return;
	lull__lock(&places_lock);
	lull_store_relaxed(&lull__page()->waits[wait->place].kind, (uint32_t)LULL_WAIT_NONE);
	places &= ~(1u << wait->place);
	lull__unlock(&places_lock);
	wait->place = -1;
}

/* ---- one report for each holder, however many wait for it ---------------------------------------- */

#define HOLDERS	   64
#define SILENCE_NS UINT64_C(60000000000) /* between two reports of one holder, at most */

/*
 * The holders that the latest reports named. One report covers all waits of its kind that were going on then: they
 * do not report the same holder again before the stall has lasted half as long again.
 */
static struct holder {
	enum lull_wait_kind kind;
	uint32_t tid;
	const void *domain; /* its name; NULL: of another kind */
	uint64_t since_ns; /* of the oldest wait that it holds up */
	uint64_t reported_ns, next_ns;
} holders_named[HOLDERS];

/* Return the place of the holder @tid of a wait of @kind, or else the one that was used longest ago. */
static struct holder *place_of(enum lull_wait_kind kind, uint32_t tid, const void *domain)
{
	struct holder *h = &holders_named[0];

	for (unsigned i = 0; i < HOLDERS; i++) {
		if (holders_named[i].kind == kind && holders_named[i].tid == tid && holders_named[i].domain == domain)
			return &holders_named[i];
		if (holders_named[i].reported_ns < h->reported_ns)
			h = &holders_named[i];
	}
	return h;
}

/* Has a report spoken for @wait, which @tid holds up? If not, the caller makes one. */
static bool is_reported(const struct lull__wait *wait, const struct lull_stall *stall)
{
	const void *domain = wait->kind == LULL_WAIT_DOMAIN ? stall->site : NULL;
	uint32_t tid = stall->tid;
	uint64_t now_ns = lull__now_ns(), since_ns = wait->since_ns, next_ns;
	struct holder *h;
	bool spoken_for;

	lull__lock(&places_lock);
	h = place_of(wait->kind, tid, domain);
	spoken_for = h->kind == wait->kind && h->tid == tid && h->domain == domain && since_ns <= h->reported_ns;
	if (spoken_for)
		since_ns = lull__earlier(since_ns, h->since_ns);
	spoken_for = spoken_for && now_ns < h->next_ns;
	if (!spoken_for) {
		next_ns = now_ns + lull__earlier((now_ns - since_ns) / 2, SILENCE_NS);
		*h = (struct holder){ wait->kind, tid, domain, since_ns, now_ns, next_ns };
	}
	lull__unlock(&places_lock);
	return spoken_for;
}

/* Publish which thread is waited for (one of @holders). */
static void show_holder(const struct lull__wait *wait, const struct lull_stall *stall, unsigned holders)
{
	struct lull_stats_wait *shown;

	if (wait->place < 0)
		return;
	shown = &lull__page()->waits[wait->place];
	lull_store_relaxed(&shown->waiter_tid, waiter_of(wait));
	lull_store_relaxed(&shown->tid, stall->tid);
	lull_store_relaxed(&shown->depth, stall->depth);
	lull_store_relaxed(&shown->site, wait->kind == LULL_WAIT_DOMAIN ? 0 : (uint64_t)(uintptr_t)stall->site);
	lull_store_relaxed(&shown->holders, holders);
}

/* Put into @buf where the thread of @task is, and what of lull's it waits for itself. */
static void where_words(uint32_t tid, const struct lull__task *task, char *buf, size_t size)
{
	char awaits[160] = "";

	if (task->state != LULL_THREAD_RUNS && task->state != LULL_THREAD_GONE)
		lull__task_awaits(tid, awaits, sizeof(awaits));
	snprintf(buf, size, "%s%s%s", task->where, task->where[0] && awaits[0] ? ", " : "", awaits);
}

/* Report @stall, in which tid, depth, slots and site are set, as a stall of @wait. Fills in the rest. */
static void report(const struct lull__wait *wait, struct lull_stall *stall)
{
	uint64_t now_ns = lull__now_ns();
	size_t items, bytes;
	struct lull__task task;
	char site[128], where[sizeof(task.where) + 162];
	int cancel;

	lull__no_cancel(&cancel);
	lull__task_read(stall->tid, &task);
	if (wait->kind == LULL_WAIT_DOMAIN) /* its name, and no address */
		snprintf(site, sizeof(site), "%s", (const char *)stall->site);
	else
		lull__symbol(stall->site, site, sizeof(site));
	stall->what = wait->kind;
	stall->kind = lull_wait_kind_name(wait->kind);
	stall->thread_name = task.name;
	stall->state = task.state;
	where_words(stall->tid, &task, where, sizeof(where));
	stall->where = where;
	stall->site_name = site;
	stall->since_ns = wait->since_ns;
	stall->age_ms = now_ns > wait->since_ns ? (now_ns - wait->since_ns) / 1000000u : 0;
	if (wait->kind != LULL_WAIT_LIMIT) { /* or there may be less by now than was over the limit */
		lull__backlog(&items, &bytes);
		stall->waiting_items += items; /* to what waits elsewhere: urcu/binary/domain.c */
		stall->waiting_bytes += bytes;
	}
	lull__event_count(&lull__page()->stalls, 1);
	LULL__PROBE5(stall, wait->kind, stall->tid, stall->age_ms, stall->waiting_items, stall->thread_name);
	lull__report_stall(stall);
	lull__may_cancel(cancel);
}

/* Return when the next report of @wait is due. */
static uint64_t due_ns(const struct lull__wait *wait)
{
	return wait->report_ms ? wait->since_ns + wait->report_ms * 1000000u : LULL__NEVER;
}

uint64_t lull__stall_blame(struct lull__wait *wait, const struct lull_stall *first, unsigned named, unsigned holders)
{
	if (named)
		show_holder(wait, &first[0], holders);
	if (!lull__is_past(due_ns(wait)))
		return due_ns(wait);
	wait->report_ms *= 2;
	return 0;
}

void lull__stall_report(const struct lull__wait *wait, struct lull_stall *first, unsigned named)
{
	for (unsigned i = 0; i < named; i++)
		if (!is_reported(wait, &first[i]))
			report(wait, &first[i]);
}

void lull__stall_over_limit(size_t items, size_t bytes)
{
	struct lull__wait wait = { .kind = LULL_WAIT_LIMIT, .place = -1, .since_ns = lull__now_ns() };
	struct lull_stall stall = { .tid = lull__self.tid, .waiting_items = items, .waiting_bytes = bytes };

	report(&wait, &stall);
}

/* Free all places in the child: the threads that waited are in the parent. */
void lull__stall_fork_child(uint32_t old_tid)
{
	(void)old_tid;
	places_lock.word = 0;
	places = 0;
	memset(holders_named, 0, sizeof(holders_named));
	lull__report_fork_child();
}
