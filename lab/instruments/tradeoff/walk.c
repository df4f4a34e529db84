/* SPDX-License-Identifier: MIT */
/* lull tradeoff: walks along a list of which elements are deleted; how often they start again. */
#include <stdlib.h>

#include <lull/atomic.h>

#include "common/clock.h"
#include "common/cpus.h"
#include "common/figures.h"
#include "common/bench.h"
#include "instruments/tradeoff/ways.h"

struct walker {
	const struct tradeoff_scheme *scheme;
	struct keep *first;
	unsigned cpu;
	uint32_t *stop;
	struct tradeoff_walk counts;
	pthread_t thread;
} __attribute__((aligned(BENCH_LINE)));

static void *walker_main(void *arg)
{
	struct walker *w = arg;

	bench_pin(w->cpu);
	while (!lull_load_relaxed(w->stop))
		w->scheme->walk(w->first, &w->counts);
	return NULL;
}

static struct keep *make_list(const struct tradeoff_scheme *scheme, unsigned count)
{
	struct keep *first = NULL;

	for (; count; count--)
		first = scheme->list_make(first);
	return scheme->list_make(first);
}

/* Another one takes its place, so that the list stays as long as it is. */
static void delete_any(const struct tradeoff_scheme *scheme, struct keep *first, unsigned count,
		       uint64_t *rng)
{
	uint64_t steps = (bench_random(rng) >> 32) % count;
	struct keep *before = first;

	for (; steps; steps--)
		before = scheme->list_next(before);
	scheme->list_replace(before, scheme->list_next(before));
}

static uint64_t update(const struct tradeoff_run *run, const struct tradeoff_scheme *scheme,
		       struct keep *first)
{
	struct tradeoff_pace pace = { .rate = run->update_rate };
	uint64_t rng = 88172645463325252u;

	pace.start = bench_now_ns();
	pace.until = pace.start + (uint64_t)(run->seconds / run->runs * 1e9);
	while (tradeoff_due(&pace))
		delete_any(scheme, first, run->result->list, &rng);
	return pace.done;
}

/* Walk on all CPUs but one, at least on one. Return false if no thread made a step: then nothing was measured. */
static bool walk_once(struct tradeoff_run *run, size_t scheme, double *restarts, double *again)
{
	struct tradeoff_result *result = &run->result->scheme[scheme];
	unsigned count = bench_cpus() > 1 ? bench_cpus() - 1 : 1, i;
	struct walker *walker = aligned_alloc(BENCH_LINE, count * sizeof(*walker));
	struct keep *first = make_list(tradeoff_schemes[scheme], run->result->list);
	struct tradeoff_walk sum = { 0 };
	uint32_t stop = 0;

	if (!walker)
		options_fail("out of memory");
	for (i = 0; i < count; i++) {
		walker[i] = (struct walker){ .scheme = tradeoff_schemes[scheme],
					     .first = first,
					     .cpu = i + 1,
					     .stop = &stop };
		tradeoff_thread(&walker[i].thread, walker_main, &walker[i]);
	}
	bench_pin(0);
	result->deletions += (double)update(run, tradeoff_schemes[scheme], first);
	lull_store_relaxed(&stop, 1);
	for (i = 0; i < count; i++) {
		pthread_join(walker[i].thread, NULL);
		sum.steps += walker[i].counts.steps;
		sum.restarts += walker[i].counts.restarts;
		sum.again += walker[i].counts.again;
	}
	result->steps += (double)sum.steps;
	free(walker);
	if (!sum.steps)
		return false;
	*restarts = tradeoff_per_million(sum.restarts, sum.steps);
	*again = tradeoff_per_million(sum.again, sum.steps);
	return true;
}

void tradeoff_measure_walk(struct tradeoff_run *run, size_t scheme)
{
	double *restarts = options_alloc(run->runs, sizeof(*restarts));
	double *again = options_alloc(run->runs, sizeof(*again));
	unsigned i, measured = 0;

	bench_planned_ns += (uint64_t)(run->seconds * 1e9);
	for (i = 0; i < run->runs; i++)
		measured += walk_once(run, scheme, &restarts[measured], &again[measured]);
	run->result->scheme[scheme].restarts = bench_stat_of(restarts, measured);
	run->result->scheme[scheme].steps_again = bench_stat_of(again, measured);
	free(restarts);
	free(again);
}
