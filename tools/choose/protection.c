/* SPDX-License-Identifier: MIT */
/* The recommendation; see choose.h. */
#include "choose/choose.h"
#include "common/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TIE_LEAST 0.05 /* closer than this is the same: the next run may turn it round */
#define TIE_MOST 0.25  /* more scatter than this does not make everything the same */
#define NOISY 0.20
#define BIG_BACKLOG 1000000.0 /* bytes worth a word */
#define MUCH_LESS 3 /* times less */

/* ---- figures --------------------------------------------------------------------------------- */

static bool measured(const struct choose_row *row, size_t fraction)
{
	return row->family != CHOOSE_UNPROTECTED && row->mops[fraction] > 0;
}

/* How far apart two figures must be to count as different. */
static double margin(const struct choose_row *a, const struct choose_row *b, size_t fraction)
{
	double scatter = (a->spread[fraction] + b->spread[fraction]) / 2;

	return scatter < TIE_LEAST ? TIE_LEAST : scatter > TIE_MOST ? TIE_MOST : scatter;
}

static bool as_fast(const struct choose_row *a, const struct choose_row *best, size_t fraction)
{
	return a->mops[fraction] >= best->mops[fraction] * (1 - margin(a, best, fraction));
}

/*
 * The fastest of a family (CHOOSE_UNPROTECTED: of any), with or without those that ask for
 * something.
 */
static size_t fastest_of(const struct choose_input *in, size_t fraction, enum choose_family family,
			 bool demanding)
{
	size_t best = CHOOSE_NOTHING, i;

	for (i = 0; i < in->rows; i++) {
		const struct choose_row *row = &in->row[i];

		if (!measured(row, fraction) || (row->demand && !demanding) ||
		    (family != CHOOSE_UNPROTECTED && row->family != family))
			continue;
		if (best == CHOOSE_NOTHING || row->mops[fraction] > in->row[best].mops[fraction])
			best = i;
	}
	return best;
}

/* Less effort first, then more speed. */
static size_t easiest_as_fast(const struct choose_input *in, size_t fraction, size_t fastest)
{
	size_t best = fastest, i;

	for (i = 0; i < in->rows; i++) {
		const struct choose_row *row = &in->row[i], *now = &in->row[best];

		if (!measured(row, fraction) || row->demand ||
		    !as_fast(row, &in->row[fastest], fraction))
			continue;
		if (row->effort < now->effort ||
		    (row->effort == now->effort && row->mops[fraction] > now->mops[fraction]))
			best = i;
	}
	return best;
}

static size_t least_effort(const struct choose_input *in, size_t fraction)
{
	size_t best = CHOOSE_NOTHING, i;

	for (i = 0; i < in->rows; i++) {
		const struct choose_row *row = &in->row[i], *now;

		if (!measured(row, fraction) || row->demand)
			continue;
		now = best == CHOOSE_NOTHING ? row : &in->row[best];
		if (best == CHOOSE_NOTHING || row->effort < now->effort ||
		    (row->effort == now->effort && row->mops[fraction] > now->mops[fraction]))
			best = i;
	}
	return best;
}

static struct choose_pick pick_at(const struct choose_input *in, size_t fraction)
{
	struct choose_pick pick = { CHOOSE_NOTHING, CHOOSE_NOTHING, CHOOSE_NOTHING,
				    CHOOSE_NOTHING };
	size_t beyond;

	pick.fastest = fastest_of(in, fraction, CHOOSE_UNPROTECTED, false);
	if (pick.fastest == CHOOSE_NOTHING)
		return pick;
	pick.row = easiest_as_fast(in, fraction, pick.fastest);
	pick.least = least_effort(in, fraction);
	beyond = fastest_of(in, fraction, CHOOSE_UNPROTECTED, true);
	if (in->row[beyond].demand && !as_fast(&in->row[pick.fastest], &in->row[beyond], fraction))
		pick.beyond = beyond;
	return pick;
}

static double median_spread(const struct choose_input *in)
{
	double v[256];
	size_t n = 0, i, j;

	for (i = 0; i < in->rows; i++)
		for (j = 0; j < in->percents && n < 256; j++)
			if (measured(&in->row[i], j)) {
				size_t at = n++;

				for (; at && v[at - 1] > in->row[i].spread[j]; at--)
					v[at] = v[at - 1];
				v[at] = in->row[i].spread[j];
			}
	return n ? v[n / 2] : 0;
}

/*
 * Where the lines of the best lock and the best deferral cross, the last time, coming from fewer
 * updates. Straight lines between the fractions that were measured.
 */
