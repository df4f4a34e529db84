/* SPDX-License-Identifier: MIT */
/*
 * lull tradeoff: the workload that was described, and the same with one thing changed at a time:
 * share of updates, hold, number of objects.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lull/reclaim.h>

#include "common/figures.h"
#include "common/progress.h"
#include "common/bench.h"
#include "common/units.h"
#include "engine/budget.h"
#include "instruments/tradeoff/ways.h"

#define DRAIN_MS 10000
#define HOLD_BESIDE_NS 10000000.0 /* longer ones than that only where they were asked for */
#define OBJECTS_BESIDE 200000

#define ROUNDS 7      /* or fewer, as many as tell how the figures scatter, where there is no time for so many */
#define SLICES 3      /* in a round of the workload itself, at most */
#define SETTLED 0.02  /* a ratio is known when it is known to so much in either direction */
#define FAR_BEHIND 1.3

struct mix_case {
	struct tradeoff_mix mix;
	const struct tradeoff_scheme *scheme;
	struct tradeoff_point *point;
};

/* ---- points ---------------------------------------------------------------------------------- */

/* Sorted, each once. */
static void set_points(struct tradeoff *t, enum choose_axis axis, double *value, size_t count,
		       double own)
{
	size_t i, n = 0;

	value[count++] = own;
	qsort(value, count, sizeof(*value), choose_compare);
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

/* Free what the case before has left, so that this case does not pay for it. */
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
	if ((double)counts.peak_bytes > c->point->waiting)
		c->point->waiting = (double)counts.peak_bytes;
}

/* A point at a time; the schemes take turns at it. */
struct group {
	struct mix_case mix[TRADEOFF_SCHEMES];
	struct bench_case bench[TRADEOFF_SCHEMES];
	struct bench_result result[TRADEOFF_SCHEMES];
	size_t count;
	struct tradeoff_cell *cell[TRADEOFF_SCHEMES];
	size_t objects; /* in each */
	struct bench_pool *pool;
	struct budget budget;
	uint64_t begin;
	double rest; /* shares of the time that are still to come */
};

static double hold_at(const struct tradeoff_run *run, enum choose_axis axis, size_t point)
{
	return axis == CHOOSE_HOLD ? run->result->value[axis][point] : run->work.hold_ns;
}

