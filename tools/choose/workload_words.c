/* SPDX-License-Identifier: MIT */
/* The choice for one workload, in sentences; see choose.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "choose/choose.h"
#include "common/units.h"

#define SCATTERS 0.20 /* more than this is worth a word */

struct sentences {
	char (*line)[CHOOSE_LINE];
	size_t count;
	const struct choose_work *work;
	const struct choose_verdict *verdict;
};

__attribute__((format(printf, 2, 3))) static void tell(struct sentences *s, const char *format, ...)
{
	va_list ap;

	if (s->count == CHOOSE_LINES_MAX)
		return;
	va_start(ap, format);
	vsnprintf(s->line[s->count++], CHOOSE_LINE, format, ap);
	va_end(ap);
}

/* More of the last one. */
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

/* ---- numbers in words ------------------------------------------------------------------------ */

/* Two figures for what lies between two measured points; there are not more in it. */
static struct units_text in_units(enum choose_axis axis, double value, int digits)
{
	struct units_text w;

	if (axis == CHOOSE_HOLD)
		return units_time(value);
	if (axis == CHOOSE_UPDATES)
		snprintf(w.text, sizeof(w.text), "%.*g %%", digits, 100 * value);
	else if (value < 1e6)
		snprintf(w.text, sizeof(w.text), "%.0f", value);
	else
		snprintf(w.text, sizeof(w.text), "%.*g million", digits, value / 1e6);
	return w;
}

static double rounded(double value)
{
	double unit = 1;

	while (value >= 100 * unit)
		unit *= 10;
	while (value > 0 && value < 10 * unit)
		unit /= 10;
	return (double)(long long)(value / unit + 0.5) * unit;
}

/* ---- sentences ------------------------------------------------------------------------------- */

static const struct choose_point *here(const struct sentences *s, size_t way)
{
	return &s->work->way[way].point[CHOOSE_UPDATES][s->work->at[CHOOSE_UPDATES]];
}

static const char *name_of(const struct sentences *s, size_t way)
{
	return s->work->way[way].name;
}

static bool may_be_used(const struct sentences *s, size_t way)
{
	return here(s, way)->ns > 0 && !s->verdict->excluded[way];
}

/* "a, b and c" */
static void tell_names(struct sentences *s)
{
	size_t i, left = 0;

	for (i = 0; i < s->work->ways; i++)
		left += may_be_used(s, i);
	for (i = 0; i < s->work->ways; i++) {
		if (!may_be_used(s, i))
			continue;
		left--;
		tell_on(s, "%s%s", name_of(s, i), left > 1 ? ", " : left ? " and " : "");
	}
}

static double memory_of(const struct sentences *s, size_t way)
{
	const struct choose_way *w = &s->work->way[way];

	return w->object_bytes * s->work->objects + w->thread_bytes * s->work->threads +
	       here(s, way)->waiting;
}

static bool asks_less(const struct sentences *s)
{
	const struct choose_way *way = s->work->way;

	return way[s->verdict->best].effort < way[s->verdict->second].effort;
}

static void tell_no_matter(struct sentences *s)
{
	const struct choose_verdict *v = s->verdict;

	tell(s, "It does not matter here: ");
	tell_names(s);
	tell_on(s, " are the same within the scatter, %s an operation. Use %s: it asks least.",
		units_time(here(s, v->best)->ns).text, name_of(s, v->best));
}

static void tell_best(struct sentences *s)
{
	const struct choose_verdict *v = s->verdict;
	const char *best = name_of(s, v->best), *second;
	double ns = here(s, v->best)->ns;

	if (v->why == CHOOSE_ONLY) {
		tell(s, "Use %s, %s an operation: nothing else was measured that could be used.",
		     best, units_time(ns).text);
		return;
	}
	second = name_of(s, v->second);
	if (!v->matters)
		tell_no_matter(s);
	else if (v->why == CHOOSE_FASTER)
		tell(s, "Use %s: it is the fastest, %s an operation; with %s, the next, one takes "
			"x%.3g as long.",
		     best, units_time(ns).text, second, here(s, v->second)->ns / ns);
	else if (v->why == CHOOSE_LEANER)
		tell(s, "Use %s: %s an operation, as fast as %s within the scatter, and in less "
			"memory, %s beside the objects.",
		     best, units_time(ns).text, second, units_bytes(memory_of(s, v->best)).text);
	else
		tell(s, "Use %s: %s and %s are equally fast here within the scatter, %s and %s an "
			"operation, and %s %s.",
		     best, best, second, units_time(ns).text, units_time(here(s, v->second)->ns).text, best,
		     asks_less(s) ? "is easier to use right" : "was a little ahead");
}

static void tell_second(struct sentences *s)
{
	const struct choose_verdict *v = s->verdict;
	const char *second;
	double ns;

	if (v->second == CHOOSE_NOTHING)
		return;
	second = name_of(s, v->second);
	ns = here(s, v->second)->ns;
	if (v->why == CHOOSE_FASTER)
		tell(s, "Runner-up: %s, %s an operation.", second, units_time(ns).text);
	else if (v->why == CHOOSE_LEANER)
		tell(s, "Runner-up: %s, which takes %s beside the objects, %s more.", second,
		     units_bytes(memory_of(s, v->second)).text,
		     units_bytes(memory_of(s, v->second) - memory_of(s, v->best)).text);
	else
		tell(s, "Runner-up: %s, %s an operation%s.", second, units_time(ns).text,
		     asks_less(s) ? "; it is harder to use right" : "");
}

