/* SPDX-License-Identifier: MIT */
/* rcu_blocks.h - what the tests of rcuscale's figures share: two schemes, and blocks of theirs that are made up. */
#ifndef LULL_TEST_RCU_BLOCKS_H
#define LULL_TEST_RCU_BLOCKS_H

#include "test.h"

#include <lull/percpu_ref.h>

#include "common/bench.h"
#include "common/clock.h"
#include "common/counters.h"
#include "common/cpus.h"
#include "common/progress.h"

static uint64_t made_up_ns;
static bool counters;

#define bench_now_ns() made_up_ns
#define bench_cpus() 3u
#define bench_pin(cpu) ((void)(cpu))
#define bench_counters_work() counters
#define lull_percpu_ref_per_cpu() true

#include "../engine/budget.c"
#include "../engine/text_table.c"
#include "../instruments/rcu/counted.c"
#include "../instruments/rcu/names.c"
#include "../instruments/rcu/rounds.c"
#include "tests/made_up.h"

/* ---- two schemes, and their blocks ------------------------------------------------------------ */

static unsigned blocks_made; /* so far */
static bool uncounted; /* nor was it found out what a call costs */

static void fill(uint64_t *ns, uint32_t count, uint64_t least)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		ns[i] = least + 130 * blocks_made + 3 * ((i * 7 + blocks_made) % count) * ((i * 7 + blocks_made) % count);
}

static void make_block(uint64_t times, const struct rcuscale_job *job, struct rcuscale_block *out)
{
	uint32_t i, most = job->most;

	blocks_made++;
	memset(out, 0, sizeof(*out));
	out->interrupts_known = true;
	out->elapsed_ns = 3000000 * times + 100000 * blocks_made;
	out->interrupts = 50 * times + 7 * blocks_made;
	out->heavy = 20 * times + 3 * blocks_made;
	out->switches = 70 * times + 9 * blocks_made;
	out->cpu_ns = 800. * (double)times + 31 * blocks_made;
	out->own_cpu_ns = 300. * (double)times + 17 * blocks_made;
	out->replaced.ns = 150. * (double)times + 11 * blocks_made;
	out->replaced.peak = 4000 * times - 1000 * (blocks_made % 3);
	out->counted = (struct bench_counted){ .ops = most, .cycles = 90 * most * times + 50 * blocks_made,
					       .instructions = 60 * most * times + 77 * blocks_made };
	out->count = job->what != WHAT_REPLACE ? most : uncounted ? 0 : 4;
	if (uncounted)
		out->counted.ops = out->interrupts_known = 0;
	if (job->what == WHAT_REPLACE) {
		out->cost = options_alloc(4, sizeof(*out->cost));
		for (i = 0; i < 4; i++)
			out->cost[i] = 13. * (double)times + (i * 3 % 4) * 5 + blocks_made;
		return;
	}
	out->ns = options_alloc(out->count, sizeof(*out->ns));
	fill(out->ns, out->count, 1000 * times);
	if (job->what != WHAT_PACED)
		return;
	out->until_ns = options_alloc(out->count, sizeof(*out->until_ns));
	fill(out->until_ns, out->count, 200000 * times + job->period_ns / 10);
}

static const struct bench_gp_scheme gps[] = {
	{ .name = "one", .ways = { [BENCH_GP_CALL] = true, [BENCH_GP_FREE] = true } },
	{ .name = "two", .ways = { [BENCH_GP_CALL] = true, [BENCH_GP_NOW] = true } },
};

struct rcuscale_scheme rcuscale_schemes[RCUSCALE_SCHEMES_MAX] = { { .name = "one", .gp = &gps[0], .ours = true },
								  { .name = "two", .gp = &gps[1] } };
size_t rcuscale_nr_schemes = 2;

bool rcuscale_can(const struct rcuscale_scheme *scheme, enum rcuscale_what what)
{
	(void)scheme;
	(void)what;
	return true;
}

const struct bench_gp_scheme *rcuscale_gp(const struct rcuscale_scheme *scheme)
{
	return scheme ? scheme->gp : &gps[0];
}

void rcuscale_run(const struct bench_gp_scheme *scheme, const struct rcuscale_job *job, struct rcuscale_block *out)
{
	make_block(job->quiet ? 5 : scheme == &gps[0] ? 1 : 2, job, out);
}

void rcuscale_run_scheme(const struct rcuscale_scheme *scheme, const struct rcuscale_job *job, struct rcuscale_block *out)
{
	rcuscale_run(scheme->gp, job, out);
}

void rcuscale_prime(const struct bench_gp_scheme *scheme)
{
	(void)scheme;
}

/* ---- what tables of figures ask for ----------------------------------------------------------- */

static unsigned three_threads[] = { 3 };
static const struct options given = { .seconds = 100, .threads = three_threads, .nr_threads = 1 };

TEARDOWN
{
	json_decref(now.left_out);
	now.left_out = NULL;
}

static void begin(bool with_counters)
{
	counters = with_counters;
	blocks_made = 0;
	made_up_ns = 1000;
	budget_begin(&given, 100, 1);
	begin_printing();
}

#endif /* LULL_TEST_RCU_BLOCKS_H */
