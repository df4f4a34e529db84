/* SPDX-License-Identifier: MIT */
/*
 * note.h - what happens, said once: to the page of counts (stats.h) and to the probes (probe.h).
 *
 * Relaxed all of it: numbers for people, which nothing is decided by. None of it is on a read side.
 */
#ifndef LULL_NOTE_H
#define LULL_NOTE_H

#include "internal.h"
#include "probe.h"
#include "stats_page.h"

static inline void lull__count(uint64_t *what, uint64_t n)
{
	lull_add_relaxed(what, n);
}

/* ---- grace periods: the leader ----------------------------------------------------------------- */

static inline void lull__note_gp_start(uint64_t number)
{
	lull_store_relaxed(&lull__stats->gp_started, lull__stats->gp_started + 1);
	LULL__PROBE1(gp_start, number);
}

/* @ns: how long it took, which stands for @weight of them; 0: it was not timed. */
static inline void lull__note_gp_end(uint64_t number, uint64_t ns, uint32_t weight)
{
	struct lull_stats_page *page = lull__stats;
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

static inline void lull__note_queued(uint64_t items, uint64_t bytes)
{
	lull__count(&lull__stats->queued_items, items);
	lull__count(&lull__stats->queued_bytes, bytes);
}

/* What was reclaimed is the difference: to count it where it happens would cost each deferral something. */
static inline void lull__note_waiting(size_t items, size_t bytes)
{
	struct lull_stats_page *page = lull__stats;

	lull_store_relaxed(&page->waiting_items, (uint64_t)items);
	lull_store_relaxed(&page->waiting_bytes, (uint64_t)bytes);
	lull_store_relaxed(&page->done_items, lull_load_relaxed(&page->queued_items) - items);
	lull_store_relaxed(&page->done_bytes, lull_load_relaxed(&page->queued_bytes) - bytes);
	lull_store_relaxed(&page->peak_items, (uint64_t)lull_load_relaxed(&lull__rc.peak_items));
	lull_store_relaxed(&page->peak_bytes, (uint64_t)lull_load_relaxed(&lull__rc.peak_bytes));
}

static inline void lull__note_batch_start(uint32_t kind, uint64_t items)
{
	LULL__PROBE2(batch_start, kind, items);
}

static inline void lull__note_batch_end(uint32_t kind, uint64_t items, uint64_t bytes)
{
	LULL__PROBE3(batch_end, kind, items, bytes);
}

/* ---- hazard pointers ---------------------------------------------------------------------------- */

static inline void lull__note_scan_start(void)
{
	LULL__PROBE0(scan_start);
}

static inline void lull__note_scan_end(uint64_t in_use)
{
	lull__count(&lull__stats->scans, 1);
	lull_store_relaxed(&lull__stats->slots_in_use, in_use);
	LULL__PROBE2(scan_end, in_use, lull_load_relaxed(&lull__stats->kept));
}

static inline void lull__note_kept(uint64_t kept)
{
	lull_store_relaxed(&lull__stats->kept, kept);
}

/* ---- the mutex ---------------------------------------------------------------------------------- */

static inline void lull__note_mutex_wait_start(const void *mutex, uint32_t owner)
{
	LULL__PROBE2(mutex_wait_start, mutex, owner);
}

static inline void lull__note_mutex_sleep(void)
{
	lull__count(&lull__stats->mutex_sleeps, 1);
}

static inline void lull__note_mutex_wait_end(const void *mutex, uint32_t slept)
{
	LULL__PROBE2(mutex_wait_end, mutex, slept);
}

#endif /* LULL_NOTE_H */
