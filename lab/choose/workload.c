/* SPDX-License-Identifier: MIT */
/* The choice for one workload; see choose.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "choose/choose.h"

/*
 * Keep a gap between the two. Two runs of one program differ by some percent however well each repeats, by where its
 * memory happens to lie; a way that is level in one run must not be behind in the other.
 */
#define LEVEL 1.05  /* times the fastest, at most */
#define BEHIND 1.10 /* times the fastest, at least */

/* Memory counts when it is worth a word, and much beside the objects themselves. */
#define HEAVY_BYTES 1e6
#define HEAVY_SHARE 0.1
#define HEAVY_WAITING 16e6 /* ignore less waiting memory than this: it varies from moment to moment */

/* ---- figures --------------------------------------------------------------------------------- */

/* Point among the measured ones, and the demands of the readers. */
struct place {
	enum choose_axis axis;
	size_t point;
	bool block, bounded; /* readers sleep; memory must stay bounded */
};

static const struct choose_point *at(const struct choose_work *w, size_t way,
				     const struct place *place)
{
	return &w->way[way].point[place->axis][place->point];
}

static struct choose_ratio ratio_at(const struct choose_work *w, size_t way, size_t than,
				    const struct place *place)
{
	return choose_ratio(&at(w, way, place)->rounds, &at(w, than, place)->rounds);
}

static bool is_usable(const struct choose_work *w, size_t way, const struct place *place)
{
	const struct choose_way *s = &w->way[way];

	return at(w, way, place)->ns > 0 && !(place->block && s->may_not_block) &&
	       !(place->bounded && s->unbounded);
}

static double objects_at(const struct choose_work *w, const struct place *place)
{
	return place->axis == CHOOSE_OBJECTS ? w->value[CHOOSE_OBJECTS][place->point] : w->objects;
}

/* Bytes that a way takes beside the objects themselves. */
static double footprint(const struct choose_work *w, size_t way, const struct place *place)
{
	const struct choose_way *s = &w->way[way];
	double waiting = at(w, way, place)->waiting;

	return s->object_bytes * objects_at(w, place) + s->thread_bytes * w->threads +
	       (waiting > HEAVY_WAITING ? waiting : 0);
}

static bool is_heavier(const struct choose_work *w, size_t way, size_t than,
		       const struct place *place)
{
	double share = HEAVY_SHARE * w->size * objects_at(w, place);

	return footprint(w, way, place) - footprint(w, than, place) > fmax(share, HEAVY_BYTES);
}

/* ---- one point ------------------------------------------------------------------------------- */

static size_t fastest_at(const struct choose_work *w, const struct place *place)
{
	size_t best = CHOOSE_NOTHING, i;

	for (i = 0; i < w->ways; i++)
		if (is_usable(w, i, place) &&
		    (best == CHOOSE_NOTHING || at(w, i, place)->ns < at(w, best, place)->ns))
			best = i;
	return best;
}

static double scatter_at(const struct choose_work *w, const struct place *place, size_t fastest)
{
	double v[CHOOSE_WAYS_MAX];
	size_t n = 0, i;

	for (i = 0; i < w->ways; i++)
		if (i != fastest && is_usable(w, i, place)) {
			struct choose_ratio r = ratio_at(w, i, fastest, place);

			v[n++] = (r.high - r.low) / 2 / r.median;
		}
	qsort(v, n, sizeof(*v), choose_compare);
	return n ? v[n / 2] : 0;
}

/* Level with the fastest, and another that is level takes much less memory. */
static bool is_heavy(const struct choose_work *w, const struct choose_pick *p, size_t way,
		     const struct place *place)
{
	size_t i;

	for (i = 0; i < w->ways; i++)
		if (p->level[i] && is_heavier(w, way, i, place))
			return true;
	return false;
}

/* Prefer the first of two ways of equal effort: the faster one is another one in the next run. */
static bool is_easier(const struct choose_work *w, size_t way, size_t than)
{
	unsigned a = w->way[way].effort, b = w->way[than].effort;

	return a < b || (a == b && way < than);
}

static size_t easiest_level(const struct choose_work *w, const struct choose_pick *p,
			    const struct place *place)
{
	size_t best = CHOOSE_NOTHING, i;

	for (i = 0; i < w->ways; i++)
		if (p->level[i] && !is_heavy(w, p, i, place) &&
		    (best == CHOOSE_NOTHING || is_easier(w, i, best)))
			best = i;
	return best;
}

/* Neither level nor behind beyond doubt: if it is level it would be named, since it is easier. */
static bool find_close(const struct choose_work *w, struct choose_pick *p, const struct place *place)
{
	bool found = false;
	size_t i;

	for (i = 0; i < w->ways; i++) {
		if (!is_usable(w, i, place) || p->level[i] || !is_easier(w, i, p->best) ||
		    is_heavier(w, i, p->best, place) || ratio_at(w, i, p->fastest, place).low > BEHIND)
			continue;
		p->among[i] = p->among[p->best] = found = true;
	}
	return found;
}

/* Return the scatter of the worst: a way that scatters too much to be told from the fastest is not close to it. */
static double scatter_among(const struct choose_work *w, const struct choose_pick *p, const struct place *place)
{
	double worst = 0;
	size_t i;

	for (i = 0; i < w->ways; i++)
		if (p->among[i] && i != p->fastest) {
			struct choose_ratio r = ratio_at(w, i, p->fastest, place);

			worst = fmax(worst, (r.high - r.low) / 2 / r.median);
		}
	return worst;
}

