/* SPDX-License-Identifier: MIT */
/* The report's pictures of times: a row for each scheme, over a logarithmic axis. */
#include <math.h>
#include <stdlib.h>

#include "common/figures.h"
#include "common/options.h"
#include "common/units.h"
#include "report/page.h"

#define ROWS_MAX 128

#define WORDS 200

struct rows {
	struct plot_row row[ROWS_MAX];
	char label[ROWS_MAX][64], tip[ROWS_MAX][WORDS];
	const struct bench_stat *upper[ROWS_MAX], *lower[ROWS_MAX];
	const struct bench_latency *latency[ROWS_MAX];
	unsigned mark[ROWS_MAX];
	size_t count;
};

/* Two figures of one thing: a dot and a ring with a line between. */
static void add_pair(struct rows *rows, const struct compare_scheme *s, const char *way,
		     const struct bench_stat *upper, const struct bench_stat *lower)
{
	double dot = upper->count ? upper->median : NAN, ring = lower->count ? lower->median : NAN;
	size_t at = rows->count++;

	snprintf(rows->label[at], sizeof(rows->label[at]), "%s%s%s", s->name, *way ? ", " : "",
		 way);
	snprintf(rows->tip[at], WORDS, "%s%s%s: %s and %s", s->name, *way ? ", " : "", way,
		 units_time(dot).text, units_time(ring).text);
	rows->upper[at] = upper;
	rows->lower[at] = lower;
	rows->mark[at] = s->style->point;
	rows->row[at] = (struct plot_row){ .label = rows->label[at],
					   .colour = s->colour,
					   .thin = { dot, ring },
					   .thick = { NAN, NAN },
					   .dot = dot,
					   .ring = ring,
					   .tick = NAN,
					   .tip = rows->tip[at] };
}

static void add_latency(struct rows *rows, const char *label, unsigned colour, unsigned mark,
			const struct bench_latency *l)
{
	size_t at = rows->count++;

	snprintf(rows->label[at], sizeof(rows->label[at]), "%s", label);
	snprintf(rows->tip[at], WORDS, "%s: min %s, median %s, 90 %% %s, 99 %% %s, max %s", label,
		 units_time(l->min).text, units_time(l->p50).text, units_time(l->p90).text,
		 units_time(l->p99).text, units_time(l->max).text);
	rows->latency[at] = l;
	rows->mark[at] = mark;
	rows->row[at] = (struct plot_row){ .label = rows->label[at],
					   .colour = colour,
					   .thin = { l->min, l->max },
					   .thick = { l->p50, l->p90 },
					   .dot = l->p50,
					   .ring = NAN,
					   .tick = l->p99,
					   .tip = rows->tip[at] };
}

static void put_rows(struct report *r, const struct rows *rows, const char *id, const char *title,
		     const char *caption)
{
	struct plot_rows plot = { id, title, caption, rows->row, rows->count };

	begin_figure(r, title, caption);
	plot_rows(r->file, &plot);
	begin_numbers(r);
}

void out_reads(struct report *r)
{
	struct rows *rows = options_alloc(1, sizeof(*rows));
	size_t i;

	for (i = 0; i < r->data->count && rows->count < ROWS_MAX; i++) {
		const struct compare_scheme *s = &r->data->scheme[i];

		if (s->own_section && s->read[0].count)
			add_pair(rows, s, "", &s->read[0], &s->read[1]);
	}
	if (rows->count) {
		put_rows(r, rows, "reads", "What a read section costs",
			 "Logarithmic. Dot: 1 thread; ring: 2 threads.");
		out(r, "<thead><tr><th>ns</th><th>1 thread</th><th>2 "
		       "threads</th></tr></thead>\n<tbody>\n");
		for (i = 0; i < rows->count; i++) {
			out_label(r, rows->row[i].label, rows->row[i].colour, rows->mark[i]);
			out_stat(r, rows->upper[i], false);
			out_stat(r, rows->lower[i], false);
			out(r, "</tr>\n");
		}
		end_figure(r);
	}
	free(rows);
}

static void out_peak(struct report *r, const struct compare_replace *c, size_t setup)
{
	if (c->ns[setup].count)
		out(r, "<td>%.0f</td>", c->peak[setup]);
	else
		out(r, "<td>n/a</td>");
}

