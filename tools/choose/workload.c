/* SPDX-License-Identifier: MIT */
/* The choice for one workload; see choose.h. */
#include <string.h>

#include "choose/choose.h"

#define TIE_LEAST 0.05 /* closer than this is the same: the next run may turn it round */
#define TIE_MOST 0.25  /* more scatter than this does not make everything the same */

/* Memory counts when it is worth a word, and much beside the objects themselves. */
#define HEAVY_BYTES 1e6
#define HEAVY_SHARE 0.1

/* ---- figures --------------------------------------------------------------------------------- */

/* Where in what was measured. */
struct place {
	enum choose_axis axis;
	size_t point;
	bool block;
};

static const struct choose_point *at(const struct choose_work *w, size_t way,
				     const struct place *place)
{
	return &w->way[way].point[place->axis][place->point];
}

static double tie(const struct choose_point *a, const struct choose_point *b)
{
	double scatter = (a->spread + b->spread) / 2;

	return scatter < TIE_LEAST ? TIE_LEAST : scatter > TIE_MOST ? TIE_MOST : scatter;
}

static bool is_as_fast(const struct choose_work *w, size_t way, size_t than,
		       const struct place *place)
{
	const struct choose_point *a = at(w, way, place), *b = at(w, than, place);

	return a->ns <= b->ns * (1 + tie(a, b));
}

static double objects_at(const struct choose_work *w, const struct place *place)
{
	return place->axis == CHOOSE_OBJECTS ? w->value[CHOOSE_OBJECTS][place->point] : w->objects;
}

/* Bytes that a way takes beside the objects themselves. */
static double footprint(const struct choose_work *w, size_t way, const struct place *place)
{
	const struct choose_way *s = &w->way[way];

	return s->object_bytes * objects_at(w, place) + s->thread_bytes * w->threads +
	       at(w, way, place)->waiting;
}

/* How much more than another one it may take and still count as the same. */
static double allowance(const struct choose_work *w, const struct place *place)
{
	double share = HEAVY_SHARE * w->size * objects_at(w, place);

	return share > HEAVY_BYTES ? share : HEAVY_BYTES;
}

static bool is_heavier(const struct choose_work *w, size_t way, size_t than,
		       const struct place *place)
{
	return footprint(w, way, place) - footprint(w, than, place) > allowance(w, place);
}

/* ---- one point ------------------------------------------------------------------------------- */

static bool is_usable(const struct choose_work *w, size_t way, const struct place *place)
{
	return at(w, way, place)->ns > 0 && !(place->block && w->way[way].may_not_block);
}

static size_t fastest_at(const struct choose_work *w, const struct place *place, size_t without)
{
	size_t best = CHOOSE_NOTHING, i;

	for (i = 0; i < w->ways; i++)
		if (i != without && is_usable(w, i, place) &&
		    (best == CHOOSE_NOTHING || at(w, i, place)->ns < at(w, best, place)->ns))
			best = i;
	return best;
}

static bool is_heavy(const struct choose_work *w, size_t way, size_t fastest,
		     const struct place *place, size_t without)
{
	size_t i;

	for (i = 0; i < w->ways; i++)
		if (i != without && is_usable(w, i, place) && is_as_fast(w, i, fastest, place) &&
		    is_heavier(w, way, i, place))
			return true;
	return false;
}

/* As fast as the fastest, not much heavier than others that are; of those the least effort. */
static size_t pick(const struct choose_work *w, const struct place *place, size_t without)
{
	size_t fastest = fastest_at(w, place, without), best = CHOOSE_NOTHING, i;

	for (i = 0; i < w->ways && fastest != CHOOSE_NOTHING; i++) {
		const struct choose_way *s = &w->way[i];

		if (i == without || !is_usable(w, i, place) ||
		    !is_as_fast(w, i, fastest, place) || is_heavy(w, i, fastest, place, without))
			continue;
		if (best == CHOOSE_NOTHING || s->effort < w->way[best].effort ||
		    (s->effort == w->way[best].effort &&
		     at(w, i, place)->ns < at(w, best, place)->ns))
			best = i;
	}
	return best;
}

/* For @way, which was named, against @other. */
static enum choose_reason reason(const struct choose_work *w, size_t way, size_t other,
				 const struct place *place)
{
	if (!is_as_fast(w, other, way, place))
		return CHOOSE_FASTER;
	return is_heavier(w, other, way, place) ? CHOOSE_LEANER : CHOOSE_EASIER;
}

static bool all_the_same(const struct choose_work *w, const struct place *place, size_t fastest)
{
	size_t i, usable = 0;

	for (i = 0; i < w->ways; i++) {
		if (!is_usable(w, i, place))
			continue;
		usable++;
		if (!is_as_fast(w, i, fastest, place) ||
		    is_heavy(w, i, fastest, place, CHOOSE_NOTHING))
			return false;
	}
	return usable > 1;
}

