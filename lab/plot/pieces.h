/* SPDX-License-Identifier: MIT */
/* The pieces that charts are made of. Internal to plot*.c. */
#ifndef LULL_LAB_PIECES_H
#define LULL_LAB_PIECES_H

#include <stdio.h>

#include "plot/plot.h"

/* Lengths are in units of the drawing, about a pixel each. */
#define PLOT_WIDTH 360.0
#define PLOT_LETTER 6.8 /* of the average letter in a wide font */
#define PLOT_RADIUS 3.6 /* of a mark */

/* Opens the element; id, title and desc as in plot.h. */
void plot_begin(FILE *to, const char *id, const char *title, const char *desc, double height);
void plot_colour(FILE *to, unsigned colour);
/* @anchor: "", "middle" or "end"; @class: "" or one of PLOT_STYLE. */
void plot_label(FILE *to, double x, double y, const char *anchor, const char *class,
		const char *text);
void plot_stroke(FILE *to, const char *class, double x1, double y1, double x2, double y2);
/* @tip may be empty. */
void plot_point(FILE *to, unsigned mark, unsigned colour, double x, double y, const char *tip);
/* Takes the figures of @y that are there into the range. */
void plot_widen(double *least, double *most, const double *y, size_t count);

#endif
