/* SPDX-License-Identifier: MIT */
/* The choice of a lock, and in sentences; see choose.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "choose/choose.h"
#include "common/units.h"

#define TIE_LEAST 0.08	/* closer than this is the same: the next run may turn it round */
#define TIE_MOST 0.25	/* more scatter than this does not make everything the same */
#define NOTICED 0.05	/* of a section: what lock and unlock must save to be noticed */
#define COLLAPSES 0.8	/* x the first one, in any case: cannot be recommended */
#define SCATTERED 0.25	/* more than this is worth a word */

/* ---- figures --------------------------------------------------------------------------------- */

static double tie(double scatter)
{
	return scatter < TIE_LEAST ? TIE_LEAST : scatter > TIE_MOST ? TIE_MOST : scatter;
}

/* 0 where one of the two was not measured. */
static double times_first(const struct choose_locks *in, size_t lock, size_t at)
{
	double first = in->lock[0].rate[at];

	return first > 0 ? in->lock[lock].rate[at] / first : 0;
}

static bool counts(const struct choose_locks *in, size_t at)
{
	return in->at[at].threads > 1 && !in->at[at].longer;
}

static struct choose_gain gain_of(const struct choose_locks *in, size_t lock)
{
	struct choose_gain gain = { 0, 0, CHOOSE_NOTHING };
	double logs = 0, cases = 0;
	size_t i;

	for (i = 0; i < in->cases; i++) {
		double times = counts(in, i) ? times_first(in, lock, i) : 0;

		if (times <= 0)
			continue;
		logs += log(times);
		cases++;
		if (gain.worst_case == CHOOSE_NOTHING || times < gain.worst) {
			gain.worst = times;
			gain.worst_case = i;
		}
	}
	if (cases > 0)
		gain.mean = exp(logs / cases);
	return gain;
}

/* On average over the cases. */
static double spread_of(const struct choose_locks *in, size_t lock)
{
	double sum = 0, cases = 0;
	size_t i;

	for (i = 0; i < in->cases; i++)
		if (counts(in, i) && in->lock[lock].rate[i] > 0) {
			sum += in->lock[lock].spread[i];
			cases++;
		}
	return cases > 0 ? sum / cases : 0;
}

static double noise_of(const struct choose_locks *in)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < in->locks; i++)
		sum += spread_of(in, i);
	return sum / (double)in->locks;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Measured, and nowhere much worse than what everybody takes. */
static bool is_usable(const struct choose_gain *gain, size_t lock)
{
	return gain[lock].mean > 0 && gain[lock].worst >= COLLAPSES;
}

/* Less effort first, then more done, of those that are level with the one that gets most done. */
static size_t pick(const struct choose_locks *in, const struct choose_gain *gain)
{
	size_t most = CHOOSE_NOTHING, best, i;

	for (i = 0; i < in->locks; i++)
		if (is_usable(gain, i) &&
		    (most == CHOOSE_NOTHING || gain[i].mean > gain[most].mean))
			most = i;
	best = most;
	for (i = 0; i < in->locks && most != CHOOSE_NOTHING; i++) {
		double scatter = (spread_of(in, i) + spread_of(in, most)) / 2;

		if (!is_usable(gain, i) || gain[i].mean < gain[most].mean * (1 - tie(scatter)))
			continue;
		if (in->lock[i].effort < in->lock[best].effort ||
		    (in->lock[i].effort == in->lock[best].effort && gain[i].mean > gain[best].mean))
			best = i;
	}
	return best;
}

static bool saves_time(const struct choose_locks *in, size_t lock)
{
	const struct choose_lock *first = &in->lock[0], *best = &in->lock[lock];

	return best->alone_ns > 0 && first->alone_ns - best->alone_ns > NOTICED * in->section_ns;
}

void choose_lock(const struct choose_locks *in, struct choose_lock_verdict *out)
{
	size_t i;

	memset(out, 0, sizeof(*out));
	for (i = 0; i < in->locks; i++)
		out->gain[i] = gain_of(in, i);
	out->best = pick(in, out->gain);
	if (out->best == CHOOSE_NOTHING)
		return;
	out->pays_alone = saves_time(in, out->best);
	out->noise = noise_of(in);
	for (i = 0; i < in->cases; i++) {
		double scatter = (in->lock[out->best].spread[i] + in->lock[0].spread[i]) / 2;

		if (!in->at[i].longer)
			continue;
		out->longer = times_first(in, out->best, i);
		out->pays_longer = out->longer > 1 + tie(scatter);
	}
}

/* ---- sentences ------------------------------------------------------------------------------- */

struct lock_text {
	char (*line)[CHOOSE_LINE];
	size_t count, length;
};

/* More of the line; the next one after end_line(). */
__attribute__((format(printf, 2, 3))) static void add(struct lock_text *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(t->line[t->count] + t->length, CHOOSE_LINE - t->length, format, ap);
	va_end(ap);
	t->length = strlen(t->line[t->count]);
}

static void end_line(struct lock_text *t)
{
	t->count++;
	t->length = 0;
}

