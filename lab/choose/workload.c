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
#define LEVEL  1.05 /* times the fastest, at most */
#define BEHIND CHOOSE_BEHIND
#define FAR    1.5  /* times the fastest: one that scatters too much to be ranked is no match for it all the same */

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

/* Tables show medians, so bounds that left their ratio out would contradict them. */
static struct choose_ratio ratio_at(const struct choose_work *w, size_t way, size_t than,
				    const struct place *place)
{
	const struct choose_point *a = at(w, way, place), *b = at(w, than, place);
	struct choose_ratio r = choose_ratio(&a->rounds, &b->rounds);

	r.median = a->ns / b->ns;
	r.low = fmin(r.low, r.median);
	r.high = fmax(r.high, r.median);
	return r;
}

static double scatter_of(struct choose_ratio r)
{
	return (r.high - r.low) / 2 / r.median;
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

/* Return the fastest that may be used and is not marked in @but. */
static size_t fastest_but(const struct choose_work *w, const struct place *place, const bool *but)
{
	size_t best = CHOOSE_NOTHING, i;

	for (i = 0; i < w->ways; i++)
		if (is_usable(w, i, place) && !but[i] &&
		    (best == CHOOSE_NOTHING || at(w, i, place)->ns < at(w, best, place)->ns))
			best = i;
	return best;
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
		if (!is_usable(w, i, place) || p->level[i] || p->unranked[i] || !is_easier(w, i, p->best) ||
		    is_heavier(w, i, p->best, place) || ratio_at(w, i, p->fastest, place).low > BEHIND)
			continue;
		p->among[i] = p->among[p->best] = found = true;
	}
	return found;
}

/* Take the scatter of these two for that of the answer. */
static void rest_on(const struct choose_work *w, struct choose_pick *p, size_t way, size_t than, const struct place *place)
{
	p->rival = way;
	p->than = than;
	p->lead = ratio_at(w, way, than, place);
	p->scatter = scatter_of(p->lead);
}

/* Rest on the worst: a way that scatters too much to be told from the fastest is not close to it. */
static void rest_on_among(const struct choose_work *w, struct choose_pick *p, const struct place *place)
{
	double worst = -1;
	size_t i;

	for (i = 0; i < w->ways; i++)
		if (p->among[i] && i != p->fastest && scatter_of(ratio_at(w, i, p->fastest, place)) > worst) {
			rest_on(w, p, i, p->fastest, place);
			worst = p->scatter;
		}
}

/* Mark the ways that are level with the fastest, and those that scatter too much to say, but are no match for it. */
static void rank(const struct choose_work *w, struct choose_pick *p, const struct place *place)
{
	size_t i;

	for (i = 0; i < w->ways; i++) {
		struct choose_ratio r;

		if (!is_usable(w, i, place))
			continue;
		r = ratio_at(w, i, p->fastest, place);
		p->level[i] = i == p->fastest || r.high <= LEVEL;
		p->unranked[i] = r.low <= BEHIND && r.median > FAR && scatter_of(r) > CHOOSE_SCATTER_MOST && !isinf(r.high);
	}
}

/* Mark the ways that are not slower than the best one beyond doubt. */
static void find_tied(const struct choose_work *w, struct choose_pick *p, const struct place *place)
{
	size_t i;

	for (i = 0; i < w->ways; i++) {
		struct choose_ratio r;

		if (!is_usable(w, i, place) || i == p->best || p->unranked[i])
			continue;
		r = ratio_at(w, i, p->best, place);
		p->tied[i] = p->level[i] || r.low <= 1;
		/* Another one whose lead is known decides. */
		p->unranked[i] = p->tied[i] && i != p->rival && !is_easier(w, i, p->best) && scatter_of(r) > CHOOSE_SCATTER_MOST;
		p->tied[i] = p->tied[i] && !p->unranked[i];
	}
}

