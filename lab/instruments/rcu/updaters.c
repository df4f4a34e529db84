/* SPDX-License-Identifier: MIT */
/* lull rcuscale: several threads that do nothing but replace, each in a place of its own; see rcuscale.h. */
#include "instruments/rcu/rcu_tables.h"

#include <stdlib.h>

#include "common/options.h"
#include "engine/budget.h"
#include "engine/text_table.h"
#include "common/bench.h"

#define SLICE_NS 20000000u /* twice the time that liburcu's worker sleeps */
#define WARM_NS 2000000u

struct updating {
	const struct rcuscale_scheme *scheme;
	enum bench_gp_way way;
};

static void enter(struct bench_thread *t, void *arg)
{
	(void)t;
	((struct updating *)arg)->scheme->gp->thread_enter();
}

static uint64_t body(struct bench_thread *t, void *arg, uint64_t n)
{
	const struct updating *u = arg;

	(void)t;
	u->scheme->gp->replace_own(u->way, n);
	return n;
}

static void leave(struct bench_thread *t, void *arg)
{
	(void)t;
	((struct updating *)arg)->scheme->gp->thread_leave();
}

/* Free what one scheme has left before the next one's time begins. */
static void settle(void *arg, unsigned threads, uint64_t ops, uint64_t ns)
{
	const struct bench_gp_scheme *gp = ((struct updating *)arg)->scheme->gp;
	uint64_t took;

	(void)threads;
	(void)ops;
	(void)ns;
	if (!gp->barrier)
		return;
	gp->thread_enter();
	gp->barrier(&took, 1, UINT64_MAX, 0);
	gp->thread_leave();
}

static size_t list_ways(const struct rcuscale_scheme *const *schemes, struct updating *all, struct bench_case *cases)
{
	static const enum bench_gp_way ways[] = { BENCH_GP_CALL, BENCH_GP_FREE, BENCH_GP_NOW };
	size_t count = 0, i;

	for (; *schemes; schemes++)
		for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
			if (!(*schemes)->gp->ways[ways[i]])
				continue;
			all[count] = (struct updating){ *schemes, ways[i] };
			cases[count] = (struct bench_case){ .name = (*schemes)->name,
							    .arg = &all[count],
							    .enter = enter,
							    .body = body,
							    .leave = leave,
							    .after = settle };
			count++;
		}
	return count;
}

static void print_rows(const struct updating *all, const struct bench_result *results, size_t count, unsigned threads,
		       struct jsonout *json)
{
	struct bench_table *t = bench_table_new("scheme|by|Mops/s, all threads|ns of a thread's time");
	size_t i;

	for (i = 0; i < count; i++) {
		const struct bench_result *r = &results[i];
		const char *by = all[i].way == BENCH_GP_NOW ? "now" : all[i].way == BENCH_GP_FREE ? "free" : "call";
		char metric[32];
		json_t *row;

		snprintf(metric, sizeof(metric), "updaters_%s", by);
		row = jsonout_stat(json, all[i].scheme->name, threads, metric, "Mops", &r->mops);
		jsonout_set(row, "ns", json_real(r->ns.median));
		jsonout_set(row, "cycles", r->cycles.count ? json_real(r->cycles.median) : json_null());
		jsonout_set(row, "instructions", r->instructions.count ? json_real(r->instructions.median) : json_null());
		bench_cell(t, "%s", all[i].scheme->name);
		bench_cell(t, "%s", by);
		bench_cell_stat(t, &r->mops);
		bench_cell_stat(t, &r->ns);
	}
	bench_table_print(t);
}

void rcuscale_updaters(const struct rcuscale_scheme *const *schemes, const struct options *opt, struct jsonout *json)
{
	struct bench_plan plan = { .slices = 1, .slice_ns = SLICE_NS, .warm_ns = WARM_NS, .label = "rcuscale, updaters" };
	size_t most = RCUSCALE_SCHEMES_MAX * BENCH_GP_WAYS, count, i;
	struct updating *all = options_alloc(most, sizeof(*all));
	struct bench_case *cases = options_alloc(most, sizeof(*cases));
	struct bench_result *results = options_alloc(most, sizeof(*results));
	struct bench_pool *pool = bench_pool_new(options_most_threads(opt));
	double slice, seconds;
	char name[32];

	count = list_ways(schemes, all, cases);
	slice = (SLICE_NS + WARM_NS) * 1e-9 * (double)count;
	for (i = 0; i < opt->nr_threads; i++) {
		plan.threads = opt->threads[i];
		snprintf(name, sizeof(name), "%u updater%s", plan.threads, plan.threads == 1 ? "" : "s");
		seconds = budget_next(1, 2 * slice, name);
		if (seconds <= 0)
			continue;
		plan.runs = seconds < 2 * slice ? 1 : (unsigned)(seconds / slice) - 1; /* one does not count */
		plan.runs = opt->runs && opt->runs < plan.runs ? opt->runs : plan.runs;
		plan.most_ns = budget_most_ns(seconds);
		bench_measure(pool, &plan, cases, count, results);
		budget_runs(results[0].runs, name);
		printf("\n%u thread%s, each replaces 64-byte objects in a place of its own\n", plan.threads,
		       plan.threads == 1 ? "" : "s");
		print_rows(all, results, count, plan.threads, json);
	}
	bench_pool_free(pool);
	free(all);
	free(cases);
	free(results);
}
