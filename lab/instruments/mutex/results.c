/* SPDX-License-Identifier: MIT */
/* lull mutexscale: what is written of each measurement, and how disturbed they were. */
#include <stdio.h>
#include <string.h>

#include "common/figures.h"
#include "common/json.h"
#include "engine/text_table.h"
#include "instruments/mutex/mutexscale.h"

size_t mutexscale_find(const struct mutexscale *m, const char *name)
{
	size_t i;

	for (i = 0; i < m->count && strcmp(m->locks[i]->name, name); i++)
		;
	return i;
}

static const struct {
	const char *metric, *unit;
} figures[NR_FIGURES] = {
	[FIGURE_RATE] = { "sections", "1/s" },	 [FIGURE_WAIT] = { "wait_mean", "ns" },
	[FIGURE_P99] = { "wait_p99", "ns" },	 [FIGURE_P999] = { "wait_p999", "ns" },
	[FIGURE_MAX] = { "wait_max", "ns" },	 [FIGURE_CPU] = { "cpu", "ns" },
	[FIGURE_SWITCHES] = { "switches", "1" }, [FIGURE_JAIN] = { "jain", "1" },
};

static void describe_cell(json_t *row, const struct mutexscale_cell *c)
{
	jsonout_set(row, "shape", json_string(c->name));
	jsonout_set(row, "section_ns", json_real(c->section));
	jsonout_set(row, "outside_ns", json_real(c->outside));
	jsonout_set(row, "long_share", json_real(c->longer_share));
	jsonout_set(row, "long_ns", json_real(c->longer));
	jsonout_set(row, "sleep_share", json_real(c->sleep_share));
	jsonout_set(row, "sleep_ns", json_real(c->sleep));
	jsonout_set(row, "hogs", json_integer(c->hogs));
}

/* Write each round's figure, for readers that compare two locks round by round. */
static void add_rounds(json_t *row, const struct mutexscale_result *result)
{
	json_t *rounds = json_array();
	unsigned i;

	for (i = 0; i < result->rounds; i++)
		json_array_append_new(rounds, json_real(result->rate[i]));
	jsonout_set(row, "rounds", rounds);
}

void mutexscale_json(const struct mutexscale *m, const struct mutexscale_cell *cell,
		     const struct mutexscale_result *results)
{
	size_t i, f;

	for (i = 0; i < m->count && m->json; i++)
		for (f = 0; f < NR_FIGURES; f++) {
			const struct bench_stat *stat = &results[i].stat[f];
			double base = results[0].stat[f].median;
			json_t *row = jsonout_stat(m->json, m->locks[i]->name, cell->threads,
						   figures[f].metric, figures[f].unit, stat);

			describe_cell(row, cell);
			jsonout_set(row, "times_pthread",
				    base > 0 ? json_real(stat->median / base) : json_null());
			jsonout_set(row, "disturbed", json_integer(results[i].disturbed));
			if (f == FIGURE_RATE)
				add_rounds(row, &results[i]);
		}
}

void mutexscale_print_disturbed(const struct mutexscale_result *results, size_t count)
{
	unsigned disturbed = 0, all = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		disturbed += results[i].disturbed;
		all += results[i].runs;
	}
	if (disturbed)
		printf("(other programs ran during %u of %u measurements, though they were "
		       "repeated)\n",
		       disturbed, all);
}

void mutexscale_print(const struct mutexscale *m, const struct mutexscale_result *results)
{
	struct bench_table *table = bench_table_new(
		"lock|thousand/s|x pthread|wait us|p99|p99.9|longest|CPU us|switches|Jain");
	size_t i, f;

	for (i = 0; i < m->count; i++) {
		const struct bench_stat *stat = results[i].stat;
		struct bench_stat rate = bench_stat_scale(stat[FIGURE_RATE], 1e-3);

		bench_cell(table, "%s", m->locks[i]->name);
		bench_cell_stat(table, &rate);
		bench_cell_ratio(table, &stat[FIGURE_RATE], &results[0].stat[FIGURE_RATE]);
		for (f = FIGURE_WAIT; f <= FIGURE_CPU; f++)
			bench_cell(table, "%.2f", stat[f].median / 1e3);
		bench_cell(table, "%.3f", stat[FIGURE_SWITCHES].median);
		bench_cell(table, "%.2f", stat[FIGURE_JAIN].median);
	}
	bench_table_print(table);
	mutexscale_print_disturbed(results, m->count);
}