static bool with_hogs(const struct choose_locks *in)
{
	size_t i;

	for (i = 0; i < in->cases; i++)
		if (counts(in, i) && in->at[i].hogs)
			return true;
	return false;
}

static void add_hogs(struct lock_text *t, const struct choose_locks *in)
{
	add(t, "%u busy process%s", in->hogs, in->hogs == 1 ? "" : "es");
}

/* "2 to 4 threads, with and without 2 busy processes beside them" */
static void add_cases(struct lock_text *t, const struct choose_locks *in)
{
	unsigned least = 0, most = 0;
	size_t i;

	for (i = 0; i < in->cases; i++) {
		if (!counts(in, i))
			continue;
		least = !least || in->at[i].threads < least ? in->at[i].threads : least;
		most = in->at[i].threads > most ? in->at[i].threads : most;
	}
	if (least == most)
		add(t, "%u threads", most);
	else
		add(t, "%u to %u threads", least, most);
	if (with_hogs(in)) {
		add(t, ", with and without ");
		add_hogs(t, in);
		add(t, " beside them");
	}
	add(t, ", sections %s %s", in->sleep ? "that sleep for" : "of",
	    units_time(in->section_ns).text);
}

static void add_case(struct lock_text *t, const struct choose_locks *in, size_t at)
{
	add(t, "with %u threads", in->at[at].threads);
	if (in->at[at].hogs) {
		add(t, " beside ");
		add_hogs(t, in);
	}
}

static void tell_choice(struct lock_text *t, const struct choose_locks *in,
			const struct choose_lock_verdict *v)
{
	const struct choose_gain *gain = &v->gain[v->best];
	const char *first = in->lock[0].name;

	if (v->best == 0) {
		add(t, "A lock that threads want at a time: %s will do, none that can be relied on "
		       "gets more done beyond the scatter (", first);
		add_cases(t, in);
		add(t, ").");
	} else {
		add(t, "A lock that threads want at a time: use %s, which gets %.2f x as much done as %s, ",
		    in->lock[v->best].name, gain->mean, first);
		add(t, "%.2f x at worst, ", gain->worst);
		add_case(t, in, gain->worst_case);
		add(t, " (");
		add_cases(t, in);
		add(t, "; geometric mean).");
	}
	end_line(t);
}

/* "where nobody waits (13 ns for lock and unlock, pthread 19 ns)" */
static void add_alone(struct lock_text *t, const struct choose_locks *in, size_t best)
{
	add(t, "where nobody waits (lock and unlock: %s, %s %s)",
	    units_time(in->lock[best].alone_ns).text, in->lock[0].name,
	    units_time(in->lock[0].alone_ns).text);
}

static void add_longer(struct lock_text *t, const struct choose_locks *in, double times)
{
	add(t, "where sections take %s (%.2f x)", units_time(in->longer_ns).text, times);
}

/* Where it pays beside that, and where it does not. */
static void tell_else(struct lock_text *t, const struct choose_locks *in,
		      const struct choose_lock_verdict *v)
{
	bool alone = in->lock[v->best].alone_ns > 0 && in->lock[0].alone_ns > 0;
	bool longer = v->longer > 0, differ = alone && longer && v->pays_alone != v->pays_longer;

	if (!v->best || (!alone && !longer))
		return;
	add(t, (alone ? v->pays_alone : v->pays_longer) ? "It is also faster " : "It gains nothing ");
	if (alone)
		add_alone(t, in, v->best);
	if (alone && longer)
		add(t, differ ? (v->pays_longer ? "; it is also faster " : "; it gains nothing ") :
				(v->pays_alone ? " and " : " or "));
	if (longer)
		add_longer(t, in, v->longer);
	add(t, ".");
	end_line(t);
}

/* The one that can go wrong most. */
static void tell_collapse(struct lock_text *t, const struct choose_locks *in,
			  const struct choose_lock_verdict *v)
{
	size_t lowest = v->best, i;

	for (i = 0; i < in->locks; i++)
		if (v->gain[i].mean > 0 && v->gain[i].worst < v->gain[lowest].worst)
			lowest = i;
	if (lowest == v->best || v->gain[lowest].worst >= COLLAPSES)
		return;
	add(t, "The worst to be had: %s, %.2f x %s ", in->lock[lowest].name, v->gain[lowest].worst,
	    in->lock[0].name);
	add_case(t, in, v->gain[lowest].worst_case);
	add(t, ".");
	end_line(t);
}

size_t choose_lock_words(const struct choose_locks *in, const struct choose_lock_verdict *verdict,
			 char line[CHOOSE_LINES_MAX][CHOOSE_LINE])
{
	struct lock_text t = { line, 0, 0 };

	if (verdict->best == CHOOSE_NOTHING)
		return 0;
	tell_choice(&t, in, verdict);
	tell_else(&t, in, verdict);
	tell_collapse(&t, in, verdict);
	if (verdict->noise > SCATTERED) {
		add(&t, "The figures scatter by %.0f %%: on a machine that is idle they tell more.",
		    100 * verdict->noise);
		end_line(&t);
	}
	return t.count;
}
