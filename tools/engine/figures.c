/* SPDX-License-Identifier: MIT */
/* Figures and how they are printed: medians, percentiles, tables, the progress line. */
#include "engine/bench.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"

/* ---- medians and percentiles ----------------------------------------------------------------- */

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

struct bench_stat bench_stat_of(double *v, size_t count)
{
	struct bench_stat s = { 0 };

	if (!count)
		return s;
	qsort(v, count, sizeof(*v), compare_double);
	s.min = v[0];
	s.max = v[count - 1];
	s.median = (v[(count - 1) / 2] + v[count / 2]) / 2;
	s.count = count;
	return s;
}

struct bench_stat bench_stat_scale(struct bench_stat s, double factor)
{
	s.min *= factor;
	s.median *= factor;
	s.max *= factor;
	return s;
}

double bench_percentile(const uint64_t *sorted, size_t count, double percent)
{
	size_t rank;

	if (!count)
		return 0;
	/*
	 * Rounded up; the small subtrahend keeps 99 % of 100 from becoming 100 by rounding in the
	 * product.
	 */
	rank = (size_t)(percent / 100 * (double)count - 1e-9) + 1;
	if (rank > count)
		rank = count;
	return (double)sorted[rank - 1];
}

struct bench_latency bench_latency_of(uint64_t *ns, size_t count)
{
	struct bench_latency l = { 0 };
	double sum = 0;
	size_t i;

	if (!count)
		return l;
	qsort(ns, count, sizeof(*ns), compare_u64);
	for (i = 0; i < count; i++)
		sum += (double)ns[i];
	l.min = (double)ns[0];
	l.mean = sum / (double)count;
	l.p50 = bench_percentile(ns, count, 50);
	l.p90 = bench_percentile(ns, count, 90);
	l.p99 = bench_percentile(ns, count, 99);
	l.max = (double)ns[count - 1];
	l.count = count;
	return l;
}

/* ---- progress line --------------------------------------------------------------------------- */

static bool progress_shown;

void bench_progress(const char *fmt, ...)
{
	static int terminal = -1;
	va_list ap;

	if (terminal < 0)
		terminal = isatty(STDERR_FILENO);
	if (!terminal)
		return;
	fputs("\r\033[K", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fflush(stderr);
	progress_shown = true;
}

void bench_progress_clear(void)
{
	if (!progress_shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress_shown = false;
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct bench_table {
	char **cell;
	size_t columns, count, room;
};

static void add_cell(struct bench_table *t, char *text)
{
	if (t->count == t->room) {
		t->room = t->room ? t->room * 2 : 64;
		t->cell = realloc(t->cell, t->room * sizeof(*t->cell));
		if (!t->cell)
			options_fail("out of memory");
	}
	t->cell[t->count++] = text;
}

struct bench_table *bench_table_new(const char *header)
{
	struct bench_table *t = options_alloc(1, sizeof(*t));

	for (;;) {
		size_t len = strcspn(header, "|");

		add_cell(t, options_printf("%.*s", (int)len, header));
		t->columns++;
		if (!header[len])
			return t;
		header += len + 1;
	}
}

void bench_cell(struct bench_table *t, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		options_fail("out of memory");
	add_cell(t, text);
}

/* Three significant digits, more only before the point. */
static int decimals(double v)
{
	if (v < 0)
		v = -v;
	return v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
}

void bench_cell_stat(struct bench_table *t, const struct bench_stat *s)
{
	int digits = decimals(s->median);

	if (!s->count)
		bench_cell(t, "n/a");
	else
		bench_cell(t, "%.*f [%.*f..%.*f]", digits, s->median, digits, s->min, digits,
			   s->max);
}

void bench_cell_ratio(struct bench_table *t, const struct bench_stat *s,
		      const struct bench_stat *base)
{
	if (!s->count || !base->count || base->median <= 0)
		bench_cell(t, "n/a");
	else
		bench_cell(t, "x%.*f", decimals(s->median / base->median),
			   s->median / base->median);
}

void bench_table_print(struct bench_table *t)
{
	size_t *width = options_alloc(t->columns, sizeof(*width)), i;

	bench_progress_clear();
	for (i = 0; i < t->count; i++) {
		size_t len = strlen(t->cell[i]);

		if (len > width[i % t->columns])
			width[i % t->columns] = len;
	}
	for (i = 0; i < t->count; i++) {
		size_t column = i % t->columns;
		bool last = column + 1 == t->columns || i + 1 == t->count;

		printf("%*s%s", column ? (int)width[column] : -(int)width[0], t->cell[i],
		       last ? "\n" : "  ");
		free(t->cell[i]);
	}
	fflush(stdout);
	free(t->cell);
	free(width);
	free(t);
}
