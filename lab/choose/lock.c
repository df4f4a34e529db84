/* SPDX-License-Identifier: MIT */
/* The choice of a lock, and in sentences; see choose.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose/choose.h"
#include "common/units.h"

/*
 * Keep a gap between level and behind, as for workloads, so that two runs do not name two locks. Beside other processes
 * a lock repeats less well than an operation alone does, so the gap is wider.
 */
#define LEVEL 0.95	/* x the work of the best one, at least */
#define BEHIND 0.90	/* x the same, at most */
#define NOTICED_MOST 0.08 /* least gain of long sections that is noticed */
#define NOTICED 0.05	/* part of a section that lock and unlock must save to be noticed */
#define COLLAPSES 0.8	/* x the first one, in any case: cannot be recommended */
#define SCATTERED 0.25	/* more than this is no verdict */

/* ---- figures --------------------------------------------------------------------------------- */

/*
 * Return the work that @lock gets done, divided by @than's, in one case, round by round; median 0: one was not
 * measured.
 */
static struct choose_ratio times_in(const struct choose_locks *in, size_t lock, size_t than, size_t at)
{
	return choose_ratio(&in->lock[than].section[at], &in->lock[lock].section[at]);
}

/* Return whether a case is one of those that decide, and was measured. */
static bool counts(const struct choose_locks *in, size_t at)
{
	return in->at[at].threads > 1 && !in->at[at].longer && in->lock[0].section[at].count;
}

