/* SPDX-License-Identifier: MIT */
/*
 * lull mutexscale --matrix: sections of many kinds, each with and without as many hogs as there
 * are processors. No lock is the best in all of them; what is asked here is how far behind each
 * falls. And threads in a crowd, against a few.
 */
#include "instruments/mutex/mutexscale.h"

#include <math.h>
#include <stdlib.h>

#include "common/cpus.h"
#include "common/figures.h"
#include "common/options.h"
#include "engine/budget.h"
#include "engine/text_table.h"
#include "common/units.h"

#define OUTSIDE 4 /* sections, at most */
#define FEW 2u /* threads per CPU */
#define CROWD 16u

static const struct mutexscale_cell shapes[] = {
	{ .name = "plain", .section = 100 },
	{ .name = "plain", .section = 1000 },
	{ .name = "plain", .section = 5000 },
	{ .name = "5 % longer", .section = 1000, .longer = 50e3, .longer_share = 0.05 },
	{ .name = "1 % sleep 100 us", .section = 1000, .sleep = 100e3, .sleep_share = 0.01 },
	{ .name = "0.5 % sleep 1 ms", .section = 1000, .sleep = 1e6, .sleep_share = 0.005 },
};

#define NR_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* Those that were measured. */
struct matrix {
	const struct mutexscale *m;
	struct mutexscale_cell *cells;
	struct mutexscale_result *results; /* of all locks in the first cell, then in the next */
	size_t count;
};

/* ---- tables ---------------------------------------------------------------------------------- */

/* Against what a lock's figure is held: one lock's, or (NULL) the largest there is. */
struct view {
	const char *title;
	enum mutexscale_figure figure;
	const char *base;
	bool more_is_better;
	bool sleepers; /* only where owners sleep */
};

static const struct view views[] = {
	{ "throughput, of the best lock", FIGURE_RATE, NULL, true, false },
	{ "throughput, x pthread", FIGURE_RATE, "pthread", true, false },
	{ "mean wait, x pthread", FIGURE_WAIT, "pthread", false, false },
	{ "p99.9 wait, x pthread-adaptive", FIGURE_P999, "pthread-adaptive", false,
	  false },
	{ "processor time per section, x pthread", FIGURE_CPU, "pthread", false, false },
	{ "processor time per section where owners sleep, x spin-park", FIGURE_CPU,
	  "spin-park", false, true },
};

static double median(const struct matrix *x, size_t cell, size_t lock,
		     enum mutexscale_figure figure)
{
	return x->results[cell * x->m->count + lock].stat[figure].median;
}

static double best_of(const struct matrix *x, size_t cell, enum mutexscale_figure figure)
{
	double best = 0;
	size_t i;

	for (i = 0; i < x->m->count; i++)
		best = fmax(best, median(x, cell, i, figure));
	return best;
}

static double ratio(const struct matrix *x, const struct view *v, size_t cell, size_t lock)
{
	double base = v->base ? median(x, cell, mutexscale_find(x->m, v->base), v->figure) :
				best_of(x, cell, v->figure);

	return median(x, cell, lock, v->figure) / fmax(base, 1e-3);
}

static bool shown(const struct view *v, const struct mutexscale_cell *c)
{
	return !v->sleepers || c->sleep_share > 0;
}

/* Below the cells: what they come to, and the worst of them. */
static void summary(struct bench_table *table, const struct matrix *x, const struct view *v)
{
	double mean[MUTEXSCALE_LOCKS], worst[MUTEXSCALE_LOCKS];
	size_t cell, i;

	for (i = 0; i < x->m->count; i++) {
		double logs = 0, n = 0;

		worst[i] = v->more_is_better ? HUGE_VAL : 0;
		for (cell = 0; cell < x->count; cell++) {
			double r = ratio(x, v, cell, i);

			if (!shown(v, &x->cells[cell]))
				continue;
			logs += log(r);
			n++;
			worst[i] = v->more_is_better ? fmin(worst[i], r) : fmax(worst[i], r);
		}
		mean[i] = exp(logs / n);
	}
	bench_cell(table, "geometric mean");
	for (i = 0; i < x->m->count; i++)
		bench_cell(table, "%.2f", mean[i]);
	bench_cell(table, "worst");
	for (i = 0; i < x->m->count; i++)
		bench_cell(table, "%.2f", worst[i]);
}

static struct bench_table *table_of_locks(const struct mutexscale *m)
{
	char *header = options_printf("sections");
	struct bench_table *table;
	size_t i;

