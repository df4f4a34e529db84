/* SPDX-License-Identifier: MIT */
/*
 * Pictures: charts as SVG elements that stand in an HTML page and take their colours from it.
 *
 * A chart has a title and a description for who cannot see it, names its lines where they end, and
 * gives each a mark of its own, so that it can be read without colours. Every mark tells its figure
 * when it is pointed at. The page's style sheet must contain PLOT_STYLE and define the variables
 * --fg, --muted, --line, --card and --c1, --c2, ... (the schemes' colours).
 */
#ifndef LULL_LAB_PLOT_H
#define LULL_LAB_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define PLOT_STYLE                                                                     \
	"svg{display:block;width:100%;max-width:28rem;height:auto;overflow:visible}\n" \
	"svg text{font-size:11.5px;fill:var(--fg)}\n"                                  \
	"svg .t{fill:var(--muted)}\n"                                                  \
	"svg .g{stroke:var(--line);stroke-width:1;fill:none}\n"                        \
	"svg .a{stroke:var(--muted);stroke-width:1;fill:none}\n"                       \
	"svg .s{fill:none;stroke-width:1.7;stroke-linejoin:round}\n"                   \
	"svg .h{stroke-width:.8;opacity:.75}\n"                                        \
	"svg .m{stroke-width:1.4}\n"                                                   \
	"svg .p{fill:var(--line);opacity:.45}\n"

enum plot_mark {
	PLOT_PLUS = 1,
	PLOT_CROSS,
	PLOT_SQUARE = 4,
	PLOT_SQUARE_FULL,
	PLOT_CIRCLE,
	PLOT_CIRCLE_FULL,
	PLOT_TRIANGLE,
	PLOT_TRIANGLE_FULL,
	PLOT_DOWN,
	PLOT_DOWN_FULL,
	PLOT_DIAMOND,
	PLOT_DIAMOND_FULL,
};

/* A line; NAN is a place without a figure. */
struct plot_series {
	const char *name;
	unsigned colour; /* N of --cN; 0 is --muted */
	unsigned mark;	 /* enum plot_mark; 0: none */
	bool dashed;
	const double *y;
	const double *low, *high; /* whiskers; NULL: none */
};

struct plot_lines {
	const char *id, *title, *desc;
	const char *x_title, *y_title;
	const char *const *x_label;
	size_t places;	  /* on the horizontal axis, all equally far from each other */
	size_t predicted; /* from this place on nothing was measured; `places`: all was */
	bool logarithmic; /* the vertical axis */
	const struct plot_series *series;
	size_t count;
};

void plot_lines(FILE *to, const struct plot_lines *plot);

/* One below the other, over a logarithmic axis of nanoseconds. NAN: not drawn. */
struct plot_row {
	const char *label;
	unsigned colour;
	double thin[2], thick[2]; /* from, to */
	double dot, ring, tick;
	const char *tip; /* text under the mouse */
};

struct plot_rows {
	const char *id, *title, *desc;
	const struct plot_row *row;
	size_t count;
};

void plot_rows(FILE *to, const struct plot_rows *plot);

/* The mark as an element of its own, 14 wide, for a line of text. */
void plot_mark(FILE *to, unsigned mark, unsigned colour);

/* Write text for HTML and SVG: <, >, &, " and ' as entities, unprintable bytes as spaces. */
void plot_text(FILE *to, const char *text);

#endif
