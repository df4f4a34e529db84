/* SPDX-License-Identifier: MIT */
/* The choice for one workload, in sentences; see choose.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "choose/choose.h"
#include "common/units.h"

#define LOADED 0.25 /* processes beside ours that are worth a word */
#define MORE_TIME 4 /* times what was given; scatter goes with the root of it */

struct sentences {
	char (*line)[CHOOSE_LINE];
	size_t count;
	const struct choose_work *work;
	const struct choose_verdict *verdict;
};

/* Begin a line. */
__attribute__((format(printf, 2, 3))) static void tell(struct sentences *s, const char *format, ...)
{
	va_list ap;

	if (s->count == CHOOSE_LINES_MAX)
		return;
	va_start(ap, format);
	vsnprintf(s->line[s->count++], CHOOSE_LINE, format, ap);
	va_end(ap);
}

/* Go on with the last line. */
__attribute__((format(printf, 2, 3))) static void tell_on(struct sentences *s, const char *format,
							   ...)
{
	char *line = s->line[s->count - 1];
	size_t length = strlen(line);
	va_list ap;

	va_start(ap, format);
	vsnprintf(line + length, CHOOSE_LINE - length, format, ap);
	va_end(ap);
}

/* ---- names and numbers ----------------------------------------------------------------------- */

static const struct choose_way *way_of(const struct sentences *s, size_t way)
{
	return &s->work->way[way];
}

static const char *called(const struct sentences *s, size_t way)
{
	return way_of(s, way)->said;
}

static const struct choose_point *here(const struct sentences *s, size_t way)
{
	return &way_of(s, way)->point[CHOOSE_UPDATES][s->work->at[CHOOSE_UPDATES]];
}

/* "1.5"; two decimals where they tell it from one. */
static int decimals_of(double times)
{
	return times < 1.995 ? 2 : times < 9.95 ? 1 : 0;
}

struct value_text {
	char text[64];
};

/* "1 % updates", "a hold of 100 ns", "1000 objects" */
static struct value_text value_at(const struct sentences *s, enum choose_axis axis, size_t point)
{
	double value = s->work->value[axis][point];
	struct value_text w;

	if (axis == CHOOSE_UPDATES)
		snprintf(w.text, sizeof(w.text), "%.3g %% updates", 100 * value);
	else if (axis == CHOOSE_HOLD && value == 0)
		snprintf(w.text, sizeof(w.text), "no hold");
	else if (axis == CHOOSE_HOLD)
		snprintf(w.text, sizeof(w.text), "a hold of %s", units_time(value).text);
	else if (value == 1)
		snprintf(w.text, sizeof(w.text), "one object");
	else
		snprintf(w.text, sizeof(w.text), "%.0f objects", value);
	return w;
}

/* "a, b and c" of those that are marked. */
static void tell_names(struct sentences *s, const bool *marked)
{
	size_t i, left = 0;

	for (i = 0; i < s->work->ways; i++)
		left += marked[i];
	for (i = 0; i < s->work->ways; i++) {
		if (!marked[i])
			continue;
		left--;
		tell_on(s, "%s%s", called(s, i), left > 1 ? ", " : left ? " and " : "");
	}
}

/* "100 ns", or "100 ns to 103 ns" */
static void tell_range(struct sentences *s, double least, double most)
{
	struct units_text from = units_time(least), to = units_time(most);

	tell_on(s, "%s", from.text);
	if (strcmp(from.text, to.text))
		tell_on(s, " to %s", to.text);
}

/* "1.02 to 1.05 times" */
static void tell_times(struct sentences *s, double low, double high)
{
	char from[32], to[32];

	snprintf(from, sizeof(from), "%.*f", decimals_of(low), low);
	snprintf(to, sizeof(to), "%.*f", decimals_of(high), high);
	tell_on(s, "%s%s%s times", from, strcmp(from, to) ? " to " : "", strcmp(from, to) ? to : "");
}

/* Tell what an operation takes with @pick's best and those that tie with it, and why the best is named. */
static void tell_tie(struct sentences *s, const struct choose_pick *pick, enum choose_axis axis, size_t point)
{
	bool marked[CHOOSE_WAYS_MAX], easier = false;
	double least = INFINITY, most = 0;
	size_t i;

	memcpy(marked, pick->tied, sizeof(marked));
	marked[pick->best] = true;
	for (i = 0; i < s->work->ways; i++) {
		double ns = way_of(s, i)->point[axis][point].ns;

		if (!marked[i])
			continue;
		least = fmin(least, ns);
		most = fmax(most, ns);
		easier |= way_of(s, i)->effort < way_of(s, pick->best)->effort;
	}
	tell_on(s, "an operation takes ");
	tell_range(s, least, most);
	tell_on(s, " with ");
	tell_names(s, marked);
	tell_on(s, easier ? ", and those that are easier to use than %s take more memory." :
			    ", and none of the others is easier to use than %s.",
		called(s, pick->best));
}

