/* SPDX-License-Identifier: MIT */
/* Long slices that all count; see rounds.h. */
#include "engine/rounds.h"

#include "common/bench.h"
#include "engine/budget.h"

#define SLICE_NS 20000000.0 /* several turns of the scheduler */
#define SLICE_NS_MIN 1000000.0
#define RUNS_MIN 3u
#define LEAST_SECONDS 0.02

double rounds_least_seconds(size_t nr_cases)
{
	return LEAST_SECONDS * (double)nr_cases;
}

struct bench_plan rounds_plan(const struct options *opt, unsigned threads, double seconds,
			      size_t nr_cases)
{
	double per_case = seconds * 1e9 / (double)nr_cases, slice_ns;
	/* The engine runs one slice before the first. */
	unsigned runs = opt->runs ? opt->runs : (unsigned)(per_case / SLICE_NS) - 1;

	if (!opt->runs && per_case < SLICE_NS * (RUNS_MIN + 1))
		runs = RUNS_MIN;
	slice_ns = per_case / (runs + 1);
	return (struct bench_plan){
		.threads = threads,
		.runs = runs,
		.slices = 1,
		.slice_ns = (uint64_t)(slice_ns > SLICE_NS_MIN ? slice_ns : SLICE_NS_MIN),
		.warm_ns = BENCH_WARM_NS,
		.most_ns = budget_most_ns(seconds),
		.label = opt->tool,
	};
}
