/* SPDX-License-Identifier: MIT */
/* Charts of rows over an axis of time; see plot.h. */
#include <math.h>
#include <string.h>

#include "common/units.h"
#include "plot/pieces.h"

#define ROW 19.0

struct span {
	double left, right;
	int from, to; /* decades of nanoseconds */
};

static double along(const struct span *s, double ns)
{
	double decades = log10(fmax(ns, 0.1)) - s->from;

	decades = fmin(fmax(decades, 0), s->to - s->from);
	return s->left + (s->right - s->left) * decades / (s->to - s->from);
}

static void set_span(const struct plot_rows *p, struct span *s)
{
	double least = INFINITY, most = 0, letters = 0;
	size_t i;

	for (i = 0; i < p->count; i++) {
		const struct plot_row *r = &p->row[i];
		double all[] = {
			r->thin[0], r->thin[1], r->thick[0], r->thick[1], r->dot, r->ring
		};

		plot_widen(&least, &most, all, sizeof(all) / sizeof(all[0]));
		letters = fmax(letters, (double)strlen(r->label));
	}
	if (most <= 0)
		least = most = 1;
	s->left = letters * PLOT_LETTER + 8;
	s->right = PLOT_WIDTH - 16;
	s->from = (int)floor(log10(fmax(least, 0.1)) + 1e-9);
	s->to = (int)ceil(log10(fmax(most, 0.1)) - 1e-9);
	if (s->to <= s->from)
		s->to = s->from + 1;
}

static void put_decades(FILE *to, const struct span *s, double bottom)
{
	double room = (s->right - s->left) / (s->to - s->from);
	int every = room < 20 ? 3 : room < 40 ? 2 : 1, decade;

	for (decade = s->from; decade <= s->to; decade++) {
		double x = along(s, pow(10, decade));

		plot_stroke(to, "g", x, 4, x, bottom);
		if ((decade - s->from) % every)
			continue;
		plot_label(to, x, bottom + 14, "middle", "t", units_time(pow(10, decade)).text);
	}
}

static void put_coloured_line(FILE *to, unsigned colour, double width, const double *x, double y)
{
	fprintf(to, "<path d=\"M%.1f %.1fH%.1f\" stroke-width=\"%.1f\" stroke=\"", x[0], y, x[1],
		width);
	plot_colour(to, colour);
	fputs("\"/>\n", to);
}

static void put_row(FILE *to, const struct span *s, const struct plot_row *r, double y)
{
	double thin[2] = { along(s, r->thin[0]), along(s, r->thin[1]) };
	double thick[2] = { along(s, r->thick[0]), along(s, r->thick[1]) };

	plot_label(to, s->left - 8, y + 4, "end", "", r->label);
	fputs("<g><title>", to);
	plot_text(to, r->tip);
	fputs("</title>\n", to);
	if (!isnan(r->thin[0]) && !isnan(r->thin[1]))
		put_coloured_line(to, r->colour, 1.2, thin, y);
	if (!isnan(r->thick[0]) && !isnan(r->thick[1]))
		put_coloured_line(to, r->colour, 5, thick, y);
	if (!isnan(r->tick))
		fprintf(to, "<path d=\"M%.1f %.1fv12\" class=\"a\"/>\n", along(s, r->tick), y - 6);
	/* The ring first: where both are the same, the dot is inside. */
	if (!isnan(r->ring))
		plot_point(to, PLOT_CIRCLE, r->colour, along(s, r->ring), y, "");
	if (!isnan(r->dot))
		plot_point(to, PLOT_CIRCLE_FULL, r->colour, along(s, r->dot), y, "");
	fputs("</g>\n", to);
}

void plot_rows(FILE *to, const struct plot_rows *p)
{
	double bottom = 8 + (double)p->count * ROW;
	struct span s;
	size_t i;

	set_span(p, &s);
	plot_begin(to, p->id, p->title, p->desc, bottom + 20);
	put_decades(to, &s, bottom);
	for (i = 0; i < p->count; i++)
		put_row(to, &s, &p->row[i], 8 + ((double)i + 0.5) * ROW);
	fputs("</svg>\n", to);
}
