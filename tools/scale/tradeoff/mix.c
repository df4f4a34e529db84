/* SPDX-License-Identifier: MIT */
/*
 * lull tradeoff: the workload that was described, and the same with one thing changed at a time:
 * share of updates, hold, number of objects.
 */
#include <stdlib.h>

#include <lull/reclaim.h>

#include "common/figures.h"
#include "common/progress.h"
#include "engine/bench.h"
#include "scale/tradeoff/ways.h"

#define DRAIN_MS 10000
#define HOLD_BESIDE_NS 10000000.0 /* longer ones than that only where they were asked for */
#define OBJECTS_BESIDE 200000

struct mix_case {
	struct tradeoff_mix mix;
	const struct tradeoff_scheme *scheme;
	struct bench_stat *ns;
	double *waiting;
};

/* ---- points ---------------------------------------------------------------------------------- */

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorted, each once. */
static void set_points(struct tradeoff *t, enum choose_axis axis, double *value, size_t count,
		       double own)
{
	size_t i, n = 0;

	value[count++] = own;
	qsort(value, count, sizeof(*value), compare_double);
	for (i = 0; i < count; i++)
		if (!n || value[i] != t->value[axis][n - 1])
			t->value[axis][n++] = value[i];
	t->values[axis] = n;
	for (i = 0; i < n; i++)
		if (t->value[axis][i] == own)
			t->at[axis] = i;
}