#define TIE " is a tie, within 5 %% or the scatter: "

static bool is_tie(const struct choose_pick *pick)
{
	return memchr(pick->tied, true, sizeof(pick->tied)) != NULL;
}

static void tell_header(struct sentences *s, size_t way)
{
	if (way_of(s, way)->header)
		tell_on(s, " (%s)", way_of(s, way)->header);
}

/* ---- what to use, and why -------------------------------------------------------------------- */

/* The one that the answer is held against: what most programs begin with, if it is slower, or else the next. */
static size_t other_of(const struct choose_verdict *v)
{
	size_t usual = v->usual;

	if (usual != CHOOSE_NOTHING && usual != v->pick.best && !v->pick.tied[usual])
		return usual;
	return v->next;
}

static void tell_against(struct sentences *s, size_t best, size_t other)
{
	const struct choose_way *a = way_of(s, best), *b = way_of(s, other);

	/* A read that is no faster beyond doubt is no reason, and where nothing is read none at all. */
	if (a->read_ns > 0 && b->read_least > a->read_most && s->work->updates < 1) {
		tell_on(s, " A read takes %s,", units_time(a->read_ns).text);
		tell_on(s, " with %s %s", b->said, units_time(b->read_ns).text);
		if (s->work->threads > 1)
			tell_on(s, ", when %u threads read the same object", s->work->threads);
		tell_on(s, ".");
	}
	tell_on(s, " An operation of your workload takes %s", units_time(here(s, best)->ns).text);
	tell_on(s, ", with %s %s.", b->said, units_time(here(s, other)->ns).text);
}

static void tell_winner(struct sentences *s)
{
	const struct choose_pick *p = &s->verdict->pick;
	size_t other = other_of(s->verdict);

	tell(s, "Use %s", called(s, p->best));
	tell_header(s, p->best);
	tell_on(s, ".");
	if (is_tie(p)) {
		tell_on(s, p->outcome == CHOOSE_LEVEL ? " It makes no difference here: " : " It" TIE);
		tell_tie(s, p, CHOOSE_UPDATES, s->work->at[CHOOSE_UPDATES]);
		if (other != CHOOSE_NOTHING)
			tell_on(s, " With %s it takes %s.", called(s, other), units_time(here(s, other)->ns).text);
	} else if (other == CHOOSE_NOTHING) {
		tell_on(s, " An operation of your workload takes %s; nothing else was measured that may be used.",
			units_time(here(s, p->best)->ns).text);
	} else {
		tell_against(s, p->best, other);
	}
}

static void tell_close(struct sentences *s)
{
	const struct choose_pick *p = &s->verdict->pick;
	size_t i, left = 0;

	tell(s, "No winner: ");
	tell_names(s, p->among);
	tell_on(s, " may differ by less than %.0f %%. Take the one that you know best. An operation takes ",
		100 * (CHOOSE_BEHIND - 1));
	for (i = 0; i < s->work->ways; i++)
		left += p->among[i];
	for (i = 0; i < s->work->ways; i++) {
		if (!p->among[i])
			continue;
		left--;
		tell_on(s, "%s%s", units_time(here(s, i)->ns).text, left > 1 ? ", " : left ? " and " : ".");
	}
}

/* ---- what it costs --------------------------------------------------------------------------- */

static void tell_cost(struct sentences *s)
{
	size_t best = s->verdict->pick.best;
	const struct choose_way *way = way_of(s, best);
	double waits = s->work->updates > 0 ? fmax(here(s, best)->waiting, way->held_back) : 0;
	bool told = false;

	tell(s, "Cost:");
	if (way->object_bytes >= 1) {
		tell_on(s, " %s more for each object", units_bytes(way->object_bytes).text);
		told = true;
	}
	if (way->thread_bytes >= 1) {
		tell_on(s, "%s %s%s for each thread", told ? "," : "", units_bytes(way->thread_bytes).text,
			told ? "" : " more");
		told = true;
	}
	if (waits > 0) {
		tell_on(s, "%s up to %s of memory waits to be freed", told ? ", and" : "",
			units_bytes(waits).text);
		told = true;
	}
	if (way->memory_unknown)
		tell_on(s, told ? ", as far as it was measured." : " what it takes in memory was not measured.");
	else
		tell_on(s, told ? "." : " none in memory.");
	if (way->may_not_block && !s->work->block) {
		tell_on(s, " Not for readers that sleep: %s", way->may_not_block);
		if (s->verdict->sleeping != CHOOSE_NOTHING)
			tell_on(s, " (use %s there)", called(s, s->verdict->sleeping));
		tell_on(s, ".");
	}
}

