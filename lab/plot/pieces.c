/* SPDX-License-Identifier: MIT */
/* The pieces of charts: text, marks, strokes; see plot.h and plot/pieces.h. */
#include "plot/pieces.h"

#include <math.h>
#include <stdbool.h>

void plot_text(FILE *to, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '&':
			fputs("&amp;", to);
			break;
		case '<':
			fputs("&lt;", to);
			break;
		case '>':
			fputs("&gt;", to);
			break;
		case '"':
			fputs("&quot;", to);
			break;
		case '\'':
			fputs("&#39;", to);
			break;
		default:
			fputc((unsigned char)*text < ' ' || *text == 127 ? ' ' : *text, to);
		}
}

void plot_colour(FILE *to, unsigned colour)
{
	if (colour)
		fprintf(to, "var(--c%u)", colour);
	else
		fputs("var(--muted)", to);
}

void plot_label(FILE *to, double x, double y, const char *anchor, const char *class,
		const char *text)
{
	fprintf(to, "<text x=\"%.1f\" y=\"%.1f\"", x, y);
	if (*anchor)
		fprintf(to, " text-anchor=\"%s\"", anchor);
	if (*class)
		fprintf(to, " class=\"%s\"", class);
	fputc('>', to);
	plot_text(to, text);
	fputs("</text>\n", to);
}

void plot_stroke(FILE *to, const char *class, double x1, double y1, double x2, double y2)
{
	fprintf(to, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", class, x1, y1, x2, y2);
}

static void put_shape(FILE *to, unsigned mark, double x, double y)
{
	double r = PLOT_RADIUS;

	switch (mark) {
	case PLOT_PLUS:
		fprintf(to, "M%.1f %.1fh%.1fM%.1f %.1fv%.1f", x - r, y, 2 * r, x, y - r, 2 * r);
		break;
	case PLOT_CROSS:
		r *= 0.8;
		fprintf(to, "M%.1f %.1fl%.1f %.1fM%.1f %.1fl%.1f %.1f", x - r, y - r, 2 * r, 2 * r,
			x - r, y + r, 2 * r, -2 * r);
		break;
	case PLOT_SQUARE:
	case PLOT_SQUARE_FULL:
		r *= 0.85;
		fprintf(to, "M%.1f %.1fh%.1fv%.1fh%.1fz", x - r, y - r, 2 * r, 2 * r, -2 * r);
		break;
	case PLOT_TRIANGLE:
	case PLOT_TRIANGLE_FULL:
		fprintf(to, "M%.1f %.1fl%.1f %.1fh%.1fz", x, y - r * 1.1, r * 1.1, r * 1.9,
			-r * 2.2);
		break;
	case PLOT_DOWN:
	case PLOT_DOWN_FULL:
		fprintf(to, "M%.1f %.1fl%.1f %.1fh%.1fz", x, y + r * 1.1, r * 1.1, -r * 1.9,
			-r * 2.2);
		break;
	case PLOT_DIAMOND:
	case PLOT_DIAMOND_FULL:
		r *= 1.2;
		fprintf(to, "M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz", x, y - r, r, r, -r, r, -r,
			-r);
		break;
	default:
		fprintf(to, "M%.1f %.1fa%.1f %.1f 0 1 0 %.1f 0a%.1f %.1f 0 1 0 %.1f 0z", x - r, y,
			r, r, 2 * r, r, r, -2 * r);
	}
}

static bool is_full(unsigned mark)
{
	return mark == PLOT_SQUARE_FULL || mark == PLOT_CIRCLE_FULL || mark == PLOT_TRIANGLE_FULL ||
	       mark == PLOT_DOWN_FULL || mark == PLOT_DIAMOND_FULL;
}

void plot_point(FILE *to, unsigned mark, unsigned colour, double x, double y, const char *tip)
{
	fputs("<path class=\"m\" d=\"", to);
	put_shape(to, mark, x, y);
	fputs("\" stroke=\"", to);
	plot_colour(to, colour);
	fputs("\" fill=\"", to);
	if (is_full(mark))
		plot_colour(to, colour);
	else
		fputs("var(--card)", to);
	fputs("\"", to);
	if (*tip) {
		fputs("><title>", to);
		plot_text(to, tip);
		fputs("</title></path>\n", to);
	} else {
		fputs("/>\n", to);
	}
}

void plot_mark(FILE *to, unsigned mark, unsigned colour)
{
	fputs("<svg class=\"mark\" viewBox=\"0 0 14 12\" aria-hidden=\"true\">", to);
	plot_point(to, mark, colour, 7, 6, "");
	fputs("</svg>", to);
}

void plot_begin(FILE *to, const char *id, const char *title, const char *desc, double height)
{
	fprintf(to,
		"<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-labelledby=\"%s-t %s-d\">\n"
		"<title id=\"%s-t\">",
		PLOT_WIDTH, height, id, id, id);
	plot_text(to, title);
	fprintf(to, "</title>\n<desc id=\"%s-d\">", id);
	plot_text(to, desc);
	fputs("</desc>\n", to);
}

void plot_widen(double *least, double *most, const double *y, size_t count)
{
	size_t i;

	for (i = 0; y && i < count; i++) {
		if (isnan(y[i]))
			continue;
		*least = fmin(*least, y[i]);
		*most = fmax(*most, y[i]);
	}
}
