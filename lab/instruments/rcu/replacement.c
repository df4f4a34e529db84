/* SPDX-License-Identifier: MIT */
/* lull rcuscale: what replacing objects costs end to end; see rcu_tables.h. */
#include "instruments/rcu/rcu_tables.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/figures.h"
#include "common/options.h"
#include "common/progress.h"
#include "engine/text_table.h"

#define REPLACE_ROUNDS 3u

static const char *const way_names[BENCH_GP_WAYS] = {
	[BENCH_GP_CALL] = "call",
	[BENCH_GP_FREE] = "free",
	[BENCH_GP_HELP] = "help",
	[BENCH_GP_PURE] = "pure",
	[BENCH_GP_DEFER] = "defer",
	[BENCH_GP_NOW] = "now",
};

/* One way of one scheme. */
struct replacement {
	const struct rcuscale_scheme *scheme;
	enum bench_gp_way way;
	double *ns, *cost, *cpu;
	struct bench_counted counted;
	uint32_t rounds;
	bool has_cost;
	uint64_t peak;
};

static bool scheme_has_way(const struct rcuscale_scheme *scheme, enum bench_gp_way way)
{
	return rcuscale_gp(scheme)->ways[way];
}

static size_t list_replacements(const struct rcuscale_settings *s, enum rcuscale_setup setup,
				uint32_t rounds, struct replacement *all)
{
	size_t i, count = 0;
	int way;

	for (i = 0; i < rcuscale_nr_schemes; i++) {
		for (way = 0; way < BENCH_GP_WAYS; way++) {
			if (!s->chosen[i] || !scheme_has_way(&rcuscale_schemes[i], (enum bench_gp_way)way))
				continue;
			/* Freed at once: no reader could stand it. */
			if (way == BENCH_GP_NOW && setup != SETUP_IDLE)
				continue;
			all[count] = (struct replacement){ .scheme = &rcuscale_schemes[i],
							   .way = (enum bench_gp_way)way };
			all[count].ns = options_alloc(rounds, sizeof(double));
			all[count].cost = options_alloc(rounds, sizeof(double));
			all[count].cpu = options_alloc(rounds, sizeof(double));
			count++;
		}
	}
	return count;
}

static void measure_replacement(const struct rcuscale_settings *s, enum rcuscale_setup setup,
				struct replacement *r)
{
	struct rcuscale_job job = {
		.what = WHAT_REPLACE, .setup = setup, .way = r->way, .most = s->objects
	};
	struct rcuscale_block block;

	rcuscale_run_scheme(r->scheme, &job, &block);
	r->ns[r->rounds] = block.replaced.ns;
	r->has_cost = block.count > 0;
	r->cost[r->rounds] = bench_stat_of(block.cost, block.count).median;
	r->cpu[r->rounds] = block.cpu_ns;
	r->peak = block.replaced.peak > r->peak ? block.replaced.peak : r->peak;
	rcuscale_add_counted(&r->counted, &block.counted);
	r->rounds++;
	free(block.cost);
}

static void replacement_row(struct bench_table *t, struct replacement *r, enum rcuscale_setup setup,
			    struct jsonout *json)
{
	struct bench_stat ns = bench_stat_of(r->ns, r->rounds);
	struct bench_stat cost = bench_stat_of(r->cost, r->has_cost ? r->rounds : 0);
	struct bench_stat cpu = bench_stat_of(r->cpu, r->has_cost ? r->rounds : 0);
	json_t *row = jsonout_stat(json, r->scheme->name, setup == SETUP_IDLE ? 1 : 2,
				   rcuscale_metric(WHAT_REPLACE, way_names[r->way], setup), "ns", &ns);

	jsonout_set(row, "peak_objects", json_integer((json_int_t)r->peak));
	jsonout_set(row, "retire_ns", r->has_cost ? json_real(cost.median) : json_null());
	jsonout_set(row, "retire_cpu_ns", r->has_cost ? json_real(cpu.median) : json_null());
	rcuscale_counted_json(row, &r->counted);
	bench_cell(t, "%s", r->scheme->name);
	bench_cell(t, "%s", r->way == BENCH_GP_NOW ? "-" : way_names[r->way]);
	bench_cell_stat(t, &ns);
	bench_cell(t, "%llu", (unsigned long long)r->peak);
	bench_cell_stat(t, &cost);
	bench_cell_stat(t, &cpu);
	rcuscale_counted_cells(t, &r->counted);
}

void rcuscale_replace_table(const struct rcuscale_settings *s, enum rcuscale_setup setup, struct jsonout *json)
{
	uint32_t rounds = s->rounds ? s->rounds : REPLACE_ROUNDS, round;
	struct replacement all[RCUSCALE_SCHEMES_MAX * BENCH_GP_WAYS];
	size_t count = list_replacements(s, setup, rounds, all), i;
	struct bench_table *t;

	for (round = 0; round < rounds; round++)
		for (i = 0; i < count; i++) {
			bench_progress("rcuscale: replacing, %s, %s, round %u of %u",
				       rcuscale_setup_what[setup], all[i].scheme->name, round + 1, rounds);
			measure_replacement(s, setup, &all[i]);
		}
	bench_progress_clear();
	printf("\n%s, %u of them: %s; ns per object\n", rcuscale_titles[WHAT_REPLACE], s->objects,
	       rcuscale_setup_what[setup]);
	t = rcuscale_table_new("scheme|by|until all are freed|deferred at peak|the call "
			    "alone|processor time of it all");
	for (i = 0; i < count; i++) {
		replacement_row(t, &all[i], setup, json);
		free(all[i].ns);
		free(all[i].cost);
		free(all[i].cpu);
	}
	bench_table_print(t);
}
