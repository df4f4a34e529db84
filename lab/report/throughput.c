/* SPDX-License-Identifier: MIT */
/* The report's pictures of throughput: those of an article of 2003, and other libraries. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figures.h"
#include "common/options.h"
#include "report/page.h"

typedef const struct bench_stat *(*series_of)(const struct compare_scheme *s, size_t index);

static const struct bench_stat *lookups_of(const struct compare_scheme *s, size_t index)
{
	return &s->lookups[index];
}

static const struct bench_stat *mixed_of(const struct compare_scheme *s, size_t index)
{
	return &s->mixed[index];
}

/* A picture of some schemes over an axis. */
struct figure {
	const char *id, *title, *caption, *x_title, *head;
	const char *const *schemes; /* the most important first; until NULL */
	series_of series;
	size_t places;
	bool logarithmic;
	bool ideal;	  /* with a line of what perfect scaling would be */
	bool all_numbers; /* the table has every scheme, not only those of the picture */
};

#define SERIES_MAX 24

/* In the order of importance; those that were not measured are left out. */
static const char *const locks[] = { "brlock", "ck-brlock", "refcount", "refcount-lock", "rwlock",
				     "spinlock", "mutex", "seqlock", NULL };
static const char *const article[] = { "rcu",	 "rcu-qsbr", "hazptr",	 "percpu_ref", "lull-hash",
				       "brlock", "refcount", "spinlock", "rwlock",     NULL };
static const char *const libraries[] = { "rcu",	       "rcu-qsbr",     "lull-hash",  "liburcu-memb",
					 "liburcu-mb", "liburcu-qsbr", "liburcu-bp", "liburcu-lfht",
					 "ck-epoch",   "ck-ht",	       "cxx-hash_map", "unordered_map",
					 "unordered_map-shared_ptr",   "papaya",       "flurry",
					 "scc-index",  NULL };

static const struct compare_scheme *find(const struct compare *data, const char *name)
{
	size_t i;

	for (i = 0; i < data->count; i++)
		if (!strcmp(data->scheme[i].name, name))
			return &data->scheme[i];
	return NULL;
}

static bool any(const struct compare_scheme *s, series_of series, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (series(s, i)->count)
			return true;
	return false;
}

static double best_of(const struct compare *data, series_of series, size_t index)
{
	double best = 0;
	size_t i;

	for (i = 0; i < data->count; i++)
		if (data->scheme[i].style->family != COMPARE_UNPROTECTED &&
		    series(&data->scheme[i], index)->median > best)
			best = series(&data->scheme[i], index)->median;
	return best;
}

static void out_numbers(struct report *r, const struct figure *f, const char *const *label)
{
	size_t i, j;

	begin_numbers(r);
	out(r, "<thead><tr><th>%s</th>", f->head);
	for (j = 0; j < f->places; j++)
		out(r, "<th>%s</th>", label[j]);
	out(r, "</tr></thead>\n<tbody>\n");
	for (i = 0; i < r->data->count; i++) {
		const struct compare_scheme *one = &r->data->scheme[i];
		const char *const *name = f->schemes;

		while (*name && strcmp(*name, one->name))
			name++;
		if ((!*name && !f->all_numbers) || !any(one, f->series, f->places))
			continue;
		out_name(r, one);
		for (j = 0; j < f->places; j++) {
			const struct bench_stat *s = f->series(one, j);

			out_stat(r, s, s->count && s->median == best_of(r->data, f->series, j));
		}
		out(r, "</tr>\n");
	}
	end_figure(r);
}

/* Compute the throughput of one unprotected thread, times the threads, up to the CPUs. Return whether it is known. */
static bool ideal_line(const struct compare *data, double *y)
{
	const struct compare_scheme *none = find(data, "none");
	size_t i;

	if (!none || !none->lookups[0].count || data->threads[0] != 1)
		return false;
	for (i = 0; i < data->nr_threads; i++)
		y[i] = none->lookups[0].median * fmin(data->threads[i], data->machine.cpus_allowed);
	return true;
}

static struct plot_series series_for(const struct compare_scheme *s, const struct figure *f,
				     double *y)
{
	size_t j;

	for (j = 0; j < f->places; j++)
		y[j] = f->series(s, j)->count ? f->series(s, j)->median : NAN;
	return (struct plot_series){ .name = s->name,
				     .colour = s->colour,
				     .mark = s->style->point,
				     .dashed = s->style->family == COMPARE_LOCK,
				     .y = y };
}

static void out_figure(struct report *r, const struct figure *f, const char *const *label)
{
	double y[SERIES_MAX][COMPARE_THREADS_MAX];
	struct plot_series series[SERIES_MAX];
	struct plot_lines plot = { .id = f->id,
				   .title = f->title,
				   .desc = f->caption,
				   .x_title = f->x_title,
				   .y_title = "million operations a second",
				   .x_label = label,
				   .places = f->places,
				   .predicted = f->places,
				   .logarithmic = f->logarithmic,
				   .series = series };
	const char *const *name;

	for (name = f->schemes; *name && plot.count < SERIES_MAX - 1; name++) {
		const struct compare_scheme *s = find(r->data, *name);

		if (!s || !any(s, f->series, f->places))
			continue;
		series[plot.count] = series_for(s, f, y[plot.count]);
		plot.count++;
	}
	if (!plot.count)
		return;
	if (f->ideal && ideal_line(r->data, y[plot.count])) {
		series[plot.count] =
			(struct plot_series){ .name = "ideal", .dashed = true, .y = y[plot.count] };
		plot.count++;
	}
	begin_figure(r, f->title, f->caption);
	plot_lines(r->file, &plot);
	out_numbers(r, f, label);
}

