/* SPDX-License-Identifier: MIT */
/*
 * backlog.c - the counts of backlog.h.
 */
#include <limits.h>

#include "../base/deadline.h"
#include "../base/events.h"
#include "../base/fault.h"
#include "../hazptr/slots.h"
#include "backlog.h"
#include "overflow.h"

#define RETIRED_MOST 4096u /* objects retired by all threads, or twice the slots: then all queues are scanned */

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

void lull__backlog_raise_peak(size_t items, size_t bytes)
{
	raise_peak(&lull__reclaimer.peak_items, items);
	raise_peak(&lull__reclaimer.peak_bytes, bytes);
}

/* Sums over all queues. */
struct sums {
	uint64_t items, bytes;		   /* waiting */
	uint64_t total_items, total_bytes; /* deferred */
};

static uint64_t items_before, bytes_before; /* reclaimed before this process was forked */
static struct lull__lock publish_lock; /* held to publish: the last to do so knows the most */

/* Sum up without a lock, for signal handlers too. The totals leave out what is folded. */
static struct sums sum_up(void)
{
	struct sums all = { 0, 0, 0, 0 };
	struct lull__listing *at;
	struct lull__queue *q;
	uint64_t process;

	process = lull__walk_enter();
	lull__for_each_queue(at, q) {
		uint64_t done = lull_load_relaxed(&q->done);
		uint64_t done_bytes = lull_load_relaxed(&q->done_bytes);
		uint64_t put = lull_load_relaxed(&q->put);
		uint64_t put_bytes = lull_load_relaxed(&q->put_bytes);

		all.items += put > done ? put - done : 0;
		all.bytes += put_bytes > done_bytes ? put_bytes - done_bytes : 0;
		all.total_items += put - lull_load_relaxed(&q->folded);
		all.total_bytes += put_bytes - lull_load_relaxed(&q->folded_bytes);
	}
	lull__walk_leave(process);
	all.items += lull__overflow_waiting();
	all.total_items += lull__overflow_put() - items_before;
	all.total_bytes -= bytes_before;
	return all;
}

static struct sums sum_up_all(void)
{
	struct sums all;

	lull__lock(&lull__reclaimer.sweep_lock); /* no queue goes in the middle */
	all = sum_up();
	all.total_items += lull__reclaimer.folded_items;
	all.total_bytes += lull__reclaimer.folded_bytes;
	lull__unlock(&lull__reclaimer.sweep_lock);
	return all;
}

static void publish(const struct sums *all)
{
	struct lull_stats_page *page = lull__page();

	lull__event_backlog(&page->queued_items, &page->waiting_items, &page->done_items, all->total_items, all->items);
	lull__event_backlog(&page->queued_bytes, &page->waiting_bytes, &page->done_bytes, all->total_bytes, all->bytes);
	lull__event_peak(lull_load_relaxed(&lull__reclaimer.peak_items), lull_load_relaxed(&lull__reclaimer.peak_bytes));
}

void lull__backlog_add(struct lull__queue *q)
{
	size_t items = (size_t)(q->put - q->in_backlog), bytes = (size_t)(q->put_bytes - q->in_backlog_bytes);
	struct sums about = { .total_items = q->put - q->in_stats, .total_bytes = q->put_bytes - q->in_stats_bytes };

	if (lull_unlikely(lull_load_relaxed(&q->lent)))
		lull__queue_take_back(q);
	about.total_items += lull_add_relaxed(&lull__reclaimer.noted_items, about.total_items);
	about.total_bytes += lull_add_relaxed(&lull__reclaimer.noted_bytes, about.total_bytes);
	q->in_stats = q->put;
	q->in_stats_bytes = q->put_bytes;
	lull_store_relaxed(&q->in_backlog, q->put);
	lull_store_relaxed(&q->in_backlog_bytes, q->put_bytes);
	if (q->kind == LULL__HAZPTR_FREES)
		lull_add_relaxed(&lull__reclaimer.retired, items);
	items += lull_add_relaxed(&lull__reclaimer.items, items);
	bytes += lull_add_relaxed(&lull__reclaimer.bytes, bytes);
	lull__backlog_raise_peak(items, bytes);
	about.items = over(items, 0) ? items : 0;
	about.bytes = over(bytes, 0) ? bytes : 0;
	publish(&about);
}

void lull__leave_bag(void)
{
	struct lull__bag *bag = lull__self.bag;

	if (!bag)
		return;
	for (int kind = 0; kind < LULL__KINDS; kind++)
		lull__backlog_add(&bag->queue[kind]);
	lull__self.bag = NULL;
	lull__bag_leave(bag);
}

void lull__backlog_sub(struct lull__queue *q, size_t items, size_t bytes)
{
	if (q->kind == LULL__HAZPTR_FREES)
		lull_sub_relaxed(&lull__reclaimer.retired, items);
	lull_sub_relaxed(&lull__reclaimer.items, items);
	lull_sub_relaxed(&lull__reclaimer.bytes, bytes);
	if (lull_unlikely(lull_load_relaxed(&lull__reclaimer.held_back)) && !lull__over_soft(false)) {
		lull_add_relaxed(&lull__reclaimer.relief, 1u);
		lull__futex_wake(&lull__reclaimer.relief, INT_MAX);
	}
}

/* Nothing is ordered here: a thread that misses the wake-up waits until @deadline_ns, which is near. */
void lull__backlog_await_relief(uint64_t deadline_ns)
{
	lull_add_relaxed(&lull__reclaimer.held_back, 1u);
	while (!lull__is_past(deadline_ns)) {
		uint32_t event = lull_load_relaxed(&lull__reclaimer.relief);

		if (!lull__over_soft(false))
			break;
		lull__futex_wait(&lull__reclaimer.relief, event, deadline_ns);
	}
	lull_sub_relaxed(&lull__reclaimer.held_back, 1u);
}

