/* SPDX-License-Identifier: MIT */
/* Charts of lines over an axis of places; see plot.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "plot/pieces.h"

#define LINE 13.5 /* from one name to the next */
#define LEFT 40.0
#define TOP 26.0
#define BOTTOM 36.0
#define HEIGHT 190.0 /* of the field, at least */

/* ---- where things are ------------------------------------------------------------------------ */

struct field {
	double left, right, top, bottom;
	double least, most; /* of the vertical axis; logarithms where it is logarithmic */
	double step;	    /* of a linear one */
};

static double place(const struct plot_lines *p, const struct field *f, size_t at)
{
	double margin = 10;

	if (p->places < 2)
		return (f->left + f->right) / 2;
	return f->left + margin +
	       (f->right - f->left - 2 * margin) * (double)at / (double)(p->places - 1);
}

static double level(const struct plot_lines *p, const struct field *f, double y)
{
	if (p->logarithmic)
		y = log10(fmax(y, 1e-9));
	return f->bottom - (y - f->least) / (f->most - f->least) * (f->bottom - f->top);
}

/* 1, 2 or 5 times a power of ten, so that there are about five steps. */
static double nice_step(double span)
{
	double raw = span / 5, power = pow(10, floor(log10(raw))), times = raw / power;

	return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

static void set_axis(const struct plot_lines *p, struct field *f)
{
	double least = INFINITY, most = 0;
	size_t i;

	for (i = 0; i < p->count; i++) {
		plot_widen(&least, &most, p->series[i].y, p->places);
		plot_widen(&least, &most, p->series[i].low, p->places);
		plot_widen(&least, &most, p->series[i].high, p->places);
	}
	if (most <= 0)
		least = most = 1;
	if (p->logarithmic) {
		f->least = log10(fmax(least, 1e-3)) - 0.06;
		f->most = log10(most) + 0.06;
		if (f->most - f->least < 1)
			f->most = f->least + 1;
	} else {
		f->step = nice_step(most);
		f->least = 0;
		f->most = ceil(most / f->step - 1e-9) * f->step;
	}
}

/* ---- the names at their ends ----------------------------------------------------------------- */

struct end {
	const struct plot_series *series;
	double x, y; /* of the last point */
	double at;   /* where the name stands */
};

static int compare_ends(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	return (x->y > y->y) - (x->y < y->y);
}

/* Move the labels down from the top, each at least a line below the one before; then up again from the end. */
static void spread_ends(struct end *end, size_t count, double top, double bottom)
{
	double limit = bottom;
	size_t i;

	for (i = 0; i < count; i++) {
		double least = i ? end[i - 1].at + LINE : top;

		end[i].at = fmax(end[i].y, least);
	}
	for (i = count; i--; limit -= LINE)
		end[i].at = fmin(end[i].at, limit);
}

static size_t find_ends(const struct plot_lines *p, const struct field *f, struct end *end)
{
	size_t count = 0, i, at;

	for (i = 0; i < p->count; i++) {
		for (at = p->places; at-- && isnan(p->series[i].y[at]);)
			;
		if (at == (size_t)-1)
			continue;
		end[count].series = &p->series[i];
		end[count].x = place(p, f, at);
		end[count++].y = level(p, f, p->series[i].y[at]);
	}
	qsort(end, count, sizeof(*end), compare_ends);
	spread_ends(end, count, f->top, f->bottom);
	return count;
}

static void put_ends(FILE *to, const struct plot_lines *p, const struct field *f)
{
	struct end *end = options_alloc(p->count, sizeof(*end));
	size_t count = find_ends(p, f, end), i;

	for (i = 0; i < count; i++) {
		double x = f->right + 14;

		plot_stroke(to, "g", end[i].x + PLOT_RADIUS + 2, end[i].y, x - 8, end[i].at);
		if (end[i].series->mark)
			plot_point(to, end[i].series->mark, end[i].series->colour, x - 3, end[i].at,
				   "");
		plot_label(to, x + 5, end[i].at + 4, "", "", end[i].series->name);
	}
	free(end);
}

/* "0.5", "20", "300", "5k", "1M": never longer than five letters for what is measured here. */
static void level_word(char *to, size_t size, double y)
{
	static const char *const unit[] = { "", "k", "M", "G" };
	size_t thousands = 0;

	while (y >= 1000 && thousands < 3) {
		y /= 1000;
		thousands++;
	}
	snprintf(to, size, "%.3g%s", y, unit[thousands]);
}

/* ---- what is drawn --------------------------------------------------------------------------- */

static void put_level(FILE *to, const struct plot_lines *p, const struct field *f, double y)
{
	double at = level(p, f, y);
	char text[32];

	if (at > f->bottom + 0.5 || at < f->top - 0.5)
		return;
	level_word(text, sizeof(text), y);
	plot_stroke(to, "g", f->left, at, f->right, at);
	plot_label(to, f->left - 5, at + 4, "end", "t", text);
}

static void put_levels(FILE *to, const struct plot_lines *p, const struct field *f)
{
	double y, power;
	int decade;

	if (!p->logarithmic) {
		for (y = f->least; y <= f->most + f->step / 2; y += f->step)
			put_level(to, p, f, y);
		return;
	}
	for (decade = (int)floor(f->least); decade <= (int)ceil(f->most); decade++) {
		power = pow(10, decade);
		put_level(to, p, f, power);
		if (f->most - f->least < 2.2) {
			put_level(to, p, f, 2 * power);
			put_level(to, p, f, 5 * power);
		}
	}
}

static void put_places(FILE *to, const struct plot_lines *p, const struct field *f)
{
	/* Every one, or every second one, ... as there is room. */
	double room = (f->right - f->left) / (double)(p->places ? p->places : 1);
	size_t every = 1, i;

	for (i = 0; i < p->places; i++)
		while ((double)strlen(p->x_label[i]) * PLOT_LETTER + 4 > room * (double)every)
			every++;
	plot_stroke(to, "a", f->left, f->bottom, f->right, f->bottom);
	for (i = 0; i < p->places; i++) {
		plot_stroke(to, "a", place(p, f, i), f->bottom, place(p, f, i), f->bottom + 3);
		if (i % every == 0)
			plot_label(to, place(p, f, i), f->bottom + 15, "middle", "t",
				   p->x_label[i]);
	}
	plot_label(to, (f->left + f->right) / 2, f->bottom + 30, "middle", "t", p->x_title);
	plot_label(to, 2, 12, "", "t", p->y_title);
}

static void put_prediction(FILE *to, const struct plot_lines *p, const struct field *f)
{
	double from;

	if (p->predicted >= p->places || !p->predicted)
		return;
	from = (place(p, f, p->predicted - 1) + place(p, f, p->predicted)) / 2;
	fprintf(to, "<rect class=\"p\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
		from, f->top - 10, f->right - from, f->bottom - f->top + 10);
	plot_label(to, (from + f->right) / 2, f->top - 1, "middle", "t", "prediction");
}

static void put_stroke(FILE *to, const struct plot_lines *p, const struct field *f,
		       const struct plot_series *s, size_t from, size_t until, bool dashed)
{
	bool started = false;
	size_t i;

	if (from + 1 >= until)
		return;
	fputs("<path class=\"s\" d=\"", to);
	for (i = from; i < until; i++) {
		if (isnan(s->y[i])) {
			started = false;
			continue;
		}
		fprintf(to, "%c%.1f %.1f", started ? 'L' : 'M', place(p, f, i),
			level(p, f, s->y[i]));
		started = true;
	}
	fputs("\" stroke=\"", to);
	plot_colour(to, s->colour);
	fputs(dashed ? "\" stroke-dasharray=\"4 3\"/>\n" : "\"/>\n", to);
}

static void put_whisker(FILE *to, const struct plot_lines *p, const struct field *f,
			const struct plot_series *s, size_t at)
{
	if (!s->low || !s->high || isnan(s->low[at]) || isnan(s->high[at]))
		return;
	fprintf(to, "<path class=\"h\" d=\"M%.1f %.1fV%.1f\" stroke=\"", place(p, f, at),
		level(p, f, s->low[at]), level(p, f, s->high[at]));
	plot_colour(to, s->colour);
	fputs("\"/>\n", to);
}

static void put_series(FILE *to, const struct plot_lines *p, const struct field *f,
		       const struct plot_series *s)
{
	size_t predicted = p->predicted && p->predicted < p->places ? p->predicted : p->places, i;

	put_stroke(to, p, f, s, 0, predicted, s->dashed);
	if (predicted < p->places)
		put_stroke(to, p, f, s, predicted - 1, p->places, true);
	for (i = 0; i < p->places; i++) {
		char *tip;

		if (isnan(s->y[i]) || !s->mark)
			continue;
		tip = options_printf("%s, %s %s: %.3g%s", s->name, p->x_label[i], p->x_title,
				     s->y[i], i >= predicted ? " (prediction)" : "");
		put_whisker(to, p, f, s, i);
		plot_point(to, s->mark, s->colour, place(p, f, i), level(p, f, s->y[i]), tip);
		free(tip);
	}
}

void plot_lines(FILE *to, const struct plot_lines *p)
{
	struct field f = { .left = LEFT, .top = TOP };
	double names = 0;
	size_t i;

	for (i = 0; i < p->count; i++)
		names = fmax(names, (double)strlen(p->series[i].name) * PLOT_LETTER);
	f.right = PLOT_WIDTH - names - 20;
	f.bottom = TOP + fmax(HEIGHT, (double)p->count * LINE);
	set_axis(p, &f);
	plot_begin(to, p->id, p->title, p->desc, f.bottom + BOTTOM);
	put_prediction(to, p, &f);
	put_levels(to, p, &f);
	put_places(to, p, &f);
	put_ends(to, p, &f);
	/* The first ones matter most and lie on top. */
	for (i = p->count; i--;)
		put_series(to, p, &f, &p->series[i]);
	fputs("</svg>\n", to);
}