/* Return whether the scatter of the two fastest, or else of one that was not ranked, says nothing. */
static bool is_noisy(const struct choose_work *w, struct choose_pick *p, const struct place *place)
{
	bool but[CHOOSE_WAYS_MAX], none[CHOOSE_WAYS_MAX] = { false }, ranked[CHOOSE_WAYS_MAX];
	bool alone = true, noisy;
	size_t rival, i;

	memcpy(but, p->unranked, sizeof(but));
	but[p->best] = none[p->best] = true;
	rival = fastest_but(w, place, but);
	if (rival == CHOOSE_NOTHING)
		rival = fastest_but(w, place, none);
	if (rival == CHOOSE_NOTHING)
		return false;
	rest_on(w, p, rival, p->best, place);
	for (i = 0; i < w->ways; i++) {
		ranked[i] = !p->unranked[i];
		alone &= ranked[i];
	}
	noisy = (!alone || p->lead.low <= BEHIND) && p->scatter > (alone ? CHOOSE_SCATTER_MOST : CHOOSE_SCATTER_MOST / 2);
	if (noisy && p->lead.low > BEHIND) /* this lead is certain: those that are not ranked leave no verdict */
		rest_on(w, p, fastest_but(w, place, ranked), p->best, place);
	return noisy;
}

static struct choose_pick no_verdict(struct choose_pick p, enum choose_outcome outcome)
{
	p.outcome = outcome;
	p.best = CHOOSE_NOTHING;
	return p;
}

static struct choose_pick pick_at(const struct choose_work *w, const struct place *place)
{
	static const bool none[CHOOSE_WAYS_MAX];
	struct choose_pick p = { .outcome = CHOOSE_NONE, .best = CHOOSE_NOTHING, .rival = CHOOSE_NOTHING };
	size_t usable = 0, level = 0, i;

	p.fastest = fastest_but(w, place, none);
	if (p.fastest == CHOOSE_NOTHING)
		return p;
	rank(w, &p, place);
	p.best = easiest_level(w, &p, place);
	if (is_noisy(w, &p, place))
		return no_verdict(p, CHOOSE_NOISY);
	find_tied(w, &p, place);
	if (find_close(w, &p, place)) {
		rest_on_among(w, &p, place);
		return no_verdict(p, p.scatter > CHOOSE_SCATTER_MOST ? CHOOSE_NOISY : CHOOSE_CLOSE);
	}
	for (i = 0; i < w->ways; i++) {
		usable += is_usable(w, i, place);
		level += p.level[i];
	}
	p.outcome = usable > 1 && level == usable ? CHOOSE_LEVEL : CHOOSE_WINNER;
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
		/* Claim nothing where the named way was not measured, or scatters. */
		if (at(w, v->pick.best, &place)->ns > 0 && !p.unranked[v->pick.best] &&
		    (p.outcome == CHOOSE_WINNER || p.outcome == CHOOSE_LEVEL))
			v->change[v->changes++] =
				(struct choose_change){ axis, above, still, place.point, p };
		break;
	}
	*(above ? &v->high[axis] : &v->low[axis]) = still;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static size_t usual_of(const struct choose_work *w, const struct place *place)
{
	size_t usual = CHOOSE_NOTHING, i;

	for (i = 0; i < w->ways; i++)
		if (is_usable(w, i, place) &&
		    (usual == CHOOSE_NOTHING || w->way[i].effort < w->way[usual].effort))
			usual = i;
	return usual;
}

/* The answer itself, unless its readers share a line and others, who do not, are predicted to read faster. */
static size_t predicted(const struct choose_work *w, const struct choose_verdict *v,
			const struct place *place)
{
	size_t best, i;

	if (w->predict <= w->threads || w->updates >= 1 || w->way[v->pick.best].predicted_ns <= 0)
		return CHOOSE_NOTHING;
	best = v->pick.best;
	for (i = 0; i < w->ways && w->way[v->pick.best].shared; i++)
		if (is_usable(w, i, place) && w->way[i].predicted_ns > 0 && !w->way[i].shared &&
		    w->way[i].predicted_ns < w->way[best].predicted_ns)
			best = i;
	return best;
}

void choose_for(const struct choose_work *w, struct choose_verdict *out)
{
	struct place own = { CHOOSE_UPDATES, w->at[CHOOSE_UPDATES], w->block, false }, other = own;
	bool ahead[CHOOSE_WAYS_MAX] = { false };
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
	for (i = 0; i < w->ways; i++)
		ahead[i] = i == out->pick.best || out->pick.tied[i] || out->pick.unranked[i];
	out->next = fastest_but(w, &own, ahead);
	out->predicted = predicted(w, out, &own);
	for (i = 0; i < CHOOSE_AXES; i++) {
		look(w, out, (enum choose_axis)i, false);
		look(w, out, (enum choose_axis)i, true);
	}
}
