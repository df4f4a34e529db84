/* SPDX-License-Identifier: MIT */
/*
 * events.h - each event in one call, for the page of counts (stats.h) and for the probes (probe.h).
 *
 * All accesses are relaxed: the numbers are for people, and no code decides by them. Read sides report no
 * events.
 */
#ifndef LULL_EVENTS_H
#define LULL_EVENTS_H

#include <lull/atomic.h>
#include <lull/stats.h>

#include "probe.h"

/*
 * NULL before the first event: a process that only loads the library, or only reads, has no page. Then private
 * memory, unless the watch has made a page that other processes can read.
 */
extern struct lull_stats_page *lull__page_now;

struct lull_stats_page *lull__page_make(void); /* returns it, and makes it first if there is none */
void lull__page_forget(void);		       /* in a forked child: there is none */

static inline struct lull_stats_page *lull__page(void)
{
	/*
	 * ORDER PAGE-1: the page's place before its contents; pairs with PAGE-1 in lull__page_make(); without
	 * it a count is overwritten by the zeros and sums that the page begins with; model/base/page.litmus
	 */
	struct lull_stats_page *page = lull_load_acquire(&lull__page_now);

	return lull_likely(page != NULL) ? page : lull__page_make();
}

static inline void lull__event_count(uint64_t *what, uint64_t n)
{
	lull_add_relaxed(what, n);
}

static inline void lull__event_threads(uint32_t count)
{
	struct lull_stats_page *page = lull_load_acquire(&lull__page_now); /* no event: readers come here; PAGE-1 */

	if (page)
		lull_store_relaxed(&page->threads, count);
}

/* Count a heavy fence. Only the leader of heavy fences calls this. */
static inline void lull__event_heavy_fence(void)
{
	struct lull_stats_page *page = lull__page();

	lull_store_relaxed(&page->heavy_fences, page->heavy_fences + 1);
}

/* ---- grace periods: the leader ----------------------------------------------------------------- */

static inline void lull__event_gp_start(uint64_t number)
{
	lull_store_relaxed(&lull__page()->gp_started, lull__page()->gp_started + 1);
	LULL__PROBE1(gp_start, number);
}

/* Say that grace period @number ended after @ns, and count it @weight times; @weight 0: it was not timed. */
static inline void lull__event_gp_end(uint64_t number, uint64_t ns, uint32_t weight)
{
	struct lull_stats_page *page = lull__page();
	unsigned bucket = ns ? 63u - (unsigned)__builtin_clzll(ns) : 0;

	lull_store_relaxed(&page->gp_ended, page->gp_ended + 1);
	LULL__PROBE2(gp_end, number, ns);
	if (!weight)
		return;
	if (bucket >= LULL_STATS_BUCKETS)
		bucket = LULL_STATS_BUCKETS - 1;
	lull_store_relaxed(&page->gp_ns_sum, page->gp_ns_sum + ns * weight);
	if (ns > page->gp_ns_max)
		lull_store_relaxed(&page->gp_ns_max, ns);
	lull_store_relaxed(&page->gp_ns[bucket], page->gp_ns[bucket] + weight);
}

/* ---- the reclaimer ------------------------------------------------------------------------------ */

static inline void lull__event_raise(uint64_t *what, uint64_t to)
{
	uint64_t was = lull_load_relaxed(what);

	while (was < to && !lull_cas_relaxed(what, &was, to))
		;
}

/*
 * Publish, in items or bytes, that @queued have come since the start, and @waiting of them still wait. The number of
 * those reclaimed is computed from that: counting them where it happens would slow down each deferral. Totals only
 * grow, though threads publish what they knew a moment ago.
 */
static inline void lull__event_backlog(uint64_t *page_queued, uint64_t *page_waiting, uint64_t *page_done,
				       uint64_t queued, uint64_t waiting)
{
	lull__event_raise(page_queued, queued);
	lull_store_relaxed(page_waiting, waiting);
	if (waiting <= queued)
		lull__event_raise(page_done, queued - waiting);
}

static inline void lull__event_peak(size_t items, size_t bytes)
{
	lull_store_relaxed(&lull__page()->peak_items, (uint64_t)items);
	lull_store_relaxed(&lull__page()->peak_bytes, (uint64_t)bytes);
}

static inline void lull__event_batch_start(uint32_t kind, uint64_t items)
{
	LULL__PROBE2(batch_start, kind, items);
}

static inline void lull__event_batch_end(uint32_t kind, uint64_t items, uint64_t bytes)
{
	LULL__PROBE3(batch_end, kind, items, bytes);
}

/* ---- hazard pointers ---------------------------------------------------------------------------- */

static inline void lull__event_scan_start(void)
{
	LULL__PROBE0(scan_start);
}

static inline void lull__event_scan_end(uint64_t in_use)
{
	lull__event_count(&lull__page()->scans, 1);
	lull_store_relaxed(&lull__page()->slots_in_use, in_use);
	LULL__PROBE2(scan_end, in_use, lull_load_relaxed(&lull__page()->kept));
}

static inline void lull__event_kept(uint64_t kept)
{
	lull_store_relaxed(&lull__page()->kept, kept);
}

/* ---- the mutex ---------------------------------------------------------------------------------- */

static inline void lull__event_mutex_wait_start(const void *mutex, uint32_t owner)
{
	LULL__PROBE2(mutex_wait_start, mutex, owner);
}

static inline void lull__event_mutex_sleep(void)
{
	lull__event_count(&lull__page()->mutex_sleeps, 1);
}

static inline void lull__event_mutex_wait_end(const void *mutex, uint32_t slept)
{
	LULL__PROBE2(mutex_wait_end, mutex, slept);
}

#endif /* LULL_EVENTS_H */
