/* SPDX-License-Identifier: MIT */
/* Tables on stdout; see text_table.h. */
#include "engine/text_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figures.h"
#include "common/options.h"
#include "common/progress.h"
#include "common/units.h"

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

void bench_cell_stat(struct bench_table *t, const struct bench_stat *s)
{
	int digits = units_decimals(s->median);

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
		bench_cell(t, "x%.*f", units_decimals(s->median / base->median),
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