/* ---- what would change it -------------------------------------------------------------------- */

/* Negative where the named one is right, for that reason, and not where the other one is. */
static double balance(const struct choose_work *w, size_t best, size_t other,
		      enum choose_reason why, const struct place *place)
{
	const struct choose_point *a = at(w, best, place), *b = at(w, other, place);

	if (why == CHOOSE_FASTER)
		return a->ns - b->ns * (1 + tie(a, b));
	if (why == CHOOSE_LEANER)
		return footprint(w, best, place) - footprint(w, other, place) -
		       allowance(w, place);
	return a->ns * (1 + tie(a, b)) - b->ns;
}

/*
 * A straight line from one measured point to the next. The time that an operation takes goes with
 * 1 / objects: that is how often two threads are at the same one.
 */
static double between(const struct choose_work *w, const struct choose_change *c, size_t best,
		      const struct place *near, const struct place *far)
{
	double from = w->value[c->axis][near->point], to = w->value[c->axis][far->point];
	double before = balance(w, best, c->way, c->why, near);
	double after = balance(w, best, c->way, c->why, far), share;

	/* It was not measured there, or a third one has a part in this. */
	if (at(w, c->way, near)->ns <= 0 || before >= 0 || after < 0)
		return to;
	share = before / (before - after);
	if (c->axis == CHOOSE_OBJECTS && c->why != CHOOSE_LEANER)
		return 1 / (1 / from + (1 / to - 1 / from) * share);
	return from + (to - from) * share;
}

/* The first measured point in that direction at which another one is named. */
static void look(const struct choose_work *w, struct choose_verdict *v, enum choose_axis axis,
		 bool above)
{
	struct place near = { axis, w->at[axis], w->block }, far;
	size_t end = above ? w->values[axis] : 0, way;

	while (above ? near.point + 1 < end : near.point > end) {
		far = near;
		far.point = above ? near.point + 1 : near.point - 1;
		way = pick(w, &far, CHOOSE_NOTHING);
		if (way == v->best) {
			near = far;
			*(above ? &v->high[axis] : &v->low[axis]) = near.point;
			continue;
		}
		/* Where the named one was not measured, nothing is claimed. */
		if (at(w, v->best, &far)->ns > 0) {
			struct choose_change *c = &v->change[v->changes++];

			c->axis = axis;
			c->above = above;
			c->point = far.point;
			c->way = way;
			c->why = reason(w, way, v->best, &far);
			c->from = between(w, c, v->best, &near, &far);
		}
		return;
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

static double median_spread_of(const struct choose_work *w, const struct place *place)
{
	double v[CHOOSE_WAYS_MAX];
	size_t n = 0, i, j;

	for (i = 0; i < w->ways; i++) {
		if (!is_usable(w, i, place))
			continue;
		for (j = n++; j && v[j - 1] > at(w, i, place)->spread; j--)
			v[j] = v[j - 1];
		v[j] = at(w, i, place)->spread;
	}
	return n ? v[n / 2] : 0;
}

void choose_for(const struct choose_work *w, struct choose_verdict *out)
{
	struct place own = { CHOOSE_UPDATES, w->at[CHOOSE_UPDATES], w->block }, other = own;
	size_t i;

	memset(out, 0, sizeof(*out));
	for (i = 0; i < w->ways; i++)
		out->excluded[i] = w->block && w->way[i].may_not_block && at(w, i, &own)->ns > 0;
	out->fastest = fastest_at(w, &own, CHOOSE_NOTHING);
	out->best = pick(w, &own, CHOOSE_NOTHING);
	out->second = out->best == CHOOSE_NOTHING ? CHOOSE_NOTHING : pick(w, &own, out->best);
	other.block = true;
	out->blocking = pick(w, &other, CHOOSE_NOTHING);
	other.block = false;
	out->unblocked = pick(w, &other, CHOOSE_NOTHING);
	if (out->best == CHOOSE_NOTHING)
		return;
	out->why = out->second == CHOOSE_NOTHING ? CHOOSE_ONLY :
						   reason(w, out->best, out->second, &own);
	out->matters = !all_the_same(w, &own, out->fastest);
	out->noise = median_spread_of(w, &own);
	for (i = 0; i < CHOOSE_AXES; i++)
		out->low[i] = out->high[i] = w->at[i];
	for (i = 0; i < CHOOSE_AXES && out->why != CHOOSE_ONLY; i++) {
		look(w, out, (enum choose_axis)i, false);
		look(w, out, (enum choose_axis)i, true);
	}
}
