/* SPDX-License-Identifier: MIT */
/* lull top: the lines of --once and of the screen. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/units.h"
#include "top/words.h"

/* Text from the process passes through here before it reaches a terminal. */
static void say(struct top_lines *lines, enum top_look look, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void say(struct top_lines *lines, enum top_look look, const char *fmt, ...)
{
	va_list ap;
	char *text;
	size_t end;

	if (lines->count == TOP_LINES)
		return;
	text = lines->text[lines->count];
	va_start(ap, fmt);
	vsnprintf(text, TOP_COLUMNS, fmt, ap);
	va_end(ap);
	text[lines->columns] = '\0';
	for (end = strlen(text); end && text[end - 1] == ' ';)
		text[--end] = '\0';
	top_clean(text);
	lines->look[lines->count++] = look;
}

static void say_process(struct top_lines *lines, const struct top_view *view)
{
	struct units_text up = units_age(view->up_s);

	say(lines, TOP_TITLE, "process %u (%s), up %s, threads %u, fence %s%s", view->pid,
	    view->command, view->up_known ? up.text : "?", view->threads,
	    top_fence_name(view->fence), view->debug ? ", debug build" : "");
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* "label   rate   total", 38 columns wide. */
static void count_words(char *to, size_t size, const struct top_view *view, unsigned i)
{
	const struct top_counter *c = &top_counters[i];
	struct units_text rate = top_word_rate(&view->rate[i]),
			total = top_word_count(view->total[i]);

	if (c->bytes) {
		total = units_bytes((double)view->total[i]);
		if (view->rate[i].known)
			rate = units_bytes(view->rate[i].per_s);
	}
	snprintf(to, size, "%-14s%11s%13s", c->label, rate.text, total.text);
}

static void say_counts(struct top_lines *lines, const struct top_view *view)
{
	char left[96], right[96];
	unsigned i;

	snprintf(left, sizeof(left), "%-14s%11s%13s", "", "per second", "ever");
	say(lines, TOP_HEADING, "%-38s   %s", left, left);
	for (i = 0; i < TOP_COUNTERS / 2; i++) {
		count_words(left, sizeof(left), view, i);
		count_words(right, sizeof(right), view, i + TOP_COUNTERS / 2);
		say(lines, TOP_PLAIN, "%-38s   %s", left, right);
	}
}

/* ---- latency --------------------------------------------------------------------------------- */

static void say_latency(struct top_lines *lines, const char *what, const struct top_latency *l)
{
	struct units_text mean = units_time(l->mean), p50 = units_time(l->p50),
			p99 = units_time(l->p99), max = units_time(l->max),
			count = top_word_count(l->count);
	char bound[40];

	snprintf(bound, sizeof(bound), "%s%s", l->max_exact ? "" : "< ", max.text);
	if (!l->known)
		say(lines, TOP_WARN, "  %-16s the page contradicts itself", what);
	else if (!l->timed)
		say(lines, TOP_PLAIN, "  %-16s%11s%11s%11s%13s%10s", what, "-", "-", "-", "-",
		    count.text);
	else
		say(lines, TOP_PLAIN, "  %-16s%11s%11s%11s%13s%10s", what, mean.text, p50.text,
		    p99.text, bound, count.text);
}

static void say_latencies(struct top_lines *lines, const struct top_view *view)
{
	struct units_text seconds = units_age(view->seconds);
	char what[48];

	say(lines, TOP_HEADING, "%-18s%11s%11s%11s%13s%10s", "grace periods", "mean", "p50", "p99",
	    "max", "number");
	snprintf(what, sizeof(what), "last %s", seconds.text);
	say_latency(lines, what, &view->lately);
	say_latency(lines, "ever", &view->ever);
}

/* ---- the backlog ----------------------------------------------------------------------------- */

#define BAR 20u

/* Fill as much of the bar as is used of the limit. */
static void fill_bar(char *bar, const struct top_backlog *b)
{
	double part = b->hard ? (double)b->now / (double)b->hard : 0;
	unsigned full = part >= 1 ? BAR : (unsigned)(part * BAR), i;

	for (i = 0; i < BAR; i++)
		bar[i] = i < full ? '#' : '.';
	bar[BAR] = '\0';
}

static void say_backlog(struct top_lines *lines, const char *what, const struct top_backlog *b,
			struct units_text (*word)(uint64_t))
{
	struct units_text now = word(b->now), peak = word(b->peak), hard = word(b->hard);
	bool over = b->hard && b->now > b->hard;
	enum top_look look = over ? TOP_WARN : b->now ? TOP_PLAIN : TOP_CALM;
	char bar[BAR + 1];

	fill_bar(bar, b);
	say(lines, look, "  %-6s [%s] %11s  of %11s   peak %11s%s", what, bar, now.text,
	    b->hard ? hard.text : "no limit", peak.text, over ? "  OVER" : "");
}

static struct units_text bytes_word(uint64_t bytes)
{
	return units_bytes((double)bytes);
}

static void say_backlogs(struct top_lines *lines, const struct top_view *view)
{
	say(lines, TOP_HEADING, "waiting to be reclaimed");
	say_backlog(lines, "items", &view->items, top_word_count);
	say_backlog(lines, "bytes", &view->bytes, bytes_word);
	say(lines, TOP_PLAIN, "  last scan: %s hazard pointers in use, %s objects kept for them",
	    top_word_count(view->slots_in_use).text, top_word_count(view->kept).text);
}

/* ---- who waits for whom ---------------------------------------------------------------------- */

static void thread_words(char *to, size_t size, const struct top_thread *t)
{
	if (!t->tid)
		snprintf(to, size, "nobody in particular");
	else if (t->tid > TOP_PID_MAX)
		snprintf(to, size, "?");
	else
		snprintf(to, size, "%u %.15s", t->tid, t->name);
}

static void say_holder(struct top_lines *lines, const struct top_wait *w)
{
	char depth[32] = "", where[80] = "", site[128] = "";

	if (w->depth)
		snprintf(depth, sizeof(depth), "depth %u, ", w->depth);
	if (!w->holder.gone && w->holder.state != 'R' && w->holder.where[0])
		snprintf(where, sizeof(where), " in %s", w->holder.where);
	if (w->site_name[0])
		snprintf(site, sizeof(site), "; %s %s",
			 w->kind == LULL_WAIT_CALLBACK ? "function" : "entered at", w->site_name);
	if (w->holder.tid)
		say(lines, w->holder.gone ? TOP_WARN : TOP_PLAIN,
		    "             %sthe thread %s%s%s", depth,
		    w->holder.gone || w->holder.state ? top_state_name(&w->holder) : "is not known",
		    where, site);
}

static void say_wait(struct top_lines *lines, const struct top_wait *w)
{
	struct units_text age = units_age((double)w->age_ns / 1e9);
	char waiter[40], holder[40], more[40] = "";

	thread_words(waiter, sizeof(waiter), &w->waiter);
	thread_words(holder, sizeof(holder), &w->holder);
	if (w->holders > 1)
		snprintf(more, sizeof(more), ", one of %u", w->holders);
	if (w->kind == LULL_WAIT_CALLBACK)
		say(lines, TOP_PLAIN, "%11s  callback on %s does not return",
		    w->age_known ? age.text : "?", holder);
	else
		say(lines, TOP_PLAIN, "%11s  %s: %s waits for %s%s", w->age_known ? age.text : "?",
		    lull_wait_kind_name(w->kind), waiter, holder, more);
	say_holder(lines, w);
}

static void say_waits(struct top_lines *lines, const struct top_view *view)
{
	unsigned i;

	say(lines, TOP_HEADING, "who waits for whom%s", view->nr_waits ? "" : ": nobody");
	for (i = 0; i < view->nr_waits; i++)
		say_wait(lines, &view->waits[i]);
}

void top_lines(struct top_lines *lines, const struct top_view *view, unsigned columns)
{
	lines->count = 0;
	lines->columns = columns < TOP_COLUMNS ? columns : TOP_COLUMNS - 1;
	say_process(lines, view);
	say_counts(lines, view);
	say_latencies(lines, view);
	say_backlogs(lines, view);
	say_waits(lines, view);
}