static double crossing(const struct choose_input *in)
{
	double result = -1, before = 0;
	size_t i, last = 0;

	for (i = 0; i < in->percents; i++) {
		size_t lock = fastest_of(in, i, CHOOSE_LOCK, false);
		size_t deferred = fastest_of(in, i, CHOOSE_DEFERRED, false);
		double ahead;

		if (lock == CHOOSE_NOTHING || deferred == CHOOSE_NOTHING)
			continue;
		ahead = in->row[deferred].mops[i] / in->row[lock].mops[i] - 1;
		if (before > 0 && ahead < 0)
			result = in->percent[last] +
				 (in->percent[i] - in->percent[last]) * before / (before - ahead);
		else if (ahead > 0)
			result = -1;
		before = ahead;
		last = i;
	}
	return result;
}

void choose(const struct choose_input *in, struct choose_result *out)
{
	size_t i;

	memset(out, 0, sizeof(*out));
	for (i = 0; i < in->percents; i++) {
		out->pick[i] = pick_at(in, i);
		if (out->pick[i].row != CHOOSE_NOTHING && out->pick[i].row != out->pick[i].least &&
		    !as_fast(&in->row[out->pick[i].least], &in->row[out->pick[i].row], i))
			out->matters = true;
	}
	out->noise = median_spread(in);
	out->crossing = crossing(in);
}

/* ---- words ----------------------------------------------------------------------------------- */

struct text {
	char (*line)[CHOOSE_LINE];
	size_t count;
};

/* A new line. */
__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...)
{
	va_list ap;

	if (t->count == CHOOSE_LINES_MAX)
		return;
	va_start(ap, format);
	vsnprintf(t->line[t->count++], CHOOSE_LINE, format, ap);
	va_end(ap);
}

/* More on the last one. */
__attribute__((format(printf, 2, 3))) static void go_on(struct text *t, const char *format, ...)
{
	char *line = t->line[t->count - 1];
	size_t length = strlen(line);
	va_list ap;

	va_start(ap, format);
	vsnprintf(line + length, CHOOSE_LINE - length, format, ap);
	va_end(ap);
}

static void range(char *to, size_t size, unsigned from, unsigned until)
{
	if (from == until)
		snprintf(to, size, from ? "%u %% updates" : "Lookups only", from);
	else
		snprintf(to, size, "%u to %u %% updates", from, until);
}

/*
 * One sentence for neighbouring fractions with the same pick, with the figures of the first of
 * them.
 */
static void say_pick(struct text *t, const struct choose_input *in, const struct choose_result *r,
		     size_t from, size_t until)
{
	const struct choose_pick *pick = &r->pick[from];
	const struct choose_row *row = &in->row[pick->row], *least = &in->row[pick->least];
	const struct choose_row *fastest = &in->row[pick->fastest];
	char when[64];

	range(when, sizeof(when), in->percent[from], in->percent[until]);
	say(t, "%s: %s, %.3g M operations/s on %u thread%s", when, row->name, row->mops[from],
	    in->threads, in->threads == 1 ? "" : "s");
	if (row != least)
		go_on(t, ", x%.3g %s", row->mops[from] / least->mops[from], least->name);
	if (row != fastest)
		go_on(t, "; %s is not faster by more than the figures scatter", fastest->name);
	go_on(t, ".");
}

/* Says where a scheme that asks for something would be faster still; each scheme once. */
static void say_beyond(struct text *t, const struct choose_input *in, const struct choose_result *r)
{
	size_t i, j;

	for (i = 0; i < in->percents; i++) {
		size_t beyond = r->pick[i].beyond;
		const struct choose_row *row, *pick;

		if (beyond == CHOOSE_NOTHING)
			continue;
		for (j = 0; j < i && r->pick[j].beyond != beyond; j++)
			;
		if (j < i)
			continue;
		row = &in->row[beyond];
		pick = &in->row[r->pick[i].row];
		say(t, "Where %s, %s is faster still: x%.3g %s at %u %% updates.", row->demand,
		    row->name, row->mops[i] / pick->mops[i], pick->name, in->percent[i]);
	}
}

/* The fastest for lookups of those that have the property; CHOOSE_NOTHING: there is none. */
static size_t fastest_with(const struct choose_input *in, bool (*has)(const struct choose_row *row))
{
	size_t best = CHOOSE_NOTHING, i;

	for (i = 0; i < in->rows; i++)
		if (measured(&in->row[i], 0) && has(&in->row[i]) &&
		    (best == CHOOSE_NOTHING || in->row[i].mops[0] > in->row[best].mops[0]))
			best = i;
	return best;
}

static bool keeps_for_long(const struct choose_row *row)
{
	return row->long_readers;
}

static bool counts(const struct choose_row *row)
{
	return row->long_readers && row->family == CHOOSE_LOCK;
}

static bool is_bounded(const struct choose_row *row)
{
	return row->bounded;
}

