/* SPDX-License-Identifier: MIT */
/*
 * The report on the four ways to keep an object alive: the table of the slides with figures, the
 * slides' chart, and what happens around the workload that was described.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figures.h"
#include "common/options.h"
#include "common/units.h"
#include "report/page.h"
#include "instruments/read/predict.h"

#define OWN_COLOURS 900 /* of ways that are not among the schemes */

/* The last line of each cell is what the slides have there; they have no locks. */
static const struct way {
	const char *name, *light, *dark;
	unsigned mark;
	const char *readers, *memory, *duration, *retries, *deferred;
} ways[] = {
	{ "refcount", "#c8470a", "#ff9466", PLOT_SQUARE_FULL, "slow and unscalable", "O(objects)",
	  "can be long", "if any object is deleted", "none" },
	{ "percpu_ref", "#b0417f", "#f29ac6", PLOT_SQUARE, "fast and scalable", "O(objects x CPUs)",
	  "can be long", "if any object is deleted", "switch to global" },
	{ "rcu", "#0b57d0", "#6ea8fe", PLOT_CIRCLE_FULL, "fast and scalable", "O(objects)",
	  "bounded", "never", "can be large" },
	{ "hazptr", "#007a5a", "#4fd1a5", PLOT_DIAMOND_FULL, "fast and scalable", "~O(objects)",
	  "can be long", "if any object is deleted", "depends on the scan interval" },
	{ "rwlock", "#7a4a2b", "#d9a06f", PLOT_TRIANGLE, NULL, NULL, NULL, NULL, NULL },
	{ "percpu_rwsem", "#9c5f2e", "#e3b587", PLOT_TRIANGLE_FULL, NULL, NULL, NULL, NULL, NULL },
	{ "spinlock", "#6e40c9", "#b79bff", PLOT_CIRCLE, NULL, NULL, NULL, NULL, NULL },
};

#define NR_WAYS (sizeof(ways) / sizeof(ways[0]))

static const struct way *way_of(const struct tradeoff_result *t)
{
	size_t i;

	for (i = 0; i < NR_WAYS && strcmp(ways[i].name, t->name); i++)
		;
	return i < NR_WAYS ? &ways[i] : NULL;
}

static unsigned way_colour(size_t index)
{
	return OWN_COLOURS + (unsigned)index;
}

void out_way_colours(struct report *r, bool dark)
{
	size_t i;

	for (i = 0; i < r->data->tradeoff.count; i++) {
		const struct way *w = way_of(&r->data->tradeoff.scheme[i]);

		if (w)
			out(r, "--c%u:%s;", way_colour(i), dark ? w->dark : w->light);
	}
}

static unsigned mark_of(const struct tradeoff_result *t)
{
	const struct way *w = way_of(t);

	return w ? w->mark : PLOT_CIRCLE;
}

/* ---- the table of the slides ----------------------------------------------------------------- */

typedef void (*put_cell)(struct report *r, const struct tradeoff_result *t);

static void out_bytes_stat(struct report *r, const struct bench_stat *s, const char *per)
{
	if (!s->count)
		out(r, "n/a %s", per);
	else
		out(r, "<b>%s%s</b> %s", s->median < 0 ? "-" : "", units_bytes(fabs(s->median)).text, per);
}

static void cell_readers(struct report *r, const struct tradeoff_result *t)
{
	const struct tradeoff *all = &r->data->tradeoff;
	size_t i;

	for (i = 0; i < all->nr_threads; i++) {
		const struct bench_stat *s = &t->read[i];

		if (!s->count)
			continue;
		out(r, "%s<b>%s</b> with %u reader%s", i ? "<br>" : "", units_time(s->median).text,
		    all->threads[i], all->threads[i] == 1 ? "" : "s");
	}
}

static void cell_memory(struct report *r, const struct tradeoff_result *t)
{
	out_bytes_stat(r, &t->object_bytes, "per object");
	out(r, "<br>");
	out_bytes_stat(r, &t->thread_bytes, "per thread");
}

static void cell_duration(struct report *r, const struct tradeoff_result *t)
{
	if (t->may_not_block) {
		out(r, "<b>not across a wait</b>: ");
		out_text(r, t->may_not_block);
	} else {
		out(r, "<b>any time</b>, may block");
	}
	if (!t->wait.count)
		return;
	out(r, "<br>others freed after %s, ", units_time(t->wait.p50).text);
	out(r, "at most %s", units_time(t->wait.max).text);
}