	for (i = 0; i < m->count; i++) {
		char *longer = options_printf("%s|%s", header, m->locks[i]->name);

		free(header);
		header = longer;
	}
	table = bench_table_new(header);
	free(header);
	return table;
}

static void print_view(const struct matrix *x, const struct view *v)
{
	struct bench_table *table;
	bool any = false;
	size_t cell, i;

	for (cell = 0; cell < x->count; cell++)
		any |= shown(v, &x->cells[cell]);
	if (!any || (v->base && mutexscale_find(x->m, v->base) == x->m->count))
		return;
	printf("\n%s\n", v->title);
	table = table_of_locks(x->m);
	for (cell = 0; cell < x->count; cell++) {
		const struct mutexscale_cell *c = &x->cells[cell];

		if (!shown(v, c))
			continue;
		bench_cell(table, "%s, %s, %u threads%s", c->name, units_time(c->section).text, c->threads,
			   c->hogs ? ", hogs" : "");
		for (i = 0; i < x->m->count; i++)
			bench_cell(table, "%.2f", ratio(x, v, cell, i));
	}
	summary(table, x, v);
	bench_table_print(table);
}

/* ---- the run --------------------------------------------------------------------------------- */

static bool measure_cell(const struct matrix *x, const struct mutexscale_cell *cell,
			 struct mutexscale_result *results)
{
	bool measured = mutexscale_measure(x->m, cell, results);

	if (measured)
		mutexscale_json(x->m, cell, results);
	return measured;
}

static void measure_cells(struct matrix *x)
{
	const struct options *opt = x->m->opt;
	size_t shape, i, hogs;

	for (shape = 0; shape < NR_SHAPES; shape++)
		for (i = 0; i < opt->nr_threads; i++)
			for (hogs = 0; hogs < 2; hogs++) {
				struct mutexscale_cell *c = &x->cells[x->count];

				*c = shapes[shape];
				c->outside = OUTSIDE * c->section;
				c->threads = opt->threads[i];
				c->hogs = hogs ? bench_cpus() : 0;
				x->count += measure_cell(x, c, &x->results[x->count * x->m->count]);
			}
}

/* Nothing more gets done when more threads want to do it; how much less? */
static void measure_crowd(const struct matrix *x)
{
	struct mutexscale_cell few = { .name = "crowd",
				       .section = 1000,
				       .outside = OUTSIDE * 1000,
				       .threads = FEW * bench_cpus() };
	struct mutexscale_result results[2][MUTEXSCALE_LOCKS];
	struct mutexscale_cell crowd = few;
	struct bench_table *table;
	bool both;
	size_t i;

	crowd.threads = CROWD * bench_cpus();
	both = measure_cell(x, &few, results[0]);
	both &= measure_cell(x, &crowd, results[1]);
	if (!both)
		return;
	printf("\na crowd: sections of 1 us, thousand/s\n");
	table = bench_table_new("lock|2 threads per CPU|16 per CPU|ratio|longest wait ms|Jain");
	for (i = 0; i < x->m->count; i++) {
		const struct bench_stat *at = results[0][i].stat, *to = results[1][i].stat;
		struct bench_stat before = bench_stat_scale(at[FIGURE_RATE], 1e-3),
				  after = bench_stat_scale(to[FIGURE_RATE], 1e-3);

		bench_cell(table, "%s", x->m->locks[i]->name);
		bench_cell_stat(table, &before);
		bench_cell_stat(table, &after);
		bench_cell_ratio(table, &after, &before);
		bench_cell(table, "%.1f", to[FIGURE_MAX].median / 1e6);
		bench_cell(table, "%.2f", to[FIGURE_JAIN].median);
	}
	bench_table_print(table);
	mutexscale_print_disturbed(results[1], x->m->count);
}

void mutexscale_matrix(const struct mutexscale *m, double standard)
{
	size_t cells = NR_SHAPES * m->opt->nr_threads * 2, i;
	struct matrix x = { .m = m,
			    .cells = options_alloc(cells, sizeof(*x.cells)),
			    .results = options_alloc(cells * m->count, sizeof(*x.results)) };

	budget_begin(m->opt, standard, (double)cells + 2);
	measure_cells(&x);
	puts("up to 4 sections' time between two sections; hogs: as many other processes as CPUs burn processor time");
	mutexscale_print_disturbed(x.results, x.count * m->count);
	for (i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		print_view(&x, &views[i]);
	measure_crowd(&x);
	free(x.results);
	free(x.cells);
}
