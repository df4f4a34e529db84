/* SPDX-License-Identifier: MIT */
/* Medians and percentiles of what was measured. */
#ifndef LULL_TOOL_FIGURES_H
#define LULL_TOOL_FIGURES_H

#include <stddef.h>
#include <stdint.h>

struct bench_stat {
	double min, median, max;
	size_t count; /* 0: not available, prints as n/a */
};

/* Sorts v in place. */
struct bench_stat bench_stat_of(double *v, size_t count);
/* s * factor, for other units. */
struct bench_stat bench_stat_scale(struct bench_stat s, double factor);

struct bench_latency {
	double min, mean, p50, p90, p99, max; /* ns */
	size_t count;
};

/*
 * Sorts ns in place. Percentile P is the smallest value with at least P % of the values at or below
 * it.
 */
struct bench_latency bench_latency_of(uint64_t *ns, size_t count);
double bench_percentile(const uint64_t *sorted, size_t count, double percent);

#endif