static void tell_excluded(struct sentences *s)
{
	const struct choose_work *w = s->work;
	size_t i;

	for (i = 0; i < w->ways; i++) {
		const struct choose_way *way = &w->way[i];

		if (!s->verdict->excluded[i])
			continue;
		tell(s, "Not %s, because readers sleep: %s", way->name, way->may_not_block);
		if (way->wait_ns >= 0 && way->held_back >= 0)
			tell_on(s,
				"; one that stayed %s made others wait up to %s for memory, and %s "
				"wait, at %.0f updates a second",
				units_time(w->slow_ns).text, units_time(way->wait_ns).text,
				units_bytes(way->held_back).text, w->update_rate);
		tell_on(s, ".");
	}
}

static void tell_from(struct sentences *s, const struct choose_change *c)
{
	const char *more = c->above ? "From" : "Up to", *on = c->above ? " on" : "";
	struct units_text from = in_units(c->axis, rounded(c->from), 2);

	if (c->axis == CHOOSE_UPDATES)
		tell(s, "%s about %s updates%s: ", more, from.text, on);
	else if (c->axis == CHOOSE_HOLD)
		tell(s, "%s about %s of hold%s: ", more, from.text, on);
	else
		tell(s, "%s about %s objects%s: ", more, from.text, on);
}

static void tell_change(struct sentences *s, const struct choose_change *c)
{
	const struct choose_work *w = s->work;
	const struct choose_point *point = &w->way[c->way].point[c->axis][c->point];
	const struct choose_point *than =
		&w->way[s->verdict->best].point[c->axis][c->point];
	struct units_text seen = in_units(c->axis, w->value[c->axis][c->point], 3);
	const char *what = c->axis == CHOOSE_UPDATES ? " updates" :
			   c->axis == CHOOSE_HOLD    ? " of hold" :
			   w->value[c->axis][c->point] == 1 ? " object" :
							      " objects";

	tell_from(s, c);
	tell_on(s, "%s, ", name_of(s, c->way));
	if (c->why == CHOOSE_FASTER)
		tell_on(s, "which takes x%.2g as long an operation at %s%s.", point->ns / than->ns,
			seen.text, what);
	else if (c->why == CHOOSE_LEANER)
		tell_on(s, "as fast and in less memory at %s%s.", seen.text, what);
	else
		tell_on(s, "as fast within the scatter, and asking less, at %s%s.", seen.text,
			what);
}

static bool changes(const struct choose_verdict *v, size_t axis)
{
	size_t i;

	for (i = 0; i < v->changes; i++)
		if (v->change[i].axis == axis)
			return true;
	return false;
}

/* Where others were measured, and the answer stayed. */
static void tell_unchanged(struct sentences *s)
{
	static const char *const what[CHOOSE_AXES] = { " updates", " of hold", " objects" };
	const struct choose_verdict *v = s->verdict;
	const struct choose_work *w = s->work;
	const char *before = "The answer is the same";
	enum choose_axis axis;
	size_t i;

	for (i = 0; i < CHOOSE_AXES; i++) {
		axis = (enum choose_axis)i;
		if (v->low[i] == v->high[i] || changes(v, i))
			continue;
		if (*before == 'T')
			tell(s, "%s", before);
		tell_on(s, "%s %s to %s%s", *before == 'T' ? " from" : ",",
			in_units(axis, w->value[i][v->low[i]], 3).text,
			in_units(axis, w->value[i][v->high[i]], 3).text, what[i]);
		before = ",";
	}
	if (*before != 'T')
		tell_on(s, ", one changed at a time.");
}

static void tell_block(struct sentences *s)
{
	const struct choose_verdict *v = s->verdict;

	if (!s->work->block && v->blocking != v->best) {
		if (v->blocking != CHOOSE_NOTHING)
			tell(s, "If readers have to sleep: %s, because %s.",
			     name_of(s, v->blocking), s->work->way[v->best].may_not_block);
		else
			tell(s, "If readers have to sleep: nothing that was measured here.");
	}
	if (s->work->block && v->unblocked != v->best)
		tell(s, "If they need not: %s.", name_of(s, v->unblocked));
}

size_t choose_for_words(const struct choose_work *work, const struct choose_verdict *verdict,
			char line[CHOOSE_LINES_MAX][CHOOSE_LINE])
{
	struct sentences s = { line, 0, work, verdict };
	size_t i;

	if (verdict->best == CHOOSE_NOTHING) {
		tell(&s, "Nothing was measured that could be used.");
		tell_excluded(&s);
		return s.count;
	}
	tell_best(&s);
	tell_second(&s);
	tell_excluded(&s);
	for (i = 0; i < verdict->changes; i++)
		tell_change(&s, &verdict->change[i]);
	if (verdict->why != CHOOSE_ONLY)
		tell_unchanged(&s);
	tell_block(&s);
	if (verdict->noise > SCATTERS)
		tell(&s,
		     "The figures scatter by %.0f %%: the machine was busy. Take this with care, "
		     "or run it again when it is idle.",
		     100 * verdict->noise);
	return s.count;
}
