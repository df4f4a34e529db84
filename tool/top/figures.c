/* SPDX-License-Identifier: MIT */
/* lull top: rates, latencies and the backlog, from two samples. */
#include <string.h>

#include "top/top.h"

/* ---- latency --------------------------------------------------------------------------------- */

/* The buckets of a time, and what is known of the longest. */
struct histogram {
	uint64_t count[LULL_STATS_BUCKETS];
	uint64_t total, sum_ns;
	uint64_t ended; /* how many there were, timed or not */
	double most;	/* none is longer */
};

static double edge(unsigned bucket)
{
	return (double)(UINT64_C(1) << bucket);
}

/* Estimate a percentile as if the times in a bucket were spread evenly. */
static double percentile(const struct histogram *h, double part)
{
	double rank = part * (double)h->total, below = 0, ns = 0;
	unsigned i;

	for (i = 0; i < LULL_STATS_BUCKETS; i++) {
		double here = (double)h->count[i];

		if (!h->count[i])
			continue;
		ns = edge(i) * (1 + (rank > below ? (rank - below) / here : 0));
		below += here;
		if (below >= rank)
			break;
	}
	return ns < h->most ? ns : h->most;
}

/* The upper edge of the last bucket that has any; the last bucket of all has none. */
static double upper_edge(const struct histogram *h)
{
	unsigned i = LULL_STATS_BUCKETS;

	while (i && !h->count[i - 1])
		i--;
	return i == LULL_STATS_BUCKETS ? 1e300 : i ? edge(i) : 0;
}

static struct top_latency latency_of(const struct histogram *h, bool exact)
{
	struct top_latency l = { .known = true, .count = h->ended, .timed = h->total > 0 };

	if (!l.timed)
		return l;
	l.max = h->most;
	l.max_exact = exact;
	l.mean = (double)h->sum_ns / (double)h->total;
	/* The sum and the number were not read in the same moment. */
	if (l.mean > h->most)
		l.mean = h->most;
	l.p50 = percentile(h, 0.5);
	l.p99 = percentile(h, 0.99);
	return l;
}

static struct top_latency ever(const struct lull_stats_page *page)
{
	struct histogram h = { .sum_ns = page->gp_ns_sum,
			       .ended = page->gp_ended,
			       .most = (double)page->gp_ns_max };
	unsigned i;

	for (i = 0; i < LULL_STATS_BUCKETS; i++) {
		h.count[i] = page->gp_ns[i];
		h.total += h.count[i];
	}
	return latency_of(&h, true);
}

static struct top_latency lately(const struct lull_stats_page *before,
				 const struct lull_stats_page *after)
{
	bool longest = after->gp_ns_max > before->gp_ns_max;
	struct histogram h = { .sum_ns = after->gp_ns_sum - before->gp_ns_sum,
			       .ended = after->gp_ended - before->gp_ended };
	double bound;
	unsigned i;

	if (after->gp_ns_sum < before->gp_ns_sum || after->gp_ended < before->gp_ended)
		return (struct top_latency){ .known = false };
	for (i = 0; i < LULL_STATS_BUCKETS; i++) {
		if (after->gp_ns[i] < before->gp_ns[i])
			return (struct top_latency){ .known = false };
		h.count[i] = after->gp_ns[i] - before->gp_ns[i];
		h.total += h.count[i];
	}
	h.most = (double)after->gp_ns_max;
	bound = upper_edge(&h);
	if (!longest && bound < h.most)
		h.most = bound;
	return latency_of(&h, longest);
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* Read a count that is noted late, which can be below zero for a moment. */
static uint64_t not_below_zero(uint64_t count)
{
	return count > INT64_MAX ? 0 : count;
}

static uint64_t count_of(const struct lull_stats_page *page, const struct top_counter *c)
{
	uint64_t count = top_count(page, c);

	return c->late ? not_below_zero(count) : count;
}

static struct top_rate rate_of(uint64_t before, uint64_t after, const struct top_counter *c,
			       double seconds)
{
	struct top_rate r = { .known = (after >= before || c->late) && seconds > 0 };

	if (r.known && after > before)
		r.per_s = (double)(after - before) / seconds;
	return r;
}

static double seconds_between(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

void top_figures(struct top_view *view, const struct top_sample *before,
		 const struct top_sample *after)
{
	static const struct lull_stats_page zero;
	const struct lull_stats_page *page = &after->again.page,
				     *old = before ? &before->again.page : &zero;
	uint64_t from = before ? before->again.taken_ns : page->began_ns;
	unsigned i;

	memset(view, 0, sizeof(*view));
	view->pid = page->pid;
	view->threads = page->threads;
	view->fence = page->fence;
	view->debug = page->debug;
	view->began_ns = page->began_ns;
	view->up_known = page->began_ns && page->began_ns <= after->again.taken_ns;
	view->up_s = seconds_between(page->began_ns, after->again.taken_ns);
	/* Another page: the process runs another program now, or is another one. */
	if (before && old->began_ns != page->began_ns) {
		old = &zero;
		from = page->began_ns;
	}
	view->seconds = from ? seconds_between(from, after->again.taken_ns) : 0;
	for (i = 0; i < TOP_COUNTERS; i++) {
		const struct top_counter *c = &top_counters[i];

		view->total[i] = count_of(page, c);
		view->rate[i] = rate_of(count_of(old, c), view->total[i], c, view->seconds);
	}
	if (top_latency_fits(after)) {
		view->ever = ever(page);
		if (old == &zero)
			view->lately = view->ever;
		else if (top_latency_fits(before))
			view->lately = lately(old, page);
	}
	view->items = (struct top_backlog){ not_below_zero(page->waiting_items), page->peak_items,
					    page->hard_items };
	view->bytes = (struct top_backlog){ not_below_zero(page->waiting_bytes), page->peak_bytes,
					    page->hard_bytes };
	view->slots_in_use = page->slots_in_use;
	view->kept = page->kept;
}
