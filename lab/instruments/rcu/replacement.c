/* SPDX-License-Identifier: MIT */
/* lull rcuscale: what replacing objects costs end to end; see rcu_tables.h. */
#include "instruments/rcu/rcu_tables.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/figures.h"
#include "common/options.h"
#include "engine/budget.h"
#include "engine/text_table.h"

#define REPLACE_ROUNDS 3u
/* Of a replacement, about, with what comes before and after; most ways wait where a reader is stuck. */
#define OBJECT_SECONDS 300e-9
#define STUCK_SECONDS 40e-6
#define OBJECTS_MIN 1000u

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
	struct rcuscale_job job;
	char name[48];
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
			all[count] = (struct replacement){ .scheme = &rcuscale_schemes[i] };
			all[count].job = (struct rcuscale_job){ .what = WHAT_REPLACE, .setup = setup,
								.way = (enum bench_gp_way)way };
			snprintf(all[count].name, sizeof(all[count].name), "%s %s", rcuscale_schemes[i].name,
				 way_names[way]);
			all[count].ns = options_alloc(rounds, sizeof(double));
			all[count].cost = options_alloc(rounds, sizeof(double));
			all[count].cpu = options_alloc(rounds, sizeof(double));
			count++;
		}
	}
	return count;
}

static const char *replacement_name(const void *rows, size_t i)
{
	return ((const struct replacement *)rows)[i].name;
}

static void run_block(void *rows, size_t i, uint64_t budget_ns)
{
	struct replacement *r = (struct replacement *)rows + i;
	struct rcuscale_block block;

	(void)budget_ns; /* it is in the number of objects */
	rcuscale_run_scheme(r->scheme, &r->job, &block);
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
				   rcuscale_metric(WHAT_REPLACE, way_names[r->job.way], setup), "ns", &ns);

	jsonout_set(row, "objects", json_integer(r->job.most));
	jsonout_set(row, "peak_objects", json_integer((json_int_t)r->peak));
	jsonout_set(row, "retire_ns", r->has_cost ? json_real(cost.median) : json_null());
	jsonout_set(row, "retire_cpu_ns", r->has_cost ? json_real(cpu.median) : json_null());
	rcuscale_counted_json(row, &r->counted);
	bench_cell(t, "%s", r->scheme->name);
	bench_cell(t, "%s", r->job.way == BENCH_GP_NOW ? "-" : way_names[r->job.way]);
	bench_cell_stat(t, &ns);
	bench_cell(t, "%llu", (unsigned long long)r->peak);
	bench_cell_stat(t, &cost);
	bench_cell_stat(t, &cpu);
	rcuscale_counted_cells(t, &r->counted);
}

/* With little time there are fewer rounds, and then fewer objects, as many for all. */
static uint32_t objects_in(const struct rcuscale_settings *s, enum rcuscale_setup setup, double seconds, size_t count,
			   uint32_t *rounds)
{
	double objects = seconds / ((double)count * (setup == SETUP_STUCK ? STUCK_SECONDS : OBJECT_SECONDS));

	if (budget_is_short())
		return s->objects;
	while (*rounds > 1 && objects / *rounds < s->objects)
		--*rounds;
	objects = objects > OBJECTS_MIN ? objects : OBJECTS_MIN;
	return objects < s->objects ? (uint32_t)objects : s->objects;
}

void rcuscale_replace_table(const struct rcuscale_settings *s, enum rcuscale_setup setup, double seconds,
			    struct jsonout *json)
{
	uint32_t rounds = s->rounds_given ? s->rounds : REPLACE_ROUNDS, objects;
	struct replacement all[RCUSCALE_SCHEMES_MAX * BENCH_GP_WAYS];
	size_t count = list_replacements(s, setup, rounds, all), i;
	char *title = options_printf("%s: %s", rcuscale_titles[WHAT_REPLACE], rcuscale_setup_what[setup]);
	struct bench_table *t;

	objects = objects_in(s, setup, seconds, count, &rounds);
	if (objects < s->objects)
		budget_leave_out("%u of %u objects of %s", s->objects - objects, s->objects, title);
	for (i = 0; i < count; i++)
		all[i].job.most = objects;
	rcuscale_rounds(&(struct rcuscale_rounds){ title, rounds, count, seconds, all, replacement_name, run_block });
	printf("\n%s, %u of them: %s; ns per object\n", rcuscale_titles[WHAT_REPLACE], objects,
	       rcuscale_setup_what[setup]);
	t = rcuscale_table_new("scheme|by|until all are freed|deferred at peak|the call "
			    "alone|processor time of it all");
	for (i = 0; i < count; i++) {
		if (all[i].rounds)
			replacement_row(t, &all[i], setup, json);
		free(all[i].ns);
		free(all[i].cost);
		free(all[i].cpu);
	}
	bench_table_print(t);
	free(title);
}
