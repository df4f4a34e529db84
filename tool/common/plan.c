/* SPDX-License-Identifier: MIT */
/* How much there is time to measure; see bench.h. */
#include "common/bench.h"

#include "common/cpus.h"

#define CROWDED_SLICE_NS 20000000u /* more threads than CPUs: several turns of the scheduler */
#define OVERHEAD_NS 100000u	   /* that a slice takes more than it measures: warming up, waking workers */
#define SLICES_MIN 3u		   /* in a run */

static uint64_t slice_ns(unsigned threads)
{
	return threads > bench_cpus() ? CROWDED_SLICE_NS : BENCH_SLICE_NS;
}

/* Return how many slices of each case there is time for. */
static double slices_in(unsigned threads, double seconds, size_t nr_cases)
{
	return seconds * 1e9 / ((double)nr_cases * (double)(slice_ns(threads) + OVERHEAD_NS));
}

double bench_least_seconds(unsigned threads, size_t nr_cases)
{
	return 2 / slices_in(threads, 1, nr_cases);
}

struct bench_plan bench_plan_for(unsigned threads, unsigned runs, double seconds, size_t nr_cases)
{
	struct bench_plan plan = {
		.threads = threads,
		.slice_ns = slice_ns(threads),
		.warm_ns = BENCH_WARM_NS,
	};
	/* One does not count. */
	double slices = slices_in(threads, seconds, nr_cases) - 1;
	/* Little time for many cases: fewer runs, not fewer slices in each. */
	unsigned most = slices < SLICES_MIN ? 1 : (unsigned)(slices / SLICES_MIN);

	plan.runs = runs ? runs : most < BENCH_RUNS ? most : BENCH_RUNS;
	plan.slices = slices < plan.runs ? 1 : (unsigned)(slices / plan.runs);
	plan.redo = threads > bench_cpus() ? 0 : plan.slices;
	return plan;
}