/* ---- how sure -------------------------------------------------------------------------------- */

/* Return whether the rounds of a way stay near their median: a reader of the tables would not believe it otherwise. */
static bool repeats(const struct choose_point *p)
{
	return (p->most - p->least) / 2 <= CHOOSE_SCATTER_MOST * p->ns;
}

/* "high" where the ratio that the answer rests on is known well, and the figures that it is made of repeat. */
static const char *how_sure(const struct sentences *s)
{
	const struct choose_pick *p = &s->verdict->pick;

	return p->scatter <= CHOOSE_SCATTER_LITTLE && s->work->load <= LOADED && repeats(here(s, p->rival)) &&
			       repeats(here(s, p->than)) ?
		       "high" :
		       "fair";
}

/* Name the ways that were left out of the answer, and why. */
static void tell_unranked(struct sentences *s)
{
	size_t i;

	for (i = 0; i < s->work->ways; i++)
		if (s->verdict->pick.unranked[i]) {
			tell(s, "Not ranked: %s, whose figures scatter too much: an operation took ", called(s, i));
			tell_range(s, here(s, i)->least, here(s, i)->most);
			tell_on(s, ".");
		}
}

/*
 * Tell what the answer rests on: "round by round, an operation takes 1.4 to 1.6 times as long with b as with a", then
 * @more, and the least and the most of both, as tables have them.
 */
static void tell_lead(struct sentences *s, const char *more)
{
	const struct choose_pick *p = &s->verdict->pick;

	tell_on(s, "round by round, an operation takes ");
	tell_times(s, p->lead.low, p->lead.high);
	tell_on(s, " as long with %s%s as with %s%s. Rounds took ", called(s, p->rival),
		s->verdict->next == p->rival ? ", the next best," : "", called(s, p->than), more);
	tell_range(s, here(s, p->rival)->least, here(s, p->rival)->most);
	tell_on(s, ", and ");
	tell_range(s, here(s, p->than)->least, here(s, p->than)->most);
	tell_on(s, ".");
}

static void tell_sure(struct sentences *s)
{
	const struct choose_pick *p = &s->verdict->pick;
	const struct choose_work *w = s->work;

	if (p->rival == CHOOSE_NOTHING) {
		tell(s, "Confidence: there was nothing to compare with.");
		return;
	}
	if (w->checked) {
		tell(s, "Confidence: low: this is a debug build, in which lull's own ways take longer than they would.");
		return;
	}
	tell(s, "Confidence: %s: ", p->outcome == CHOOSE_CLOSE ? "none in any of them" : how_sure(s));
	tell_lead(s, "");
	if (p->outcome == CHOOSE_CLOSE)
		tell_on(s, " Two runs may differ by %.0f %%.", 100 * (CHOOSE_BEHIND - 1));
	if (w->load > LOADED)
		tell_on(s, " Other programs used %.1f of %u CPUs meanwhile.", w->load, w->cpus);
}

static void tell_noisy(struct sentences *s)
{
	const struct choose_work *w = s->work;
	const struct choose_pick *p = &s->verdict->pick;

	if (isinf(p->scatter)) {
		tell(s, "No verdict: %zu round%s of measurements cannot say how the figures scatter.",
		     here(s, p->fastest)->rounds.count, here(s, p->fastest)->rounds.count == 1 ? "" : "s");
		tell(s, "What is missing: at least %d rounds (--runs).", CHOOSE_ROUNDS_LEAST);
	} else {
		tell(s, "No verdict: ");
		tell_lead(s, ", which does not say which to use");
		tell(s, "What is missing:");
		if (w->load > LOADED)
			tell_on(s, " an idle machine (other programs used %.1f of %u CPUs), or",
				w->load, w->cpus);
		tell_on(s, " more time (--seconds=%.0f).", ceil(w->seconds * MORE_TIME / 10) * 10);
	}
	tell(s, "Confidence: none.");
}

/* ---- what would change it -------------------------------------------------------------------- */

/* Tell which ways are left out because readers sleep. */
static void tell_forbidden(struct sentences *s)
{
	const struct choose_work *w = s->work;
	size_t i;

	for (i = 0; i < w->ways && w->block; i++) {
		const struct choose_way *way = &w->way[i];

		if (here(s, i)->ns <= 0 || !way->may_not_block)
			continue;
		tell(s, "Not %s, because readers sleep: %s", way->said, way->may_not_block);
		if (way->wait_ns >= 0 && way->held_back >= 0) {
			tell_on(s, ". A reader that stayed %s made others wait up to %s for memory",
				units_time(w->slow_ns).text, units_time(way->wait_ns).text);
			tell_on(s, ", and %s wait, at %.0f updates a second",
				units_bytes(way->held_back).text, w->update_rate);
		}
		tell_on(s, ".");
	}
}