static void say_long_readers(struct text *t, const struct choose_input *in)
{
	size_t best = fastest_with(in, keeps_for_long), count = fastest_with(in, counts);

	if (best == CHOOSE_NOTHING)
		return;
	say(t,
	    "A reader that keeps what it found for long, or sleeps with it: %s, %.3g M "
	    "operations/s",
	    in->row[best].name, in->row[best].mops[0]);
	if (count != CHOOSE_NOTHING && count != best)
		go_on(t, ", x%.3g %s", in->row[best].mops[0] / in->row[count].mops[0],
		      in->row[count].name);
	go_on(t, ". With other schemes such a reader holds up updates, or the freeing of all memory.");
}

/* Where what was picked for the fewest updates lets memory wait for its slowest reader. */
static void say_bounded(struct text *t, const struct choose_input *in,
			const struct choose_pick *pick)
{
	size_t best = fastest_with(in, is_bounded);
	const struct choose_row *row;

	if (best == CHOOSE_NOTHING || pick->row == CHOOSE_NOTHING ||
	    in->row[pick->row].family != CHOOSE_DEFERRED || in->row[pick->row].bounded)
		return;
	row = &in->row[best];
	say(t,
	    "Where a reader may stall and memory must stay bounded all the same: %s, %.3g M "
	    "operations/s, x%.3g %s; at most %s waited.",
	    row->name, row->mops[0], row->mops[0] / in->row[pick->row].mops[0],
	    in->row[pick->row].name, units_bytes(row->waiting_bytes).text);
}

/* How long who waits for readers waits: the least, where that is much less than with the pick. */
static void say_waits(struct text *t, const struct choose_input *in, const struct choose_pick *pick)
{
	const struct choose_row *usual, *least = NULL;
	size_t i;

	if (pick->row == CHOOSE_NOTHING || in->row[pick->row].wait_ns <= 0)
		return;
	usual = &in->row[pick->row];
	for (i = 0; i < in->rows; i++)
		if (measured(&in->row[i], 0) && !in->row[i].demand && in->row[i].wait_ns > 0 &&
		    (!least || in->row[i].wait_ns < least->wait_ns))
			least = &in->row[i];
	if (least && least->wait_ns * MUCH_LESS < usual->wait_ns)
		say(t,
		    "An updater that waits for readers, one of whom is busy, goes on after %s "
		    "with %s, after %s with %s.",
		    units_time(least->wait_ns).text, least->name, units_time(usual->wait_ns).text, usual->name);
}

static void say_backlog(struct text *t, const struct choose_input *in)
{
	const struct choose_row *most = NULL, *least = NULL;
	size_t i;

	for (i = 0; i < in->rows; i++) {
		const struct choose_row *row = &in->row[i];

		if (row->family != CHOOSE_DEFERRED || !measured(row, 0))
			continue;
		if (!most || row->waiting_bytes > most->waiting_bytes)
			most = row;
		if (!least || row->waiting_bytes < least->waiting_bytes)
			least = row;
	}
	if (most && most->waiting_bytes >= BIG_BACKLOG)
		say(t, "Memory that waits to be freed: up to %s with %s, %s with %s.",
		    units_bytes(most->waiting_bytes).text, most->name,
		    units_bytes(least->waiting_bytes).text, least->name);
}

static void say_picks(struct text *t, const struct choose_input *in, const struct choose_result *r)
{
	size_t i, until;

	for (i = 0; i < in->percents; i = until + 1) {
		until = i;
		if (r->pick[i].row == CHOOSE_NOTHING)
			continue;
		while (until + 1 < in->percents && r->pick[until + 1].row == r->pick[i].row)
			until++;
		say_pick(t, in, r, i, until);
	}
}

size_t choose_words(const struct choose_input *in, const struct choose_result *result,
		    char line[CHOOSE_LINES_MAX][CHOOSE_LINE])
{
	struct text t = { line, 0 };
	size_t i, first = CHOOSE_NOTHING;

	for (i = in->percents; i-- > 0;)
		if (result->pick[i].row != CHOOSE_NOTHING)
			first = i;
	if (first == CHOOSE_NOTHING) {
		say(&t, "Nothing was measured that could be recommended.");
		return t.count;
	}
	if (result->noise > NOISY)
		say(&t,
		    "The figures scatter by %.0f %%: the machine was busy. Take this with care, "
		    "or run it again when it is idle.",
		    100 * result->noise);
	if (!result->matters)
		say(&t,
		    "It does not matter here: nothing is faster than %s beyond doubt. Take that.",
		    in->row[result->pick[first].least].name);
	else
		say_picks(&t, in, result);
	say_beyond(&t, in, result);
	if (result->matters && result->crossing >= 0)
		say(&t,
		    "From about %.0f %% updates on, a lock is faster than deferred reclamation.",
		    result->crossing);
	say_long_readers(&t, in);
	if (result->matters) {
		say_bounded(&t, in, &result->pick[first]);
		say_waits(&t, in, &result->pick[first]);
	}
	say_backlog(&t, in);
	return t.count;
}