static struct choose_pick pick_at(const struct choose_work *w, const struct place *place)
{
	struct choose_pick p = { .outcome = CHOOSE_NONE, .best = CHOOSE_NOTHING };
	size_t usable = 0, level = 0, i;

	p.fastest = fastest_at(w, place);
	if (p.fastest == CHOOSE_NOTHING)
		return p;
	for (i = 0; i < w->ways; i++) {
		p.level[i] = is_usable(w, i, place) &&
			     (i == p.fastest || ratio_at(w, i, p.fastest, place).high <= LEVEL);
		usable += is_usable(w, i, place);
		level += p.level[i];
	}
	p.scatter = scatter_at(w, place, p.fastest);
	if (p.scatter > CHOOSE_SCATTER_MOST) {
		p.outcome = CHOOSE_NOISY;
		return p;
	}
	p.best = easiest_level(w, &p, place);
	p.outcome = usable > 1 && level == usable ? CHOOSE_LEVEL : CHOOSE_WINNER;
	if (find_close(w, &p, place)) {
		p.scatter = scatter_among(w, &p, place);
		p.outcome = p.scatter > CHOOSE_SCATTER_MOST ? CHOOSE_NOISY : CHOOSE_CLOSE;
		p.best = CHOOSE_NOTHING;
	}
	return p;
}

/* ---- what would change it -------------------------------------------------------------------- */

static bool is_same(const struct choose_pick *a, const struct choose_pick *b)
{
	return a->best == b->best;
}

/* The first measured point in that direction at which another answer is certain. Doubt is no change, and no proof. */
static void look(const struct choose_work *w, struct choose_verdict *v, enum choose_axis axis,
		 bool above)
{
	struct place place = { axis, w->at[axis], w->block, false };
	size_t end = above ? w->values[axis] - 1 : 0, still = place.point;

	while (place.point != end) {
		struct choose_pick p;

		place.point += above ? 1 : (size_t)-1;
		p = pick_at(w, &place);
		if (is_same(&p, &v->pick)) {
			still = place.point;
			continue;
		}
		/* Claim nothing where the named way was not measured. */
		if (at(w, v->pick.best, &place)->ns > 0 &&
		    (p.outcome == CHOOSE_WINNER || p.outcome == CHOOSE_LEVEL))
			v->change[v->changes++] =
				(struct choose_change){ axis, above, still, place.point, p };
		break;
	}
	*(above ? &v->high[axis] : &v->low[axis]) = still;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static size_t next_of(const struct choose_work *w, const struct choose_verdict *v,
		      const struct place *place)
{
	size_t next = CHOOSE_NOTHING, i;

	for (i = 0; i < w->ways; i++)
		if (is_usable(w, i, place) && !v->pick.level[i] &&
		    (next == CHOOSE_NOTHING || at(w, i, place)->ns < at(w, next, place)->ns))
			next = i;
	return next;
}

/* Usable or not: programs begin with it all the same. */
static size_t usual_of(const struct choose_work *w, const struct place *place)
{
	size_t usual = CHOOSE_NOTHING, i;

	for (i = 0; i < w->ways; i++)
		if (at(w, i, place)->ns > 0 &&
		    (usual == CHOOSE_NOTHING || w->way[i].effort < w->way[usual].effort))
			usual = i;
	return usual;
}

/* The answer itself if its readers share nothing; else who reads fastest of those that do not. */
static size_t predicted(const struct choose_work *w, const struct choose_verdict *v,
			const struct place *place)
{
	size_t best = CHOOSE_NOTHING, i;

	if (w->predict <= w->threads || w->updates >= 1 || w->way[v->pick.best].predicted_ns <= 0)
		return CHOOSE_NOTHING;
	if (!w->way[v->pick.best].shared)
		return v->pick.best;
	for (i = 0; i < w->ways; i++)
		if (is_usable(w, i, place) && w->way[i].predicted_ns > 0 && !w->way[i].shared &&
		    (best == CHOOSE_NOTHING || w->way[i].read_ns < w->way[best].read_ns))
			best = i;
	return best;
}

void choose_for(const struct choose_work *w, struct choose_verdict *out)
{
	struct place own = { CHOOSE_UPDATES, w->at[CHOOSE_UPDATES], w->block, false }, other = own;
	size_t i;

	memset(out, 0, sizeof(*out));
	out->pick = pick_at(w, &own);
	out->usual = usual_of(w, &own);
	other.block = true;
	out->sleeping = pick_at(w, &other).best;
	other.block = false;
	out->awake = pick_at(w, &other).best;
	other = own;
	other.bounded = true;
	out->bounded = pick_at(w, &other).best;
	out->next = out->predicted = CHOOSE_NOTHING;
	for (i = 0; i < CHOOSE_AXES; i++)
		out->low[i] = out->high[i] = w->at[i];
	if (out->pick.outcome != CHOOSE_WINNER && out->pick.outcome != CHOOSE_LEVEL)
		return;
	out->next = next_of(w, out, &own);
	out->predicted = predicted(w, out, &own);
	for (i = 0; i < CHOOSE_AXES; i++) {
		look(w, out, (enum choose_axis)i, false);
		look(w, out, (enum choose_axis)i, true);
	}
}