/* Tell about readers that need not sleep. The way for readers that sleep is in the second line already. */
static void tell_other_readers(struct sentences *s)
{
	const struct choose_verdict *v = s->verdict;
	const struct choose_work *w = s->work;
	size_t best = v->pick.best;

	tell_forbidden(s);
	if (w->block && v->awake != best && v->awake != CHOOSE_NOTHING)
		tell(s, "If readers need not sleep: %s.", called(s, v->awake));
	if (way_of(s, best)->unbounded && v->bounded != CHOOSE_NOTHING && v->bounded != best)
		tell(s, "If memory must stay bounded while a reader stalls: %s.", called(s, v->bounded));
}

static void tell_prediction(struct sentences *s)
{
	const struct choose_work *w = s->work;
	size_t best = s->verdict->pick.best, then = s->verdict->predicted, other;

	if (then == CHOOSE_NOTHING) {
		if (w->threads == 1 && w->predict > 1)
			tell(s, "With %u threads: not known. Only one thread was measured, and it never waits for another.",
			     w->predict);
		return;
	}
	other = then == best ? other_of(s->verdict) : best;
	tell(s, "With %u threads that read the same object: %s. A read is predicted, not measured, to take %s",
	     w->predict, then == best ? "the same" : called(s, then),
	     units_time(way_of(s, then)->predicted_ns).text);
	if (other != CHOOSE_NOTHING && way_of(s, other)->predicted_ns > way_of(s, then)->predicted_ns)
		tell_on(s, ", with %s %s", called(s, other),
			units_time(way_of(s, other)->predicted_ns).text);
	tell_on(s, ".");
}

static void tell_change(struct sentences *s, const struct choose_change *c)
{
	size_t best = s->verdict->pick.best, then = c->pick.best;
	const struct choose_point *a = &way_of(s, then)->point[c->axis][c->point];
	const struct choose_point *b = &way_of(s, best)->point[c->axis][c->point];

	tell(s, "With %s: ", value_at(s, c->axis, c->point).text);
	tell_on(s, "%s; ", called(s, then));
	if (c->pick.tied[best]) {
		tell_on(s, "it" TIE);
		tell_tie(s, &c->pick, c->axis, c->point);
		return;
	}
	tell_on(s, "an operation takes %s", units_time(a->ns).text);
	tell_on(s, ", with %s %s.", called(s, best), units_time(b->ns).text);
}

/* Tell where else the same answer was measured. */
static void tell_unchanged(struct sentences *s)
{
	const struct choose_verdict *v = s->verdict;
	bool begun = false;
	size_t i;

	for (i = 0; i < CHOOSE_AXES; i++) {
		enum choose_axis axis = (enum choose_axis)i;

		if (v->low[i] == v->high[i])
			continue;
		if (!begun)
			tell(s, "The same answer from ");
		else
			tell_on(s, ", from ");
		tell_on(s, "%s to ", value_at(s, axis, v->low[i]).text);
		tell_on(s, "%s", value_at(s, axis, v->high[i]).text);
		begun = true;
	}
	if (begun)
		tell_on(s, "; one of them changed at a time.");
}

size_t choose_for_words(const struct choose_work *work, const struct choose_verdict *verdict,
			char line[CHOOSE_LINES_MAX][CHOOSE_LINE])
{
	struct sentences s = { line, 0, work, verdict };
	size_t i;

	switch (verdict->pick.outcome) {
	case CHOOSE_NONE:
		tell(&s, "No verdict: nothing was measured that may be used.");
		return s.count;
	case CHOOSE_NOISY:
		tell_noisy(&s);
		return s.count;
	case CHOOSE_CLOSE:
		tell_close(&s);
		tell(&s, "All others%s take longer than the fastest of these, take more memory or are no easier to use.",
		     work->block ? " that may be used" : "");
		tell_sure(&s);
		tell_unranked(&s);
		tell_forbidden(&s);
		return s.count;
	case CHOOSE_LEVEL:
	case CHOOSE_WINNER:
		tell_winner(&s);
		break;
	}
	tell_cost(&s);
	tell_sure(&s);
	tell_unranked(&s);
	tell_other_readers(&s);
	tell_prediction(&s);
	for (i = 0; i < verdict->changes; i++)
		tell_change(&s, &verdict->change[i]);
	tell_unchanged(&s);
	return s.count;
}