static bool both_in(const struct choose_locks *in, size_t lock, size_t than, size_t at)
{
	return counts(in, at) && in->lock[lock].section[at].count && in->lock[than].section[at].count;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Put the rounds of both into one figure per round: the geometric mean over the cases. */
static void join_cases(const struct choose_locks *in, size_t lock, size_t than, struct choose_rounds joined[2])
{
	const size_t which[2] = { lock, than };
	double cases = 0;
	size_t i, j, k;

	joined[0].count = joined[1].count = CHOOSE_ROUNDS_MAX;
	memset(joined[0].ns, 0, sizeof(joined[0].ns));
	memset(joined[1].ns, 0, sizeof(joined[1].ns));
	for (i = 0; i < in->cases; i++) {
		if (!both_in(in, lock, than, i))
			continue;
		cases++;
		for (j = 0; j < 2; j++) {
			const struct choose_rounds *r = &in->lock[which[j]].section[i];

			joined[j].count = smaller(joined[j].count, r->count);
			for (k = 0; k < joined[j].count; k++)
				joined[j].ns[k] += log(r->ns[k]);
		}
	}
	for (j = 0; j < 2; j++) {
		joined[j].count = cases > 0 ? joined[j].count : 0;
		for (k = 0; k < joined[j].count; k++)
			joined[j].ns[k] = exp(joined[j].ns[k] / cases);
	}
}

/* The same over all cases. */
static struct choose_ratio times(const struct choose_locks *in, size_t lock, size_t than)
{
	struct choose_rounds joined[2];

	join_cases(in, lock, than, joined);
	return choose_ratio(&joined[1], &joined[0]);
}

static struct choose_gain gain_of(const struct choose_locks *in, size_t lock)
{
	struct choose_gain gain = { times(in, lock, 0).median, 0, CHOOSE_NOTHING };
	size_t i;

	for (i = 0; i < in->cases; i++) {
		double one = counts(in, i) ? times_in(in, lock, 0, i).median : 0;

		if (one > 0 && (gain.worst_case == CHOOSE_NOTHING || one < gain.worst)) {
			gain.worst = one;
			gain.worst_case = i;
		}
	}
	return gain;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Return whether the lock was measured, and is nowhere much worse than the usual lock. */
static bool is_usable(const struct choose_gain *gain, size_t lock)
{
	return gain[lock].mean > 0 && gain[lock].worst >= COLLAPSES;
}

/* Set the median noise of the locks that can be relied on, and the rounds in which all of them were compared. */
static void set_noise(const struct choose_locks *in, struct choose_lock_verdict *v)
{
	double noise[CHOOSE_LOCKS_MAX];
	size_t n = 0, i;

	v->rounds = CHOOSE_ROUNDS_MAX;
	for (i = 0; i < in->locks; i++) {
		struct choose_rounds joined[2];
		struct choose_ratio r;

		if (i == v->most || !is_usable(v->gain, i))
			continue;
		join_cases(in, i, v->most, joined);
		r = choose_ratio(&joined[0], &joined[1]);
		noise[n++] = (r.high - r.low) / 2 / r.median;
		v->rounds = smaller(v->rounds, smaller(joined[0].count, joined[1].count));
	}
	qsort(noise, n, sizeof(*noise), choose_compare);
	v->noise = n ? noise[n / 2] : 0;
}

static size_t most_done(const struct choose_locks *in, const struct choose_gain *gain)
{
	size_t most = CHOOSE_NOTHING, i;

	for (i = 0; i < in->locks; i++)
		if (is_usable(gain, i) &&
		    (most == CHOOSE_NOTHING || gain[i].mean > gain[most].mean))
			most = i;
	return most;
}

/* Prefer the first of two locks of equal effort: the one that got more done is another one in the next run. */
static bool is_easier(const struct choose_locks *in, size_t lock, size_t than)
{
	unsigned a = in->lock[lock].effort, b = in->lock[than].effort;

	return a < b || (a == b && lock < than);
}

/* The easiest of those that are level, beyond doubt, with the one that gets most done. */
static size_t easiest_level(const struct choose_locks *in, const struct choose_lock_verdict *v)
{
	size_t best = v->most, i;

	for (i = 0; i < in->locks; i++)
		if (is_usable(v->gain, i) && is_easier(in, i, best) && times(in, i, v->most).low >= LEVEL)
			best = i;
	return best;
}

/* Mark the locks that might be level with the best one and are easier, so that they would be named then. */
static bool find_close(const struct choose_locks *in, struct choose_lock_verdict *v)
{
	bool found = false;
	size_t i;

	for (i = 0; i < in->locks; i++) {
		if (!is_easier(in, i, v->best) || !is_usable(v->gain, i) || times(in, i, v->most).high < BEHIND)
			continue;
		v->close[i] = v->close[v->best] = found = true;
	}
	return found;
}

static bool saves_time(const struct choose_locks *in, size_t lock)
{
	const struct choose_lock *first = &in->lock[0], *best = &in->lock[lock];

	return best->alone_ns > 0 && first->alone_ns - best->alone_ns > NOTICED * in->section_ns;
}

static void set_longer(const struct choose_locks *in, struct choose_lock_verdict *out)
{
	size_t i;

	for (i = 0; i < in->cases; i++) {
		struct choose_ratio r = times_in(in, out->best, 0, i);

		if (!in->at[i].longer)
			continue;
		out->longer = r.median;
		out->pays_longer = r.median > 1 + NOTICED_MOST && r.low > 1;
	}
}

void choose_lock(const struct choose_locks *in, struct choose_lock_verdict *out)
{
	size_t i;

	memset(out, 0, sizeof(*out));
	out->best = CHOOSE_NOTHING;
	for (i = 0; i < in->locks; i++)
		out->gain[i] = gain_of(in, i);
	out->most = most_done(in, out->gain);
	if (out->most == CHOOSE_NOTHING)
		return;
	out->measured = true;
	set_noise(in, out);
	if (out->noise > SCATTERED)
		return;
	out->best = easiest_level(in, out);
	if (find_close(in, out)) {
		out->best = CHOOSE_NOTHING;
		return;
	}
	out->pays_alone = saves_time(in, out->best);
	set_longer(in, out);
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
	bool missing = false;
	size_t i;

	for (i = 0; i < in->cases; i++) {
		missing |= in->at[i].threads > 1 && !in->at[i].longer && !counts(in, i);
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
	add(t, ", sections %s %s%s", in->sleep ? "that sleep for" : "of", units_time(in->section_ns).text,
	    missing ? "; some of these were not measured" : "");
}

static void add_case(struct lock_text *t, const struct choose_locks *in, size_t at)
{
	add(t, "with %u threads", in->at[at].threads);
	if (in->at[at].hogs) {
		add(t, " beside ");
		add_hogs(t, in);
	}
}

/* Name the lock that got more done than the chosen one, if a reader would see that in the tables. */
static void add_lead(struct lock_text *t, const struct choose_locks *in, const struct choose_lock_verdict *v)
{
	char most[16], best[16];

	snprintf(most, sizeof(most), "%.2f", v->gain[v->most].mean);
	snprintf(best, sizeof(best), "%.2f", v->gain[v->best].mean);
	if (strcmp(most, best))
		add(t, " %s got %s x; within %.0f %% is called level.", in->lock[v->most].name, most, 100 * (1 - LEVEL));
}

static void tell_choice(struct lock_text *t, const struct choose_locks *in,
			const struct choose_lock_verdict *v)
{
	const struct choose_gain *gain = &v->gain[v->best];
	const char *first = in->lock[0].name;

	if (v->best == 0) {
		add(t, "A lock that threads want at a time: %s will do, none that can be relied on gets more than %.0f %% more "
		       "done (", first, 100 * (1 / LEVEL - 1));
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
	add_lead(t, in, v);
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

/* Tell where else the lock pays, and where it does not. */
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
	add(t, "The worst choice: %s, %.2f x %s ", in->lock[lowest].name, v->gain[lowest].worst,
	    in->lock[0].name);
	add_case(t, in, v->gain[lowest].worst_case);
	add(t, ".");
	end_line(t);
}

static void tell_nobody(struct lock_text *t, const struct choose_locks *in,
			const struct choose_lock_verdict *v)
{
	size_t i, left = 0;

	if (v->rounds < CHOOSE_ROUNDS_LEAST) {
		add(t, "A lock that threads want at a time: no verdict, because %zu round%s of measurements cannot say how the "
		       "figures scatter. What is missing: at least %d rounds (--runs).",
		    v->rounds, v->rounds == 1 ? "" : "s", CHOOSE_ROUNDS_LEAST);
		end_line(t);
		return;
	}
	if (v->noise > SCATTERED) {
		add(t, "A lock that threads want at a time: no verdict, because the figures scatter by %s%.0f %%, and a verdict "
		       "takes %.0f %% at most. What is missing: an idle machine, or more time (--seconds).",
		    v->noise > 1 ? "more than " : "", 100 * fmin(v->noise, 1), 100 * SCATTERED);
		end_line(t);
		return;
	}
	for (i = 0; i < in->locks; i++)
		left += v->close[i];
	add(t, "A lock that threads want at a time: no winner, because ");
	for (i = 0; i < in->locks; i++) {
		if (!v->close[i])
			continue;
		left--;
		add(t, "%s (%.2f x %s)%s", in->lock[i].name, v->gain[i].mean, in->lock[0].name,
		    left > 1 ? ", " : left ? " and " : "");
	}
	add(t, " are too close to each other.");
	end_line(t);
}

size_t choose_lock_words(const struct choose_locks *in, const struct choose_lock_verdict *verdict,
			 char line[CHOOSE_LINES_MAX][CHOOSE_LINE])
{
	struct lock_text t = { line, 0, 0 };

	if (!verdict->measured)
		return 0;
	if (verdict->best == CHOOSE_NOTHING) {
		tell_nobody(&t, in, verdict);
		return t.count;
	}
	tell_choice(&t, in, verdict);
	tell_else(&t, in, verdict);
	tell_collapse(&t, in, verdict);
	return t.count;
}