static void set_point(struct tradeoff_run *run, struct group *g, enum choose_axis axis, size_t point)
{
	struct tradeoff *t = run->result;
	double updates = axis == CHOOSE_UPDATES ? t->value[axis][point] : run->work.updates;
	size_t i;

	g->count = 0;

	for (i = 0; i < TRADEOFF_SCHEMES; i++) {
		if (!run->chosen[i])
			continue;
		g->mix[g->count] = (struct mix_case){
			.mix = { .cell = g->cell[i],
				 .objects = (uint32_t)g->objects,
				 .size = run->work.size,
				 .below = (uint64_t)(updates * 4294967296.0),
				 .hold_ns = hold_at(run, axis, point),
				 .block = run->work.block },
			.scheme = tradeoff_schemes[i],
			.point = &t->scheme[i].mix[axis][point],
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

/* Every way's figure against the fastest is known well, or it is far behind whatever it is. */
static bool is_settled(const struct group *g)
{
	size_t fastest = 0, i;

	for (i = 1; i < g->count; i++)
		if (g->mix[i].point->ns.median < g->mix[fastest].point->ns.median)
			fastest = i;
	for (i = 0; i < g->count; i++) {
		struct choose_ratio r = choose_ratio(&g->mix[i].point->rounds,
						     &g->mix[fastest].point->rounds);

		if (r.low < FAR_BEHIND && r.high - r.low > 2 * SETTLED * r.median)
			return false;
	}
	return true;
}

static void add_round(struct group *g)
{
	size_t i;

	for (i = 0; i < g->count; i++)
		tradeoff_add_round(g->mix[i].point, g->result[i].ns.median);
}

/* Return how many rounds a point has in any case. */
static unsigned least_rounds(const struct tradeoff_run *run)
{
	return run->rounds && run->rounds < CHOOSE_ROUNDS_LEAST ? run->rounds : CHOOSE_ROUNDS_LEAST;
}

/* Slices have room for a few holds. */
static struct bench_plan plan_for(const struct tradeoff_run *run, double hold, double seconds, size_t count)
{
	struct bench_plan plan = bench_plan_for(run->result->mix_threads, 1, seconds, count);

	plan.label = "tradeoff: your workload";
	if ((double)plan.slice_ns < 4 * hold) {
		plan.slice_ns = (uint64_t)(4 * hold);
		plan.slices = 1;
		plan.redo = 0;
	}
	return plan;
}

/* Return the seconds that a point takes at least: in each round a slice that does not count, and one that does. */
static double least_seconds(const struct tradeoff_run *run, double hold)
{
	struct bench_plan plan = plan_for(run, hold, 0, 1);
	double slice = (double)plan.slice_ns / 1e9 + hold / 1e9, count = 0;
	size_t i;

	for (i = 0; i < TRADEOFF_SCHEMES; i++)
		count += run->chosen[i];
	return least_rounds(run) * fmax(bench_least_seconds(plan.threads, 1), 2 * slice) * count;
}

/*
 * Rounds of short slices in turn: as many as --runs says, else until there is nothing more to learn; no more than there
 * is time for, but as many as tell how the figures scatter.
 */
static void measure_point(struct tradeoff_run *run, struct group *g, enum choose_axis axis, size_t point, double seconds,
			  bool until_settled)
{
	unsigned most = run->rounds ? run->rounds : budget_is_short() ? CHOOSE_ROUNDS_LEAST : CHOOSE_ROUNDS_MAX;
	struct budget_rounds r = budget_rounds(seconds);
	struct bench_plan plan;

	set_point(run, g, axis, point);
	plan = plan_for(run, hold_at(run, axis, point), seconds / (run->rounds ? run->rounds : ROUNDS), g->count);
	if (until_settled && !run->rounds && plan.slices > SLICES)
		plan.slices = plan.redo = SLICES;
	while (budget_round(&r, least_rounds(run), most)) {
		bench_measure(g->pool, &plan, g->bench, g->count, g->result);
		add_round(g);
		if (!run->rounds && r.done >= ROUNDS && (!until_settled || is_settled(g)))
			break;
	}
}

/* ---- tables of objects ----------------------------------------------------------------------- */

static void make_objects(const struct tradeoff_run *run, struct group *g, size_t count)
{
	size_t i, j;

	g->objects = count;
	for (i = 0; i < TRADEOFF_SCHEMES; i++) {
		if (!run->chosen[i])
			continue;
		bench_progress("tradeoff: %zu objects of %s", count, tradeoff_schemes[i]->name);
		g->cell[i] = options_alloc(count, sizeof(*g->cell[i]));
		for (j = 0; j < count; j++)
			g->cell[i][j].object = tradeoff_schemes[i]->make(run->work.size);
	}
	bench_progress_clear();
}

static void free_objects(const struct tradeoff_run *run, struct group *g)
{
	size_t i, j;

	for (i = 0; i < TRADEOFF_SCHEMES; i++) {
		if (!run->chosen[i])
			continue;
		for (j = 0; j < g->objects; j++)
			tradeoff_schemes[i]->unmake(g->cell[i][j].object);
		free(g->cell[i]);
	}
}

/* Return the seconds for what has that share and is next; 0: it is left out. */
static double next(struct group *g, double share, double least)
{
	double gone = (double)(bench_now_ns() - g->begin) / 1e9;
	double seconds = budget_for(&g->budget, gone, share, g->rest, budget_is_short() ? 0 : least);

	g->rest -= share;
	return budget_is_short() ? fmax(seconds, 1e-9) : seconds;
}

/* Measure the other points of an axis: the objects are there, or they are made for each. */
static void measure_beside(struct tradeoff_run *run, struct group *g, enum choose_axis axis)
{
	const struct tradeoff *t = run->result;
	double seconds;
	size_t i;

	for (i = 0; i < t->values[axis]; i++) {
		if (i == t->at[axis])
			continue;
		seconds = next(g, 1, least_seconds(run, hold_at(run, axis, i)));
		if (seconds <= 0)
			continue;
		if (axis == CHOOSE_OBJECTS)
			make_objects(run, g, (size_t)t->value[axis][i]);
		measure_point(run, g, axis, i, seconds, false);
		if (axis == CHOOSE_OBJECTS)
			free_objects(run, g);
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
		}
}

static struct tradeoff_moment moment_now(void)
{
	return (struct tradeoff_moment){ bench_now_ns(), bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID),
				bench_idle_ns() };
}

/* The workload itself has half of the time, and comes first: what it takes to settle it is not there for the others. */
void tradeoff_measure_mix(struct tradeoff_run *run)
{
	struct tradeoff *t = run->result;
	struct group *g = options_alloc(1, sizeof(*g));
	struct tradeoff_moment begin = moment_now(), end;
	double beside = (double)(t->values[CHOOSE_UPDATES] + t->values[CHOOSE_HOLD] + t->values[CHOOSE_OBJECTS] - 3);

	g->pool = bench_pool_new(t->mix_threads);
	g->begin = begin.ns;
	g->budget.seconds = run->seconds;
	g->rest = 2 * beside;
	make_objects(run, g, run->work.objects);
	measure_point(run, g, CHOOSE_UPDATES, t->at[CHOOSE_UPDATES], next(g, beside, 0), true);
	measure_beside(run, g, CHOOSE_UPDATES);
	measure_beside(run, g, CHOOSE_HOLD);
	free_objects(run, g);
	measure_beside(run, g, CHOOSE_OBJECTS);
	copy_own(t);
	end = moment_now();
	t->others_cpus = tradeoff_others(&begin, &end, bench_cpus());
	bench_pool_free(g->pool);
	free(g);
}

/* ---- what there was time for ----------------------------------------------------------------- */

/* Return whether a point was measured; if not, or if it has fewer rounds than were asked for, say so. */
static bool was_measured(const struct tradeoff_run *run, enum choose_axis axis, size_t point)
{
	double value = run->result->value[axis][point];
	size_t rounds = 0, i;
	char name[64];

	if (axis == CHOOSE_UPDATES)
		snprintf(name, sizeof(name), "%.3g %% updates", 100 * value);
	else if (axis == CHOOSE_HOLD)
		snprintf(name, sizeof(name), "a hold of %s", units_time(value).text);
	else
		snprintf(name, sizeof(name), "%.0f object%s", value, value == 1 ? "" : "s");
	for (i = 0; i < TRADEOFF_SCHEMES; i++)
		if (run->chosen[i])
			rounds = run->result->scheme[i].mix[axis][point].rounds.count;
	if (!rounds)
		budget_leave_out("%s", name);
	else if (rounds < run->rounds && (axis == CHOOSE_UPDATES || point != run->result->at[axis]))
		budget_runs((unsigned)rounds, name);
	return rounds > 0;
}

void tradeoff_keep_measured(struct tradeoff_run *run)
{
	struct tradeoff *t = run->result;
	size_t axis, from, to, own, i;

	for (axis = 0; axis < CHOOSE_AXES; axis++) {
		own = t->at[axis];
		for (from = to = 0; from < t->values[axis]; from++) {
			if (!was_measured(run, (enum choose_axis)axis, from))
				continue;
			if (from == own)
				t->at[axis] = to;
			t->value[axis][to] = t->value[axis][from];
			for (i = 0; i < TRADEOFF_SCHEMES; i++)
				t->scheme[i].mix[axis][to] = t->scheme[i].mix[axis][from];
			to++;
		}
		t->values[axis] = to;
	}
}
