/* SPDX-License-Identifier: MIT */
/* Shares of the time of a command; see budget.h. */
#include "engine/budget.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/bench.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/options.h"

#define SHORT_SECONDS 1.0 /* less is for trying things out */

double budget_for(struct budget *b, double gone, double share, double rest, double least)
{
	double left = b->seconds - gone, one = left > 0 ? left * share / rest : 0;

	if (b->given > 0 && b->given < gone)
		one *= b->given / gone;
	if (one < least)
		return 0;
	b->given += one;
	return one;
}

/* ---- the time of this command ---------------------------------------------------------------- */

static struct {
	struct budget b;
	uint64_t start;
	double rest, planned_ns;
	unsigned runs; /* that were asked for */
	bool started;  /* a table has had its share */
	json_t *left_out;
} now;

static double gone(void)
{
	return (double)(bench_now_ns() - now.start) / 1e9;
}

void budget_begin(const struct options *opt, double standard, double shares)
{
	now.b.seconds = opt->seconds > 0 ? opt->seconds : standard;
	now.rest = shares;
	now.runs = opt->runs;
	now.start = bench_now_ns();
	now.left_out = json_array();
}

void budget_leave_out(const char *name, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, name);
	vsnprintf(text, sizeof(text), name, ap);
	va_end(ap);
	json_array_append_new(now.left_out, json_string(text));
}

void budget_runs(unsigned done, const char *name)
{
	if (done < now.runs)
		budget_leave_out("%u of %u runs of %s", now.runs - done, now.runs, name);
}

double budget_next(double share, double least, const char *name)
{
	double before = gone(), one;

	/* Work before the first table makes none of them slower. */
	if (!now.started)
		now.b.given = before;
	one = budget_for(&now.b, before, share, now.rest, now.started && !budget_is_short() ? least : 0);
	now.rest -= share;
	if (now.started && one <= 0 && !budget_is_short()) {
		budget_leave_out("%s", name);
		return 0;
	}
	now.started = true;
	return one > 0 ? one : 1e-9;
}

bool budget_is_over(double part)
{
	return gone() >= part * now.b.seconds && !budget_is_short();
}

double budget_left(void)
{
	double left = now.b.seconds - gone();

	return left > 0 ? left : 0;
}

bool budget_is_short(void)
{
	return now.b.seconds < SHORT_SECONDS;
}

uint64_t budget_most_ns(double seconds)
{
	return budget_is_short() ? 0 : (uint64_t)(seconds * 1e9) + 1;
}

struct budget_rounds budget_rounds(double seconds)
{
	return (struct budget_rounds){ .until = bench_now_ns() + (uint64_t)(seconds * 1e9) };
}

bool budget_round(struct budget_rounds *r, unsigned least, unsigned most)
{
	uint64_t time = bench_now_ns();

	if (r->done && time - r->from > r->longest_ns)
		r->longest_ns = time - r->from;
	if (r->done == most || (r->done >= least && time + r->longest_ns > r->until && !budget_is_short()))
		return false;
	r->from = time;
	r->done++;
	return true;
}

void budget_planned(double ns)
{
	now.planned_ns += ns;
}

void budget_end(struct jsonout *json)
{
	json_t *root = jsonout_root(json);
	size_t count = json_array_size(now.left_out), i;

	for (i = 0; i < count; i++)
		printf("%s%s", i ? ", " : "\nleft out, for there was no time left: ",
		       json_string_value(json_array_get(now.left_out, i)));
	if (count)
		puts("; a longer --seconds has all");
	jsonout_set(root, "seconds", json_real(now.b.seconds));
	jsonout_set(root, "planned_seconds", json_real((now.planned_ns + (double)bench_planned_ns) / 1e9));
	jsonout_set(root, "left_out", now.left_out);
}
