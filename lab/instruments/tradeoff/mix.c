/* SPDX-License-Identifier: MIT */
/*
 * lull tradeoff: the workload that was described, and the same with one thing changed at a time:
 * share of updates, hold, number of objects.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lull/reclaim.h>

#include "common/figures.h"
#include "common/progress.h"
#include "common/bench.h"
#include "instruments/tradeoff/ways.h"

#define DRAIN_MS 10000
#define HOLD_BESIDE_NS 10000000.0 /* longer ones than that only where they were asked for */
#define OBJECTS_BESIDE 200000

#define ROUNDS 7      /* at least */
#define SLICES 3      /* in a round of the workload itself */
#define SETTLED 0.02  /* a ratio is known when it is known to so much in either direction */
#define FAR_BEHIND 1.3
#define SHARE_OWN 0.5 /* of the time, at most, for the workload itself */

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
		t->scheme[i].mix[axis][point] = (struct tradeoff_point){ 0 };
		g->mix[g->count] = (struct mix_case){
			.mix = { .cell = cell[i],
				 .objects = (uint32_t)objects,
				 .size = run->work.size,
				 .below = (uint64_t)(updates * 4294967296.0),
				 .hold_ns = hold,
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

	for (i = 0; i < g->count; i++) {
		struct tradeoff_point *p = g->mix[i].point;
		double v[CHOOSE_ROUNDS_MAX];

		p->rounds.ns[p->rounds.count++] = g->result[i].ns.median;
		memcpy(v, p->rounds.ns, sizeof(v));
		p->ns = bench_stat_of(v, p->rounds.count);
	}
}

/*
 * Rounds of short slices in turn: as many as --runs says, else until there is nothing more to learn or no more time,
 * and then as few as tell how the figures scatter.
 */
static void measure_group(struct tradeoff_run *run, struct bench_pool *pool, struct group *g,
			  double hold, double seconds, bool until_settled)
{
	unsigned least = run->rounds ? run->rounds : ROUNDS;
	unsigned most = run->rounds ? run->rounds : CHOOSE_ROUNDS_MAX;
	struct bench_plan plan =
		bench_plan_for(run->result->mix_threads, 1, seconds / least, g->count);
	uint64_t end = bench_now_ns() + (uint64_t)(seconds * 1e9);
	unsigned done = 0;

	plan.label = "tradeoff: your workload";
	if ((double)plan.slice_ns < 4 * hold) {
		plan.slice_ns = (uint64_t)(4 * hold);
		plan.slices = 1;
		plan.redo = 0;
	} else if (until_settled && !run->rounds) {
		plan.slices = plan.redo = SLICES;
	}
	while (done < most) {
		bench_measure(pool, &plan, g->bench, g->count, g->result);
		add_round(g);
		done++;
		if (run->rounds)
			continue;
		if (done >= least && (!until_settled || is_settled(g)))
			break;
		if (done >= CHOOSE_ROUNDS_LEAST && bench_now_ns() >= end)
			break;
	}
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

/* The workload itself first: what it takes to settle it is not there for the points around it. */
static void measure_own(struct tradeoff_run *run, struct bench_pool *pool, struct group *g,
			struct tradeoff_cell *const *cell, double seconds)
{
	const struct tradeoff *t = run->result;

	add_point(run, g, cell, run->work.objects, CHOOSE_UPDATES, t->at[CHOOSE_UPDATES]);
	measure_group(run, pool, g, run->work.hold_ns, seconds, true);
}

/* Measure the workload's own objects with the other shares of updates, then with the other holds. */
static void measure_beside(struct tradeoff_run *run, struct bench_pool *pool, struct group *g,
			   struct tradeoff_cell *const *cell, double seconds)
{
	const struct tradeoff *t = run->result;
	size_t i;

	for (i = 0; i < t->values[CHOOSE_UPDATES]; i++)
		if (i != t->at[CHOOSE_UPDATES])
			add_point(run, g, cell, run->work.objects, CHOOSE_UPDATES, i);
	measure_group(run, pool, g, run->work.hold_ns,
		      seconds * (double)(t->values[CHOOSE_UPDATES] - 1), false);
	for (i = 0; i < t->values[CHOOSE_HOLD]; i++) {
		if (i == t->at[CHOOSE_HOLD])
			continue;
		add_point(run, g, cell, run->work.objects, CHOOSE_HOLD, i);
		measure_group(run, pool, g, t->value[CHOOSE_HOLD][i], seconds, false);
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

/* Seconds from now to @end, shared by @points. */
static double share(uint64_t end, double points)
{
	uint64_t now = bench_now_ns();

	return now < end ? (double)(end - now) / 1e9 / points : 0;
}

/* CPUs that other programs have used since; what the system rounds off is given away. */
struct moment {
	uint64_t ns, own_ns, idle_ns;
};

static struct moment moment_now(void)
{
	return (struct moment){ bench_now_ns(), bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID),
				bench_idle_ns() };
}

static double others_since(const struct moment *from)
{
	struct moment to = moment_now();
	double all = (double)(to.ns - from->ns) * bench_cpus();
	double known = (double)(to.idle_ns - from->idle_ns) + (double)(to.own_ns - from->own_ns);

	return fmax(0, all - known) / (double)(to.ns - from->ns);
}

void tradeoff_measure_mix(struct tradeoff_run *run)
{
	struct tradeoff *t = run->result;
	struct bench_pool *pool = bench_pool_new(t->mix_threads);
	struct tradeoff_cell *cell[TRADEOFF_SCHEMES];
	struct group *g = options_alloc(1, sizeof(*g));
	uint64_t end = bench_now_ns() + (uint64_t)(run->seconds * 1e9);
	struct moment begin = moment_now();
	size_t own = t->at[CHOOSE_OBJECTS], count, i;
	double left = (double)(t->values[CHOOSE_UPDATES] + t->values[CHOOSE_HOLD] +
			       t->values[CHOOSE_OBJECTS] - 3);

	make_objects(run, cell, run->work.objects);
	measure_own(run, pool, g, cell, run->seconds * SHARE_OWN);
	measure_beside(run, pool, g, cell, share(end, left));
	free_objects(run, cell, run->work.objects);
	left = (double)(t->values[CHOOSE_OBJECTS] - 1);
	for (i = 0; i < t->values[CHOOSE_OBJECTS]; i++) {
		if (i == own)
			continue;
		count = (size_t)t->value[CHOOSE_OBJECTS][i];
		make_objects(run, cell, count);
		add_point(run, g, cell, count, CHOOSE_OBJECTS, i);
		measure_group(run, pool, g, run->work.hold_ns, share(end, left), false);
		free_objects(run, cell, count);
		left--;
	}
	copy_own(t);
	t->others_cpus = others_since(&begin);
	free(g);
	bench_pool_free(pool);
}