static void cell_retries(struct report *r, const struct tradeoff_result *t)
{
	if (!t->restarts.count) {
		out(r, "n/a");
		return;
	}
	out(r, "<b>%.*f</b> restarts", units_decimals(t->restarts.median), t->restarts.median);
	if (t->steps_again.count)
		out(r, "<br>%.*f single steps again", units_decimals(t->steps_again.median),
		    t->steps_again.median);
}

static void cell_deferred(struct report *r, const struct tradeoff_result *t)
{
	if (!t->waiting.count) {
		out(r, "n/a");
		return;
	}
	out(r, "<b>%.0f</b> object%s", t->waiting.max, t->waiting.max == 1 ? "" : "s");
	if (t->waiting_bytes.count)
		out(r, ", %s", units_bytes(t->waiting_bytes.max).text);
}

static void cell_updater(struct report *r, const struct tradeoff_result *t)
{
	if (!t->update.count) {
		out(r, "n/a");
		return;
	}
	out(r, "<b>%s</b>", units_time(t->update.p50).text);
	out(r, ", 99 %%: %s", units_time(t->update.p99).text);
}

static void out_property(struct report *r, const char *name, const char *unit, put_cell cell,
			 size_t said)
{
	const struct tradeoff *all = &r->data->tradeoff;
	size_t i;

	out(r, "<tr><th scope=\"row\">%s<small>%s</small></th>", name, unit);
	for (i = 0; i < all->count; i++) {
		const struct way *w = way_of(&all->scheme[i]);

		if (all->scheme[i].is_lock)
			continue;
		out(r, "<td>");
		cell(r, &all->scheme[i]);
		if (w && said)
			out(r, "<small>%s</small>", *(const char *const *)((const char *)w + said));
		out(r, "</td>");
	}
	out(r, "</tr>\n");
}

void out_foot_table(struct report *r)
{
	const struct tradeoff *all = &r->data->tradeoff;
	char unit[120];
	size_t i;

	if (!all->count)
		return;
	out(r, "<h2>Four ways to keep an object alive, from 50,000 feet</h2>\n"
	       "<p class=\"muted\">The table of the slides of \u201cHazard pointers in Linux kernel\u201d (Linux Plumbers "
	       "Conference 2024) with what was measured here; the last line of each cell is what the slides say there.</p>\n"
	       "<div class=\"box scroll\" tabindex=\"0\"><table class=\"ways\">\n"
	       "<thead><tr><th></th>");
	for (i = 0; i < all->count; i++) {
		if (all->scheme[i].is_lock)
			continue;
		out(r, "<th scope=\"col\">");
		plot_mark(r->file, mark_of(&all->scheme[i]), way_colour(i));
		out_text(r, all->scheme[i].title);
		out(r, "</th>");
	}
	out(r, "</tr></thead>\n<tbody>\n");
	out_property(r, "readers", "get and put", cell_readers, offsetof(struct way, readers));
	out_property(r, "memory overhead", "", cell_memory, offsetof(struct way, memory));
	snprintf(unit, sizeof(unit), "a reader that stays for %s, %.0f replacements a second",
		 units_time(all->slow_ns).text, all->update_rate);
	out_property(r, "protection duration", unit, cell_duration, offsetof(struct way, duration));
	out_property(r, "traversal retries", "per million steps", cell_retries,
		     offsetof(struct way, retries));
	out_property(r, "deferred memory", "at most, beside that reader", cell_deferred,
		     offsetof(struct way, deferred));
	out_property(r, "a replacement", "of the updater&#39;s time", cell_updater, 0);
	out(r, "</tbody></table></div>\n<details><summary>The four, and three locks that the pictures "
	       "have beside them</summary><dl>\n");
	for (i = 0; i < all->count; i++) {
		out(r, "<dt>");
		out_text(r, all->scheme[i].title);
		out(r, "</dt><dd>");
		out_text(r, all->scheme[i].what);
		out(r, "</dd>\n");
	}
	out(r, "</dl></details>\n");
}

/* ---- the slides' chart ----------------------------------------------------------------------- */

#define PREDICTED 3 /* doublings past what was measured */
#define PLACES_MAX (TRADEOFF_THREADS_MAX + PREDICTED)