static void out_replaces(struct report *r)
{
	struct rows *rows = options_alloc(1, sizeof(*rows));
	const struct compare *data = r->data;
	size_t i;

	for (i = 0; i < data->nr_replaces; i++) {
		const struct compare_replace *c = &data->replace[i];

		add_pair(rows, c->scheme, c->way, &c->ns[0], &c->ns[1]);
	}
	if (rows->count) {
		put_rows(r, rows, "replace", "What replacing an object costs",
			 "Per object, until all of them are freed; one thread, one pointer; "
			 "logarithmic. Dot: nobody reads; ring: one busy reader.");
		out(r, "<thead><tr><th>ns</th><th>nobody reads</th><th>one busy reader</th>"
		       "<th>waiting, at most:<br>nobody reads</th><th>one busy "
		       "reader</th></tr></thead>\n<tbody>\n");
		for (i = 0; i < rows->count; i++) {
			out_label(r, rows->row[i].label, rows->row[i].colour, rows->mark[i]);
			out_stat(r, rows->upper[i], false);
			out_stat(r, rows->lower[i], false);
			out_peak(r, &data->replace[i], 0);
			out_peak(r, &data->replace[i], 1);
			out(r, "</tr>\n");
		}
		end_figure(r);
	}
	free(rows);
}

typedef const struct bench_latency *(*latency_of)(const struct compare_scheme *s, size_t index);

static const struct bench_latency *update_of(const struct compare_scheme *s, size_t index)
{
	(void)index;
	return &s->update;
}

static const struct bench_latency *wait_of(const struct compare_scheme *s, size_t index)
{
	return &s->wait[index];
}

#define LATENCY_LEGEND                                                                          \
	" Logarithmic. Dot: median; thick: up to 90\u00a0%; tick: 99\u00a0%; thin: minimum to " \
	"maximum."

static void out_latency_rows(struct report *r, const struct rows *rows, const char *id,
			     const char *title, const char *caption)
{
	size_t i;

	if (!rows->count)
		return;
	put_rows(r, rows, id, title, caption);
	out(r, "<thead><tr><th></th><th>min</th><th>median</th><th>90 %%</th><th>99 "
	       "%%</th><th>max</th><th>mean</th></tr></thead>\n<tbody>\n");
	for (i = 0; i < rows->count; i++) {
		const struct bench_latency *l = rows->latency[i];

		out_label(r, rows->row[i].label, rows->row[i].colour, rows->mark[i]);
		out_time(r, l, l->min);
		out_time(r, l, l->p50);
		out_time(r, l, l->p90);
		out_time(r, l, l->p99);
		out_time(r, l, l->max);
		out_time(r, l, l->mean);
		out(r, "</tr>\n");
	}
	end_figure(r);
}

static void out_latency(struct report *r, const char *id, const char *title, const char *caption,
			latency_of latency, size_t index)
{
	struct rows *rows = options_alloc(1, sizeof(*rows));
	size_t i;

	for (i = 0; i < r->data->count && rows->count < ROWS_MAX; i++) {
		const struct compare_scheme *s = &r->data->scheme[i];

		if (latency(s, index)->count)
			add_latency(rows, s->name, s->colour, s->style->point, latency(s, index));
	}
	out_latency_rows(r, rows, id, title, caption);
	free(rows);
}

static void out_kill(struct report *r)
{
	const struct {
		const char *label;
		const struct bench_latency *latency;
		unsigned mark;
	} row[] = {
		{ "kill, nobody reading", &r->data->kill[0], PLOT_SQUARE },
		{ "kill, busy reader", &r->data->kill[1], PLOT_SQUARE },
		{ "membarrier, nobody", &r->data->membarrier[0], PLOT_PLUS },
		{ "membarrier, busy", &r->data->membarrier[1], PLOT_PLUS },
	};
	struct rows *rows = options_alloc(1, sizeof(*rows));
	size_t i;

	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (row[i].latency->count)
			add_latency(rows, row[i].label, 0, row[i].mark, row[i].latency);
	out_latency_rows(r, rows, "kill", "How long the kill of a percpu_ref takes",
			 "Until no CPU gives references any more, and what the system call in it "
			 "takes by itself." LATENCY_LEGEND);
	free(rows);
}

void out_latencies(struct report *r)
{
	char *caption, *id;
	size_t i;

	out(r, "<h2>How long updaters wait</h2>\n<div class=\"grid\">\n");
	out_latency(r, "update", "How long an update takes",
		    "One replacement in the table while another thread looks up." LATENCY_LEGEND,
		    update_of, 0);
	for (i = 0; i < COMPARE_WAITS_MAX; i++) {
		if (!compare_waits[i].metric)
			continue;
		caption = options_printf("%s.%s", compare_waits[i].caption, LATENCY_LEGEND);
		id = options_printf("wait%zu", i);
		out_latency(r, id, compare_waits[i].title, caption, wait_of, i);
		free(caption);
		free(id);
	}
	out_kill(r);
	out_replaces(r);
	out(r, "</div>\n");
}
