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
	const struct rcuscale_scheme *scheme;
	struct rcuscale_job job;
	uint64_t *ns;
	uint32_t count;
	double *p50; /* of each block */
	uint32_t rounds;
	uint64_t elapsed_ns, interrupts;
	struct bench_counted counted;
	bool interrupts_known;
};

static const char *series_name(const void *rows, size_t i)
{
	return ((const struct series *)rows)[i].scheme->name;
}

static void run_block(void *rows, size_t i, uint64_t budget_ns)
{
	struct series *series = (struct series *)rows + i;
	struct rcuscale_block block;

	series->job.budget_ns = budget_ns;
	rcuscale_run_scheme(series->scheme, &series->job, &block);
	memcpy(series->ns + series->count, block.ns, block.count * sizeof(*block.ns));
	series->p50[series->rounds++] = bench_latency_of(block.ns, block.count).p50;
	series->count += block.count;
	series->elapsed_ns += block.elapsed_ns;
	series->interrupts += block.interrupts;
	rcuscale_add_counted(&series->counted, &block.counted);
	series->interrupts_known = series->interrupts_known && block.interrupts_known;
	free(block.ns);
}

static size_t list_series(const struct rcuscale_settings *s, struct rcuscale_job job, uint32_t rounds, struct series *all)
{
	size_t count = 0, i;

	job.most = (s->calls + rounds - 1) / rounds;
	for (i = 0; i < rcuscale_nr_schemes; i++)
		if (s->chosen[i] && rcuscale_can(&rcuscale_schemes[i], job.what))
			all[count++] = (struct series){
				.scheme = &rcuscale_schemes[i],
				.job = job,
				.interrupts_known = true,
				.ns = options_alloc((size_t)job.most * rounds, sizeof(uint64_t)),
				.p50 = options_alloc(rounds, sizeof(double)),
			};
	return count;
}

static void cell_us(struct bench_table *t, double ns)
{
	bench_cell(t, "%.*f", ns < 99950 ? 2 : 0, ns / 1000);
}

static void latency_row(struct bench_table *t, struct series *series, const char *name, unsigned threads,
			struct jsonout *json)
{
	const struct rcuscale_scheme *scheme = series->scheme;
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
			    enum rcuscale_setup setup, double seconds, struct jsonout *json)
{
	unsigned threads = setup == SETUP_IDLE ? 1 : setup == SETUP_THREADS64 ? 65 : 2;
	uint32_t rounds = s->rounds < s->calls ? s->rounds : s->calls;
	struct series all[RCUSCALE_SCHEMES_MAX];
	size_t count = list_series(s, (struct rcuscale_job){ .what = what, .setup = setup }, rounds, all), i;
	char *title = options_printf("%s: %s", rcuscale_titles[what], rcuscale_setup_what[setup]);
	struct bench_table *t;

	rcuscale_rounds(&(struct rcuscale_rounds){ title, rounds, count, seconds, all, series_name, run_block });
	printf("\n%s; us%s\n", title,
	       what == WHAT_KILL && !lull_percpu_ref_per_cpu() ?
		       "; no restartable sequences here, so it waits for a grace period" :
		       "");
	t = rcuscale_table_new(
		"scheme|calls|average|min|p50|p90|p99|max|p50 by round|interrupts/call|/s/core");
	for (i = 0; i < count; i++) {
		if (all[i].count)
			latency_row(t, &all[i], rcuscale_metric(what, NULL, setup), threads, json);
		free(all[i].ns);
		free(all[i].p50);
	}
	bench_table_print(t);
	free(title);
}
