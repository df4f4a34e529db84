/* SPDX-License-Identifier: MIT */
/*
 * Plans for instruments in which one thread's price falls on others, who sleep, wake and preempt:
 * all slices count, each is a run, and they are long.
 */
#ifndef LULL_LAB_ROUNDS_H
#define LULL_LAB_ROUNDS_H

#include "common/options.h"
#include "common/bench.h"

/* Return the seconds of the shortest for so many cases: a slice of each that counts, after one that does not. */
double rounds_least_seconds(size_t nr_cases);
/*
 * Spends @seconds on all cases together, in as many runs as were asked for, else in as many as there is time for.
 * A figure is then the median, minimum and maximum over slices.
 */
struct bench_plan rounds_plan(const struct options *opt, unsigned threads, double seconds,
			      size_t nr_cases);

#endif
