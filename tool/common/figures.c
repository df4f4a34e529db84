/* SPDX-License-Identifier: MIT */
/* Medians and percentiles; see figures.h. */
#include "common/figures.h"

#include <stdlib.h>

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

struct bench_stat bench_stat_of(double *v, size_t count)
{
	struct bench_stat s = { 0 };

	if (!count)
		return s;
	qsort(v, count, sizeof(*v), compare_double);
	s.min = v[0];
	s.max = v[count - 1];
	s.median = (v[(count - 1) / 2] + v[count / 2]) / 2;
	s.count = count;
	return s;
}

struct bench_stat bench_stat_scale(struct bench_stat s, double factor)
{
	s.min *= factor;
	s.median *= factor;
	s.max *= factor;
	return s;
}

double bench_percentile(const uint64_t *sorted, size_t count, double percent)
{
	size_t rank;

	if (!count)
		return 0;
	/*
	 * Rounded up; the small subtrahend keeps 99 % of 100 from becoming 100 by rounding in the
	 * product.
	 */
	rank = (size_t)(percent / 100 * (double)count - 1e-9) + 1;
	if (rank > count)
		rank = count;
	return (double)sorted[rank - 1];
}

struct bench_latency bench_latency_of(uint64_t *ns, size_t count)
{
	struct bench_latency l = { 0 };
	double sum = 0;
	size_t i;

	if (!count)
		return l;
	qsort(ns, count, sizeof(*ns), compare_u64);
	for (i = 0; i < count; i++)
		sum += (double)ns[i];
	l.min = (double)ns[0];
	l.mean = sum / (double)count;
	l.p50 = bench_percentile(ns, count, 50);
	l.p90 = bench_percentile(ns, count, 90);
	l.p99 = bench_percentile(ns, count, 99);
	l.max = (double)ns[count - 1];
	l.count = count;
	return l;
}
