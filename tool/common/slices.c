/* SPDX-License-Identifier: MIT */
/* Figures of slices, runs and results; see slices.h. */
#include "common/slices.h"

#include <stdlib.h>
#include <string.h>

#include "common/figures.h"
#include "common/options.h"

struct bench_slice bench_slice_of(const struct bench_sample *sample, unsigned threads, bool crowded)
{
	uint64_t elapsed = 0, cycles = 0, instructions = 0, first = UINT64_MAX, last = 0;
	struct bench_slice s = { .counted = true };
	unsigned i;

	for (i = 0; i < threads; i++) {
		const struct bench_sample *one = &sample[i];

		s.ops += one->ops;
		elapsed += one->end - one->start;
		cycles += one->cycles;
		instructions += one->instructions;
		first = one->start < first ? one->start : first;
		last = one->end > last ? one->end : last;
		s.counted = s.counted && one->counted;
		s.disturbed = s.disturbed || (one->preempted && !crowded);
	}
	s.figure[BENCH_NS] = (double)elapsed / (double)s.ops;
	s.figure[BENCH_MOPS] = (double)s.ops * 1000 / (double)(last - first);
	s.figure[BENCH_CYCLES] = (double)cycles / (double)s.ops;
	s.figure[BENCH_INSTRUCTIONS] = (double)instructions / (double)s.ops;
	return s;
}

struct bench_tally bench_tally_new(const struct bench_plan *plan)
{
	struct bench_tally y = { .room = plan->slices + plan->redo };
	unsigned which;

	y.slice = options_alloc(y.room, sizeof(*y.slice));
	for (which = 0; which < BENCH_FIGURES; which++)
		y.value[which] = options_alloc(y.room > plan->runs ? y.room : plan->runs, sizeof(double));
	return y;
}

void bench_tally_begin(struct bench_tally *y)
{
	y->good = y->bad = 0;
}

void bench_tally_add(struct bench_tally *y, struct bench_slice s)
{
	if (s.disturbed)
		y->slice[y->room - ++y->bad] = s;
	else
		y->slice[y->good++] = s;
}

/*
 * Half as many good slices as planned, or as there was time for, are enough; with fewer, disturbed ones are better than a
 * figure from a handful, and the result says so.
 */
static void keep_good(struct bench_tally *y, const struct bench_plan *plan, struct bench_result *r)
{
	unsigned taken = y->good + y->bad;

	if (y->good * 2 >= (taken < plan->slices ? taken : plan->slices)) {
		r->dropped += y->bad;
	} else {
		memmove(y->slice + y->good, y->slice + y->room - y->bad, y->bad * sizeof(*y->slice));
		r->disturbed += y->bad;
		y->good += y->bad;
	}
	r->slices += y->good;
}

void bench_tally_end_run(struct bench_tally *y, const struct bench_plan *plan, struct bench_result *r)
{
	double *v = options_alloc(y->room, sizeof(*v));
	unsigned which, i;

	keep_good(y, plan, r);
	for (which = 0; which < BENCH_FIGURES; which++) {
		for (i = 0; i < y->good; i++)
			v[i] = y->slice[i].figure[which];
		if (plan->runs == 1)
			memcpy(y->value[which], v, y->good * sizeof(*v));
		else
			y->value[which][y->runs] = bench_stat_of(v, y->good).median;
	}
	y->runs++;
	y->count = plan->runs == 1 ? y->good : y->runs;
	for (i = 0; i < y->good; i++)
		r->ops += y->slice[i].ops;
	r->runs++;
	free(v);
}

void bench_tally_finish(struct bench_tally *y, struct bench_result *r)
{
	size_t hardware = y->counted ? y->count : 0;
	unsigned which;

	r->ns = bench_stat_of(y->value[BENCH_NS], y->count);
	r->mops = bench_stat_of(y->value[BENCH_MOPS], y->count);
	r->cycles = bench_stat_of(y->value[BENCH_CYCLES], hardware);
	r->instructions = bench_stat_of(y->value[BENCH_INSTRUCTIONS], hardware);
	for (which = 0; which < BENCH_FIGURES; which++)
		free(y->value[which]);
	free(y->slice);
}
