/* SPDX-License-Identifier: MIT */
/* From what each worker did in each slice to the figures of a result; see bench.h, which measures. */
#ifndef LULL_TOOL_SLICES_H
#define LULL_TOOL_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bench.h"

/* Work of one worker in one slice. */
struct bench_sample {
	uint64_t ops, start, end;
	uint64_t cycles, instructions;
	bool counted, preempted;
};

enum bench_figure { BENCH_NS, BENCH_MOPS, BENCH_CYCLES, BENCH_INSTRUCTIONS, BENCH_FIGURES };

/* One slice's figures, all workers together. */
struct bench_slice {
	double figure[BENCH_FIGURES];
	uint64_t ops;
	bool counted, disturbed;
};

/* Sum the samples of @threads up. If they are @crowded on the CPUs, taking turns is what is measured, and disturbs nothing. */
struct bench_slice bench_slice_of(const struct bench_sample *sample, unsigned threads, bool crowded);

/*
 * Slices of one case in one run, the good ones from the front, the disturbed ones from the back; and the medians of the
 * runs before, or of a single run its slices.
 */
struct bench_tally {
	struct bench_slice *slice;
	unsigned good, bad, room, runs;
	double *value[BENCH_FIGURES];
	size_t count;
	bool counted; /* by the hardware: set by who makes it */
};

struct bench_tally bench_tally_new(const struct bench_plan *plan);
void bench_tally_begin(struct bench_tally *y);
void bench_tally_add(struct bench_tally *y, struct bench_slice s);
void bench_tally_end_run(struct bench_tally *y, const struct bench_plan *plan, struct bench_result *r);
/* Write the figures of all runs, and free what bench_tally_new() has made. */
void bench_tally_finish(struct bench_tally *y, struct bench_result *r);

#endif