static void out_by_threads(struct report *r)
{
	static const struct figure figures[] = {
		{ "figure1", "Figure 1: locks do not scale",
		  "Lookups by threads, no updates. Ideal: one unprotected thread times the "
		  "threads, "
		  "up to the CPUs.",
		  "threads", "Mops", locks, lookups_of, 0, false, true, false },
		{ "figure4", "Figure 4: what does",
		  "Lookups by threads, no updates; the table has every scheme.", "threads", "Mops",
		  article, lookups_of, 0, false, true, true },
		{ "libraries4", "Figure 4 with other libraries", "Lookups by threads, no updates.",
		  "threads", "Mops", libraries, lookups_of, 0, false, true, false },
	};
	char word[COMPARE_THREADS_MAX][16];
	const char *label[COMPARE_THREADS_MAX];
	size_t i;

	for (i = 0; i < r->data->nr_threads; i++) {
		snprintf(word[i], sizeof(word[i]), "%u", r->data->threads[i]);
		label[i] = word[i];
	}
	for (i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		struct figure f = figures[i];

		f.places = r->data->nr_threads;
		out_figure(r, &f, label);
	}
}

static void out_by_updates(struct report *r)
{
	static const struct figure figures[] = {
		{ "figure5", "Figure 5: by fraction of updates", NULL, "updates", "Mops", article,
		  mixed_of, 0, true, false, true },
		{ "libraries5", "Figure 5 with other libraries", NULL, "updates", "Mops", libraries,
		  mixed_of, 0, true, false, false },
	};
	char *caption = options_printf("Lookups and updates on %u thread%s; logarithmic.",
				       r->data->mixed_threads,
				       r->data->mixed_threads == 1 ? "" : "s");
	char word[COMPARE_FRACTIONS_MAX][16];
	const char *label[COMPARE_FRACTIONS_MAX];
	size_t i;

	for (i = 0; i < r->data->nr_percents; i++) {
		snprintf(word[i], sizeof(word[i]), "%u %%", r->data->percent[i]);
		label[i] = word[i];
	}
	for (i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		struct figure f = figures[i];

		f.places = r->data->nr_percents;
		f.caption = caption;
		out_figure(r, &f, label);
	}
	free(caption);
}

/* ---- counted ----------------------------------------------------------------------------------- */

static void out_counted_rows(struct report *r)
{
	size_t i, j;

	for (i = 0; i < r->data->count; i++) {
		const struct compare_scheme *s = &r->data->scheme[i];

		out_name(r, s);
		for (j = 0; j < r->data->nr_percents; j++) {
			if (s->cycles[j].count && s->instructions[j].count)
				out(r, "<td>%.0f in %.0f</td>", s->instructions[j].median, s->cycles[j].median);
			else
				out(r, "<td>n/a</td>");
		}
		out(r, "</tr>\n");
	}
}

/* Only where the hardware counts. */
static void out_counted(struct report *r)
{
	bool counted = false;
	size_t i, j;

	for (i = 0; i < r->data->count; i++)
		for (j = 0; j < r->data->nr_percents; j++)
			counted = counted || r->data->scheme[i].cycles[j].count;
	if (!counted)
		return;
	begin_figure(r, "Instructions and cycles of an operation",
		     "The same operations as in figure 5, as the processor counted them: instructions in cycles, in user "
		     "mode, of the threads that look up and update.");
	begin_numbers(r);
	out(r, "<thead><tr><th>instructions in cycles</th>");
	for (j = 0; j < r->data->nr_percents; j++)
		out(r, "<th>%u %%</th>", r->data->percent[j]);
	out(r, "</tr></thead>\n<tbody>\n");
	out_counted_rows(r);
	end_figure(r);
}

/* ---- parts of the page ----------------------------------------------------------------------- */

void out_figures(struct report *r)
{
	out(r, "<h2>Lookups and updates in a hash table</h2>\n"
	       "<p class=\"muted\">Over ");
	out_text(r, r->data->keys);
	out(r, ". The pictures have the numbers of those in <a href=\"https://www.linuxjournal.com/article/6993\">Using RCU "
	       "in the Linux 2.5 Kernel</a> (Linux Journal, October 2003). Solid lines: readers that do not write to what "
	       "they share; dashed ones: locks and counts. The numbers are behind a click under each "
	       "picture.</p>\n<div class=\"grid\">\n");
	out_by_threads(r);
	out_by_updates(r);
	out_counted(r);
	out_reads(r);
	out(r, "</div>\n");
}