struct readers {
	double y[TRADEOFF_SCHEMES][PLACES_MAX], low[TRADEOFF_SCHEMES][PLACES_MAX],
		high[TRADEOFF_SCHEMES][PLACES_MAX];
	unsigned threads[PLACES_MAX];
	size_t measured, places; /* with no more readers than CPUs; with predictions */
};

/* More readers than CPUs take turns: their times say something about the scheduler. */
static void measured_readers(const struct compare *data, struct readers *c)
{
	const struct tradeoff *all = &data->tradeoff;
	size_t i, j;

	for (j = 0; j < all->nr_threads; j++) {
		if (all->threads[j] > data->machine.cpus_allowed)
			continue;
		for (i = 0; i < all->count; i++) {
			const struct bench_stat *s = &all->scheme[i].read[j];

			c->y[i][c->measured] = s->count ? s->median : NAN;
			c->low[i][c->measured] = s->count ? s->min : NAN;
			c->high[i][c->measured] = s->count ? s->max : NAN;
		}
		c->threads[c->measured++] = all->threads[j];
	}
	c->places = c->measured;
}

static void predicted_readers(const struct compare *data, struct readers *c)
{
	size_t last = c->measured - 1, i, j;

	if (!c->measured || c->threads[last] < 2)
		return;
	for (j = c->measured; j < c->measured + PREDICTED; j++) {
		c->threads[j] = c->threads[j - 1] * 2;
		for (i = 0; i < data->tradeoff.count; i++) {
			bool shared = predict_is_shared(data->tradeoff.scheme[i].name);

			c->y[i][j] = predict_read_ns(shared, c->y[i][last], c->threads[last],
						     c->threads[j]);
			c->low[i][j] = c->high[i][j] = NAN;
		}
	}
	c->places = j;
}

static void out_reader_rows(struct report *r, const struct readers *c)
{
	const struct tradeoff *all = &r->data->tradeoff;
	size_t i, j;

	begin_numbers(r);
	out(r, "<thead><tr><th>ns</th>");
	for (j = 0; j < c->places; j++)
		out(r, "<th>%u reader%s%s</th>", c->threads[j], c->threads[j] == 1 ? "" : "s",
		    j >= c->measured ? ",<br>prediction" : "");
	out(r, "</tr></thead>\n<tbody>\n");
	for (i = 0; i < all->count; i++) {
		out_label(r, all->scheme[i].title, way_colour(i), mark_of(&all->scheme[i]));
		for (j = 0; j < c->places; j++) {
			double y = c->y[i][j];

			if (isnan(y))
				out(r, "<td>n/a</td>");
			else if (j >= c->measured)
				out(r, "<td><i>%.*f</i></td>", units_decimals(y), y);
			else
				out(r, "<td>%.*f <small>%.*f..%.*f</small></td>", units_decimals(y), y,
				    units_decimals(y), c->low[i][j], units_decimals(y), c->high[i][j]);
		}
		out(r, "</tr>\n");
	}
	end_figure(r);
}

static void out_readers(struct report *r)
{
	const struct tradeoff *all = &r->data->tradeoff;
	struct readers *c = options_alloc(1, sizeof(*c));
	struct plot_series series[TRADEOFF_SCHEMES] = { 0 };
	const char *label[PLACES_MAX];
	char word[PLACES_MAX][16];
	struct plot_lines plot = {
		.id = "readers",
		.title = "Cost of a read by number of readers",
		.desc = "One line for each way, from one reader to all CPUs as "
			"measured, and beyond as predicted. The numbers are in the table below.",
		.x_title = "readers",
		.y_title = "ns per read",
		.x_label = label,
		.logarithmic = true,
		.series = series,
		.count = all->count,
	};
	size_t i;

	measured_readers(r->data, c);
	predicted_readers(r->data, c);
	for (i = 0; i < c->places; i++) {
		snprintf(word[i], sizeof(word[i]), "%u", c->threads[i]);
		label[i] = word[i];
	}
	for (i = 0; i < all->count; i++)
		series[i] = (struct plot_series){ all->scheme[i].title,
						  way_colour(i),
						  mark_of(&all->scheme[i]),
						  false,
						  c->y[i],
						  c->low[i],
						  c->high[i] };
	plot.places = c->places;
	plot.predicted = c->measured;
	if (c->measured) {
		begin_figure(r, "The slides\u2019 chart: what a read costs each reader",
			     c->places > c->measured ?
				     "One object that all share; logarithmic. Past the CPUs of "
				     "this machine: a prediction, from one cache line that is "
				     "handed on and private lines that are not." :
				     "One object that all share; logarithmic.");
		plot_lines(r->file, &plot);
		out_reader_rows(r, c);
	}
	free(c);
}

