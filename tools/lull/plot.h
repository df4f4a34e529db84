/* SPDX-License-Identifier: MIT */
/* Pictures: gnuplot draws, and its SVG is made fit to stand in an HTML page. */
#ifndef LULL_TOOL_PLOT_H
#define LULL_TOOL_PLOT_H

#include <stdbool.h>

/* Colours in commands: those of the page. Scheme number N is "#0000NN" in hexadecimal. */
#define PLOT_MUTED "#000100"
#define PLOT_LINE "#000200"

/* There is a gnuplot that can be run. */
bool plot_available(void);

/*
 * Runs gnuplot over @commands and returns its picture, to be freed: an <svg> element without fixed
 * size, whose colours are the page's variables --c1, --c2, ..., --muted and --line, whose text has
 * the font and the colour of the text around it, and whose ids begin with @id. @title is for who
 * cannot see it. Failure is options_fail().
 */
char *plot_svg(const char *id, const char *title, unsigned width, unsigned height,
	       const char *commands);

#endif
