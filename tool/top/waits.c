/* SPDX-License-Identifier: MIT */
/* lull top: who waits for whom, from the page. */
#include <stdlib.h>
#include <string.h>

#include "top/top.h"

/* A wait that is over in a moment is none that anybody asks about. */
static bool goes_on(const struct lull_stats_wait *first, const struct lull_stats_wait *again)
{
	return again->kind != LULL_WAIT_NONE && first->kind == again->kind &&
	       first->waiter_tid == again->waiter_tid && first->since_ns == again->since_ns;
}

static struct top_wait wait_of(const struct lull_stats_wait *w, uint64_t now)
{
	return (struct top_wait){
		.kind = w->kind,
		.waiter.tid = w->waiter_tid,
		.holder.tid = w->tid,
		.holders = w->holders,
		.depth = w->depth,
		.age_known = w->since_ns && w->since_ns <= now,
		.age_ns = w->since_ns && w->since_ns <= now ? now - w->since_ns : 0,
		.site = w->site,
	};
}

static int longest_first(const void *a, const void *b)
{
	const struct top_wait *x = a, *y = b;

	return (x->age_ns < y->age_ns) - (x->age_ns > y->age_ns);
}

void top_waits(struct top_view *view, const struct top_sample *sample)
{
	unsigned i;

	for (view->nr_waits = i = 0; i < LULL_STATS_WAITS; i++)
		if (goes_on(&sample->first.page.waits[i], &sample->again.page.waits[i]))
			view->waits[view->nr_waits++] = wait_of(&sample->again.page.waits[i],
								sample->again.taken_ns);
	qsort(view->waits, view->nr_waits, sizeof(*view->waits), longest_first);
}
