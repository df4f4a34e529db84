/* SPDX-License-Identifier: MIT */
/* Ratio of two figures that were measured in the same rounds; see choose.h. */
#include <math.h>
#include <stdlib.h>

#include "choose/choose.h"

int choose_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * The median of n values lies between the k-th smallest and the k-th largest of them unless fewer than k of n
 * tosses of a coin show heads (or tails): 2.58 standard deviations of those tosses leave 1 %.
 */
static size_t outside(size_t n)
{
	double k = ((double)n - 2.58 * sqrt((double)n)) / 2;

	return k > 0 ? (size_t)k : 0;
}

struct choose_ratio choose_ratio(const struct choose_rounds *a, const struct choose_rounds *b)
{
	size_t n = a->count < b->count ? a->count : b->count, i, k = outside(n);
	double ratio[CHOOSE_ROUNDS_MAX];
	struct choose_ratio r = { 0, 1, INFINITY };

	for (i = 0; i < n; i++)
		ratio[i] = a->ns[i] / b->ns[i];
	if (!n)
		return r;
	qsort(ratio, n, sizeof(*ratio), choose_compare);
	r.median = (ratio[(n - 1) / 2] + ratio[n / 2]) / 2;
	if (n < CHOOSE_ROUNDS_LEAST)
		return r;
	r.low = ratio[k];
	r.high = ratio[n - 1 - k];
	return r;
}
