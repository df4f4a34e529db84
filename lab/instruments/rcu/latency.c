/* SPDX-License-Identifier: MIT */
/* lull rcuscale: how long waits take; see rcu_tables.h. */
#include "instruments/rcu/rcu_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lull/percpu_ref.h>

#include "common/cpus.h"
#include "common/figures.h"
#include "common/options.h"
#include "common/progress.h"
#include "engine/text_table.h"

/* Write the cells of interrupts on other processors, per operation, and per second and core. */
static void interrupt_cells(struct bench_table *t, bool known, uint64_t interrupts, uint64_t calls,
			    uint64_t elapsed_ns)
{
	if (!known || !calls || !elapsed_ns) {
		bench_cell(t, "n/a");
		bench_cell(t, "n/a");
		return;
	}
	bench_cell(t, "%.2f", (double)interrupts / (double)calls);
	bench_cell(t, "%.0f", (double)interrupts * 1e9 / (double)elapsed_ns / bench_cpus());
}

/* The blocks of one scheme. */
struct series {
	uint64_t *ns;
	uint32_t count;
	double *p50; /* of each block */
	uint32_t rounds;
	uint64_t elapsed_ns, interrupts;
	struct bench_counted counted;
	bool interrupts_known;
};

static void add_block(struct series *series, struct rcuscale_block *block)
{
	memcpy(series->ns + series->count, block->ns, block->count * sizeof(*block->ns));
	series->p50[series->rounds++] = bench_latency_of(block->ns, block->count).p50;
	series->count += block->count;
	series->elapsed_ns += block->elapsed_ns;
	series->interrupts += block->interrupts;
	rcuscale_add_counted(&series->counted, &block->counted);
	series->interrupts_known = series->interrupts_known && block->interrupts_known;
	free(block->ns);
}

static void measure_series(const struct rcuscale_settings *s, enum rcuscale_what what,
			   enum rcuscale_setup setup, struct series *all)
{
	uint32_t rounds = s->rounds ? s->rounds : RCUSCALE_ROUNDS, round;
	struct rcuscale_job job = { .what = what, .setup = setup };
	size_t i;

	if (rounds > s->calls)
		rounds = s->calls;
	job.most = (s->calls + rounds - 1) / rounds;
	job.budget_ns = s->budget_ns / rounds;
	for (i = 0; i < rcuscale_nr_schemes; i++) {
		all[i] = (struct series){ .interrupts_known = true };
		all[i].ns = options_alloc((size_t)job.most * rounds, sizeof(*all[i].ns));
		all[i].p50 = options_alloc(rounds, sizeof(*all[i].p50));
	}
	for (round = 0; round < rounds; round++) {
		bench_progress("rcuscale: %s, %s, round %u of %u", rcuscale_titles[what],
			       rcuscale_setup_what[setup], round + 1, rounds);
		for (i = 0; i < rcuscale_nr_schemes; i++) {
			struct rcuscale_block block;

			if (!s->chosen[i] || !rcuscale_can(&rcuscale_schemes[i], what))
				continue;
			rcuscale_run_scheme(&rcuscale_schemes[i], &job, &block);
			add_block(&all[i], &block);
		}
	}
	bench_progress_clear();
}

static void cell_us(struct bench_table *t, double ns)
{
	bench_cell(t, "%.*f", ns < 99950 ? 2 : 0, ns / 1000);
}

static void latency_row(struct bench_table *t, const struct rcuscale_scheme *scheme, struct series *series,
			const char *name, unsigned threads, struct jsonout *json)
{
	struct bench_latency lat = bench_latency_of(series->ns, series->count);
	struct bench_stat by_round =
		bench_stat_scale(bench_stat_of(series->p50, series->rounds), 0.001);
	json_t *row = jsonout_latency(json, scheme->name, threads, name, &lat);

	jsonout_set(row, "p50_round_min", json_real(by_round.min * 1000));
	jsonout_set(row, "p50_round_median", json_real(by_round.median * 1000));
	jsonout_set(row, "p50_round_max", json_real(by_round.max * 1000));
	if (series->interrupts_known && series->count) {
		jsonout_set(row, "interrupts_per_call",
			    json_real((double)series->interrupts / series->count));
		jsonout_set(row, "interrupts_per_second_per_core",
			    json_real((double)series->interrupts * 1e9 /
				      (double)series->elapsed_ns / bench_cpus()));
	}
	rcuscale_counted_json(row, &series->counted);
	bench_cell(t, "%s", scheme->name);
	bench_cell(t, "%zu", lat.count);
	cell_us(t, lat.mean);
	cell_us(t, lat.min);
	cell_us(t, lat.p50);
	cell_us(t, lat.p90);
	cell_us(t, lat.p99);
	cell_us(t, lat.max);
	bench_cell_stat(t, &by_round);
	interrupt_cells(t, series->interrupts_known, series->interrupts, series->count,
			series->elapsed_ns);
	rcuscale_counted_cells(t, &series->counted);
}

void rcuscale_latency_table(const struct rcuscale_settings *s, enum rcuscale_what what,
			  enum rcuscale_setup setup, struct jsonout *json)
{
	unsigned threads = setup == SETUP_IDLE ? 1 : setup == SETUP_THREADS64 ? 65 : 2;
	struct series all[RCUSCALE_SCHEMES_MAX];
	struct bench_table *t;
	size_t i;

	measure_series(s, what, setup, all);
	printf("\n%s: %s; us%s\n", rcuscale_titles[what], rcuscale_setup_what[setup],
	       what == WHAT_KILL && !lull_percpu_ref_per_cpu() ?
		       "; no restartable sequences here, so it waits for a grace period" :
		       "");
	t = rcuscale_table_new(
		"scheme|calls|average|min|p50|p90|p99|max|p50 by round|interrupts/call|/s/core");
	for (i = 0; i < rcuscale_nr_schemes; i++) {
		if (all[i].count)
			latency_row(t, &rcuscale_schemes[i], &all[i], rcuscale_metric(what, NULL, setup), threads,
				    json);
		free(all[i].ns);
		free(all[i].p50);
	}
	bench_table_print(t);
}