/* ---- around the workload --------------------------------------------------------------------- */

static const char *value_word(enum choose_axis axis, double value, char *word, size_t size)
{
	if (axis == CHOOSE_UPDATES)
		snprintf(word, size, "%.3g %%", value * 100);
	else if (axis == CHOOSE_HOLD)
		snprintf(word, size, "%s", units_time(value).text);
	else if (value < 1e6)
		snprintf(word, size, "%.*f%s", value < 1e4 || fmod(value, 1e3) == 0 ? 0 : 1,
			 value < 1e4 ? value : value / 1e3, value < 1e4 ? "" : "k");
	else
		snprintf(word, size, "%.3gM", value / 1e6);
	return word;
}

static void out_mix_rows(struct report *r, enum choose_axis axis, const char *const *label)
{
	const struct tradeoff *all = &r->data->tradeoff;
	size_t i, j;

	begin_numbers(r);
	out(r, "<thead><tr><th>ns</th>");
	for (j = 0; j < all->values[axis]; j++)
		out(r, "<th>%s%s</th>", label[j], j == all->at[axis] ? "<br>(yours)" : "");
	out(r, "</tr></thead>\n<tbody>\n");
	for (i = 0; i < all->count; i++) {
		out_label(r, all->scheme[i].title, way_colour(i), mark_of(&all->scheme[i]));
		for (j = 0; j < all->values[axis]; j++)
			out_stat(r, &all->scheme[i].mix[axis][j].ns, false);
		out(r, "</tr>\n");
	}
	end_figure(r);
}

static void out_mix(struct report *r, enum choose_axis axis, const char *title, const char *id,
		    const char *x_title)
{
	const struct tradeoff *all = &r->data->tradeoff;
	double y[TRADEOFF_SCHEMES][CHOOSE_POINTS_MAX], low[TRADEOFF_SCHEMES][CHOOSE_POINTS_MAX],
		high[TRADEOFF_SCHEMES][CHOOSE_POINTS_MAX];
	struct plot_series series[TRADEOFF_SCHEMES] = { 0 };
	char word[CHOOSE_POINTS_MAX][32];
	const char *label[CHOOSE_POINTS_MAX];
	struct plot_lines plot = { .id = id,
				   .title = title,
				   .x_title = x_title,
				   .y_title = "ns per operation",
				   .x_label = label,
				   .places = all->values[axis],
				   .logarithmic = true,
				   .desc = "One line for each way. The numbers are in "
					   "the table below.",
				   .series = series,
				   .count = all->count };
	bool measured = false;
	size_t i, j;

	for (j = 0; j < plot.places; j++)
		label[j] = value_word(axis, all->value[axis][j], word[j], sizeof(word[j]));
	for (i = 0; i < all->count; i++) {
		for (j = 0; j < plot.places; j++) {
			const struct bench_stat *s = &all->scheme[i].mix[axis][j].ns;

			y[i][j] = s->count ? s->median : NAN;
			low[i][j] = s->count ? s->min : NAN;
			high[i][j] = s->count ? s->max : NAN;
			measured = measured || s->count;
		}
		series[i] = (struct plot_series){ all->scheme[i].title,
						  way_colour(i),
						  mark_of(&all->scheme[i]),
						  false,
						  y[i],
						  low[i],
						  high[i] };
	}
	if (!measured || plot.places < 2)
		return;
	plot.predicted = plot.places;
	begin_figure(r, title,
		     "Thread time per operation, the rest of the workload as described; "
		     "logarithmic.");
	plot_lines(r->file, &plot);
	out_mix_rows(r, axis, label);
}

void out_way_pictures(struct report *r)
{
	if (!r->data->tradeoff.count)
		return;
	out(r, "<div class=\"grid wide\">\n");
	out_readers(r);
	out_mix(r, CHOOSE_UPDATES, "Your workload, with more or fewer updates", "mix-updates",
		"updates");
	out_mix(r, CHOOSE_HOLD, "Your workload, held for longer or shorter", "mix-hold",
		"held for");
	out_mix(r, CHOOSE_OBJECTS, "Your workload, with more or fewer objects", "mix-objects",
		"objects");
	out(r, "</div>\n");
}
