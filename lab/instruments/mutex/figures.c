/* SPDX-License-Identifier: MIT */
/* lull mutexscale: from waits and resources to the figures of a slice, and of all its rounds. */
#include <stdlib.h>

#include "common/figures.h"
#include "common/options.h"
#include "instruments/mutex/mutexscale.h"

static double jain(const struct bench_lock_waits *const *waits, unsigned threads)
{
	double squares = 0, sum = 0;
	unsigned i;

	for (i = 0; i < threads; i++) {
		squares += (double)waits[i]->count * (double)waits[i]->count;
		sum += (double)waits[i]->count;
	}
	return sum > 0 ? sum * sum / (threads * squares) : 1;
}

void mutexscale_figures(const struct bench_lock_waits *const *waits, unsigned threads, const struct mutexscale_used *from,
			const struct mutexscale_used *to, double *value)
{
	struct bench_lock_waits *all = options_alloc(1, sizeof(*all));
	double elapsed = (double)(to->load.ns - from->load.ns), tick = elapsed / (double)(to->ticks - from->ticks), count;
	unsigned i;

	for (i = 0; i < threads; i++)
		bench_lock_waits_add(all, waits[i]);
	count = all->count ? (double)all->count : 1;
	value[FIGURE_RATE] = count * 1e9 / elapsed;
	value[FIGURE_WAIT] = (double)all->sum * tick / count;
	value[FIGURE_P99] = bench_lock_waits_above(all, 0.01) * tick;
	value[FIGURE_P999] = bench_lock_waits_above(all, 0.001) * tick;
	value[FIGURE_MAX] = (double)all->max * tick;
	value[FIGURE_CPU] = (double)(to->load.own_ns - from->load.own_ns) / count;
	value[FIGURE_SWITCHES] = (double)(to->switches - from->switches) / count;
	value[FIGURE_JAIN] = jain(waits, threads);
	free(all);
}

void mutexscale_finish(const struct mutexscale_slice *slices, size_t count, size_t lock, unsigned runs,
		       struct mutexscale_result *result)
{
	double *v = options_alloc(runs, sizeof(*v));
	unsigned f, i;

	result->rounds = runs < MUTEXSCALE_ROUNDS ? runs : MUTEXSCALE_ROUNDS;
	result->runs = runs;
	result->disturbed = 0;
	for (i = 0; i < runs; i++)
		result->disturbed += slices[i * count + lock].foreign > 0;
	for (i = 0; i < result->rounds; i++)
		result->rate[i] = slices[i * count + lock].value[FIGURE_RATE];
	for (f = 0; f < NR_FIGURES; f++) {
		for (i = 0; i < runs; i++)
			v[i] = slices[i * count + lock].value[f];
		result->stat[f] = bench_stat_of(v, runs);
	}
	free(v);
}
