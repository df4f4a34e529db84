/* SPDX-License-Identifier: MIT */
/*
 * backlog.c - the counts of backlog.h.
 */
#include <limits.h>

#include "../base/deadline.h"
#include "../base/events.h"
#include "../base/fault.h"
#include "../base/registry.h"
#include "../hazptr/slots.h"
#include "backlog.h"

#define RETIRED_MOST 2048u /* objects retired by all threads, or twice the slots: then all queues are scanned */

/*
 * Is @now over @limit? A count can be below zero for a moment, if items are reclaimed before they are
 * added.
 */
static bool over(size_t now, size_t limit)
{
	return now <= SIZE_MAX / 2 && now > limit;
}

static void raise_peak(size_t *peak, size_t now)
{
	size_t was = lull_load_relaxed(peak);

	while (over(now, was) && !lull_cas_relaxed(peak, &was, now))
		;
}

static void publish(size_t items, size_t bytes)
{
	lull__event_waiting(items, bytes);
	lull__event_peak(lull_load_relaxed(&lull__reclaimer.peak_items), lull_load_relaxed(&lull__reclaimer.peak_bytes));
}

void lull__backlog_add(struct lull__queue *q)
{
	size_t items = (size_t)(q->put - q->in_backlog), bytes = (size_t)(q->put_bytes - q->in_backlog_bytes);

	lull__event_queued(q->put - q->in_stats, q->put_bytes - q->in_stats_bytes);
	q->in_stats = q->put;
	q->in_stats_bytes = q->put_bytes;
	q->in_backlog = q->put;
	q->in_backlog_bytes = q->put_bytes;
	if (q->kind == LULL__HAZPTR_FREES)
		lull_add_relaxed(&lull__reclaimer.retired, items);
	items += lull_add_relaxed(&lull__reclaimer.items, items);
	bytes += lull_add_relaxed(&lull__reclaimer.bytes, bytes);
	raise_peak(&lull__reclaimer.peak_items, items);
	raise_peak(&lull__reclaimer.peak_bytes, bytes);
	publish(items, bytes);
}

void lull__backlog_raise_peak(size_t items, size_t bytes)
{
	raise_peak(&lull__reclaimer.peak_items, items);
	raise_peak(&lull__reclaimer.peak_bytes, bytes);
}

void lull__backlog_sub(struct lull__queue *q, size_t items, size_t bytes)
{
	if (q->kind == LULL__HAZPTR_FREES)
		lull_sub_relaxed(&lull__reclaimer.retired, items);
	lull_sub_relaxed(&lull__reclaimer.items, items);
	lull_sub_relaxed(&lull__reclaimer.bytes, bytes);
	if (lull_unlikely(lull_load_relaxed(&lull__reclaimer.held_back)) && !lull__over_soft()) {
		lull_add_relaxed(&lull__reclaimer.relief, 1u);
		lull__futex_wake(&lull__reclaimer.relief, INT_MAX);
	}
}

/* Nothing is ordered here: who misses the wake-up waits until @deadline_ns, which is near. */
void lull__backlog_await_relief(uint64_t deadline_ns)
{
	lull_add_relaxed(&lull__reclaimer.held_back, 1u);
	while (!lull__is_past(deadline_ns)) {
		uint32_t event = lull_load_relaxed(&lull__reclaimer.relief);

		if (!lull__over_soft())
			break;
		lull__futex_wait(&lull__reclaimer.relief, event, deadline_ns);
	}
	lull_sub_relaxed(&lull__reclaimer.held_back, 1u);
}

static bool over_limit(const size_t *now, const size_t *limit)
{
	size_t most = lull_load_relaxed(limit);

	return most && over(lull_load_relaxed(now), most);
}

bool lull__over_soft(void)
{
	return over_limit(&lull__reclaimer.items, &lull__reclaimer.config.soft_items) ||
	       over_limit(&lull__reclaimer.bytes, &lull__reclaimer.config.soft_bytes);
}

/*
 * The slots may name as many as there are; so at least half of these are freed when all slots are scanned, and
 * a scan costs each of them little.
 */
bool lull__over_retired(void)
{
	size_t slots = lull__hazptr_slots();

	return over(lull_load_relaxed(&lull__reclaimer.retired), slots > RETIRED_MOST / 2 ? 2 * slots : RETIRED_MOST);
}

/*
 * Is the backlog over its hard limit? Up to LULL__CHECK_EVERY - 1 entries of each queue are not in the
 * backlog yet, for as long as the queue's owner does not defer. So near the limit all entries are counted:
 * then a flood of deferrals exceeds the limit by no more than the entries that the deferring threads have
 * not added yet. (There is no such bound for bytes.)
 */
bool lull__over_hard(void)
{
	size_t most = lull_load_relaxed(&lull__reclaimer.config.hard_items), items, bytes;
	size_t slack = (size_t)LULL__CHECK_EVERY * LULL__KINDS * lull_load_relaxed(&lull__registry_count);

	if (LULL__BUSTED(HARD_IGNORED))
		return false;
	if (over_limit(&lull__reclaimer.bytes, &lull__reclaimer.config.hard_bytes))
		return true;
	if (!most || !over(lull_load_relaxed(&lull__reclaimer.items) + slack, most))
		return false;
	lull__backlog(&items, &bytes);
	return items > most;
}

/*
 * Publish exact counts. They include entries that are not in the backlog yet, so they differ from those that
 * lull__backlog_add() publishes, by 64 entries per queue at most.
 */
void lull__backlog_publish(void)
{
	size_t items, bytes;
	struct lull__bag *bag;
	uint64_t named = 0;

	lull__backlog(&items, &bytes);
	publish(items, bytes);
	lull__bags_enter();
	lull__for_each_bag(bag)
		for (int kind = LULL__HAZPTR_FREES; kind < LULL__KINDS; kind++)
			named += lull_load_relaxed(&bag->queue[kind].named);
	lull__bags_leave();
	lull__event_kept(named);
}

void lull__backlog(size_t *items, size_t *bytes)
{
	struct lull__bag *bag;

	*items = *bytes = 0;
	lull__bags_enter();
	lull__for_each_bag(bag) {
		for (int kind = 0; kind < LULL__KINDS; kind++) {
			struct lull__queue *q = &bag->queue[kind];
			uint64_t done = lull_load_relaxed(&q->done);
			uint64_t done_bytes = lull_load_relaxed(&q->done_bytes);
			uint64_t put = lull_load_relaxed(&q->put);
			uint64_t put_bytes = lull_load_relaxed(&q->put_bytes);

			*items += put > done ? (size_t)(put - done) : 0;
			*bytes += put_bytes > done_bytes ? (size_t)(put_bytes - done_bytes) : 0;
		}
	}
	lull__bags_leave();
}