void tradeoff_points(struct tradeoff_run *run)
{
	const struct workload *w = &run->work;
	double updates[CHOOSE_POINTS_MAX] = { 0, 0.01, 0.1, 0.5, 1 };
	double hold[CHOOSE_POINTS_MAX] = { 0 }, objects[CHOOSE_POINTS_MAX] = { 1 };
	double step = w->hold_ns > 0 ? w->hold_ns : 1000;
	size_t holds = 1, counts = 1, divide;

	set_points(run->result, CHOOSE_UPDATES, updates, 5, w->updates);
	hold[holds++] = step / 10;
	if (step != w->hold_ns)
		hold[holds++] = step;
	if (step * 10 <= HOLD_BESIDE_NS)
		hold[holds++] = step * 10;
	set_points(run->result, CHOOSE_HOLD, hold, holds, w->hold_ns);
	for (divide = 100; divide > 1; divide /= 10)
		if (w->objects / divide > 1)
			objects[counts++] = (double)(w->objects / divide);
	if (w->objects * 10 <= OBJECTS_BESIDE && w->objects * 10 <= workload_room(w))
		objects[counts++] = (double)w->objects * 10;
	set_points(run->result, CHOOSE_OBJECTS, objects, counts, (double)w->objects);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static uint64_t body(struct bench_thread *t, void *arg, uint64_t n)
{
	const struct mix_case *c = arg;

	return c->scheme->mix(&c->mix, &t->rng, n);
}

/* What the case before has left must not be freed at this one's expense. */
static void before(void *arg, unsigned threads)
{
	(void)arg;
	(void)threads;
	lull_reclaim_drain(DRAIN_MS);
	lull_reclaim_reset_peak();
}

static void after(void *arg, unsigned threads, uint64_t ops, uint64_t ns)
{
	struct mix_case *c = arg;
	struct lull_reclaim_counts counts;

	(void)threads;
	(void)ops;
	(void)ns;
	lull_reclaim_stats(&counts);
	if ((double)counts.peak_bytes > *c->waiting)
		*c->waiting = (double)counts.peak_bytes;
}

/* Points that have the same objects and the same hold; the schemes take turns at each. */
struct group {
	struct mix_case mix[TRADEOFF_SCHEMES * CHOOSE_POINTS_MAX];
	struct bench_case bench[TRADEOFF_SCHEMES * CHOOSE_POINTS_MAX];
	struct bench_result result[TRADEOFF_SCHEMES * CHOOSE_POINTS_MAX];
	size_t count;
};

static void add_point(struct tradeoff_run *run, struct group *g,
		      struct tradeoff_cell *const *cell, size_t objects, enum choose_axis axis,
		      size_t point)
{
	struct tradeoff *t = run->result;
	double updates = axis == CHOOSE_UPDATES ? t->value[axis][point] : run->work.updates;
	double hold = axis == CHOOSE_HOLD ? t->value[axis][point] : run->work.hold_ns;
	size_t i;

	for (i = 0; i < TRADEOFF_SCHEMES; i++) {
		if (!run->chosen[i])
			continue;
		t->scheme[i].mix_waiting[axis][point] = 0;
		g->mix[g->count] = (struct mix_case){
			.mix = { .cell = cell[i],
				 .objects = (uint32_t)objects,
				 .size = run->work.size,
				 .below = (uint64_t)(updates * 4294967296.0),
				 .hold_ns = hold,
				 .block = run->work.block },
			.scheme = tradeoff_schemes[i],
			.ns = &t->scheme[i].mix[axis][point],
			.waiting = &t->scheme[i].mix_waiting[axis][point],
		};
		g->bench[g->count] = (struct bench_case){
			.name = tradeoff_schemes[i]->name,
			.arg = &g->mix[g->count],
			.body = body,
			.before = before,
			.after = after,
		};
		g->count++;
	}
}

static void measure_group(struct tradeoff_run *run, struct bench_pool *pool, struct group *g,
			  double hold, double seconds)
{
	struct bench_plan plan =
		bench_plan_for(run->result->mix_threads, run->runs, seconds, g->count);
	size_t i;

	plan.label = "tradeoff: your workload";
	if ((double)plan.slice_ns < 4 * hold) {
		plan.slice_ns = (uint64_t)(4 * hold);
		plan.slices = 1;
		plan.redo = 0;
	}
	bench_measure(pool, &plan, g->bench, g->count, g->result);
	for (i = 0; i < g->count; i++)
		*g->mix[i].ns = g->result[i].ns;
	g->count = 0;
}

/* ---- tables of objects ----------------------------------------------------------------------- */

static void make_objects(const struct tradeoff_run *run, struct tradeoff_cell **cell, size_t count)
{
	size_t i, j;

	for (i = 0; i < TRADEOFF_SCHEMES; i++) {
		if (!run->chosen[i])
			continue;
		bench_progress("tradeoff: %zu objects of %s", count, tradeoff_schemes[i]->name);
		cell[i] = options_alloc(count, sizeof(*cell[i]));
		for (j = 0; j < count; j++)
			cell[i][j].object = tradeoff_schemes[i]->make(run->work.size);
	}
	bench_progress_clear();
}

static void free_objects(const struct tradeoff_run *run, struct tradeoff_cell **cell, size_t count)
{
	size_t i, j;

	for (i = 0; i < TRADEOFF_SCHEMES; i++) {
		if (!run->chosen[i])
			continue;
		for (j = 0; j < count; j++)
			tradeoff_schemes[i]->unmake(cell[i][j].object);
		free(cell[i]);
	}
}

/* Of the workload's own objects: all shares of updates, then the other holds. */
static void measure_own(struct tradeoff_run *run, struct bench_pool *pool, struct group *g,
			struct tradeoff_cell *const *cell, double seconds)
{
	const struct tradeoff *t = run->result;
	size_t i;

	for (i = 0; i < t->values[CHOOSE_UPDATES]; i++)
		add_point(run, g, cell, run->work.objects, CHOOSE_UPDATES, i);
	measure_group(run, pool, g, run->work.hold_ns,
		      seconds * (double)t->values[CHOOSE_UPDATES]);
	for (i = 0; i < t->values[CHOOSE_HOLD]; i++) {
		if (i == t->at[CHOOSE_HOLD])
			continue;
		add_point(run, g, cell, run->work.objects, CHOOSE_HOLD, i);
		measure_group(run, pool, g, t->value[CHOOSE_HOLD][i], seconds);
	}
}

/* The workload itself is a point of each axis; it was measured once. */
static void copy_own(struct tradeoff *t)
{
	size_t i, axis, from = t->at[CHOOSE_UPDATES];

	for (i = 0; i < TRADEOFF_SCHEMES; i++)
		for (axis = CHOOSE_UPDATES + 1; axis < CHOOSE_AXES; axis++) {
			struct tradeoff_result *s = &t->scheme[i];

			s->mix[axis][t->at[axis]] = s->mix[CHOOSE_UPDATES][from];
			s->mix_waiting[axis][t->at[axis]] = s->mix_waiting[CHOOSE_UPDATES][from];
		}
}

void tradeoff_measure_mix(struct tradeoff_run *run)
{
	struct tradeoff *t = run->result;
	struct bench_pool *pool = bench_pool_new(t->mix_threads);
	struct tradeoff_cell *cell[TRADEOFF_SCHEMES];
	struct group *g = options_alloc(1, sizeof(*g));
	double points = (double)(t->values[CHOOSE_UPDATES] + t->values[CHOOSE_HOLD] +
				 t->values[CHOOSE_OBJECTS] - 2);
	size_t i, count;

	for (i = 0; i < t->values[CHOOSE_OBJECTS]; i++) {
		count = (size_t)t->value[CHOOSE_OBJECTS][i];
		make_objects(run, cell, count);
		if (i == t->at[CHOOSE_OBJECTS]) {
			measure_own(run, pool, g, cell, run->seconds / points);
		} else {
			add_point(run, g, cell, count, CHOOSE_OBJECTS, i);
			measure_group(run, pool, g, run->work.hold_ns, run->seconds / points);
		}
		free_objects(run, cell, count);
	}
	copy_own(t);
	free(g);
	bench_pool_free(pool);
}