/* Is one of the two over its limit? 0 is no limit. */
static bool is_past(size_t items, size_t bytes, size_t most, size_t most_bytes)
{
	return (most && over(items, most)) || (most_bytes && over(bytes, most_bytes));
}

/* What slots name is not counted: no wait makes it less. */
bool lull__over_soft(bool twice)
{
	size_t soft = lull_load_relaxed(&lull__reclaimer.config.soft_items);
	size_t most = !twice ? soft : soft > SIZE_MAX / 2 ? SIZE_MAX : 2 * soft;
	size_t most_bytes = lull_load_relaxed(&lull__reclaimer.config.soft_bytes);
	size_t items = lull_load_relaxed(&lull__reclaimer.items), bytes = lull_load_relaxed(&lull__reclaimer.bytes);

	return lull_unlikely(is_past(items, bytes, most, most_bytes)) &&
	       is_past(items - lull_load_relaxed(&lull__reclaimer.kept_items),
		       bytes - lull_load_relaxed(&lull__reclaimer.kept_bytes), most, most_bytes);
}

/*
 * Slots name no more objects than there are slots. So when twice as many wait, a scan of all slots frees at least half
 * of them, and costs little for each.
 */
bool lull__over_retired(void)
{
	size_t slots = lull__hazptr_slots();

	return over(lull_load_relaxed(&lull__reclaimer.retired), slots > RETIRED_MOST / 2 ? 2 * slots : RETIRED_MOST);
}

/*
 * Return how many new entries of one queue share a scan of all slots: enough to pay for the scan. How many
 * wait in the whole process is bounded by lull__free_retired().
 */
uint64_t lull__scan_threshold(void)
{
	uint64_t half = lull__hazptr_slots() / 2;
	uint64_t few = 500 - LULL__CHECK_EVERY > half ? 500 - LULL__CHECK_EVERY - half : 0;

	return few > half ? few : half > LULL__CHECK_EVERY ? half - LULL__CHECK_EVERY : LULL__CHECK_EVERY;
}

/*
 * Is the backlog over its hard limit? Up to LULL__CHECK_EVERY - 1 entries of each queue in the list, and look_bytes, are
 * not in the backlog yet, or no longer, for as long as the queue's owner does not defer. So near the limit all entries are
 * counted: then a flood of deferrals exceeds the limit by no more than the entries that the deferring threads have
 * not added yet; and by those that come between two counts, about one for each queue in the list.
 */
bool lull__over_hard(size_t *items, size_t *bytes)
{
	size_t most = lull_load_relaxed(&lull__reclaimer.config.hard_items);
	size_t most_bytes = lull_load_relaxed(&lull__reclaimer.config.hard_bytes);
	size_t listed = lull_load_relaxed(&lull__reclaimer.listed);
	size_t about = lull_load_relaxed(&lull__reclaimer.items), about_bytes = lull_load_relaxed(&lull__reclaimer.bytes);
	static size_t skips; /* so many looks go by before all is counted again */
	size_t left;

	if (LULL__BUSTED(HARD_IGNORED))
		return false;
	if (lull_likely(!is_past(about + LULL__CHECK_EVERY * listed,
				 about_bytes + lull_load_relaxed(&lull__reclaimer.look_bytes) * listed, most, most_bytes)))
		return false;
	left = lull_load_relaxed(&skips);
	if (left && !is_past(about, about_bytes, most, most_bytes)) {
		lull_store_relaxed(&skips, left - 1);
		return false;
	}
	lull__backlog(items, bytes);
	if (is_past(*items, *bytes, most, most_bytes))
		return true;
	lull_store_relaxed(&skips, listed / LULL__CHECK_EVERY);
	return false;
}

/*
 * Publish exact counts. They include entries that are not in the backlog yet, so they differ from those that
 * lull__backlog_add() publishes, by 64 entries per queue at most.
 */
void lull__backlog_publish(void)
{
	struct sums all;

	lull__lock(&publish_lock);
	all = sum_up_all();
	lull__backlog_raise_peak((size_t)all.items, (size_t)all.bytes);
	publish(&all);
	lull__unlock(&publish_lock);
	lull__event_kept(lull_load_relaxed(&lull__reclaimer.kept_items));
}

void lull__backlog(size_t *items, size_t *bytes)
{
	struct sums all = sum_up();

	*items = (size_t)all.items;
	*bytes = (size_t)all.bytes;
}

uint64_t lull__backlog_total(void)
{
	return sum_up_all().total_items;
}

/*
 * Run after the queues have been repaired. The child's page begins with zeros; in it what waits counts as deferred by
 * the child.
 */
void lull__backlog_fork_child(void)
{
	struct lull__bag *bag;
	struct sums all;

	publish_lock.word = 0;
	lull__for_each_bag(bag) {
		for (int kind = 0; kind < LULL__KINDS; kind++) {
			struct lull__queue *q = &bag->queue[kind];

			q->in_backlog = q->in_stats = q->put;
			q->in_backlog_bytes = q->in_stats_bytes = q->put_bytes;
		}
	}
	all = sum_up_all();
	items_before += all.total_items - all.items;
	bytes_before += all.total_bytes - all.bytes;
	lull__reclaimer.noted_items = all.items;
	lull__reclaimer.noted_bytes = all.bytes;
	lull__reclaimer.peak_items = (size_t)all.items;
	lull__reclaimer.peak_bytes = (size_t)all.bytes;
}
