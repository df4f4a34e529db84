/* SPDX-License-Identifier: MIT */
/* Parts that the pages of the report share: text, cells, figures. Internal to lab/report. */
#ifndef LULL_LAB_PAGE_H
#define LULL_LAB_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "common/figures.h"
#include "common/outfile.h"
#include "plot/plot.h"
#include "report/compared.h"

struct report {
	struct outfile *outfile;
	FILE *file;
	const struct compare *data;
};

/* Write the text as it is: for markup only. Text from outside goes through out_text(). */
void out(struct report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void out_text(struct report *r, const char *text);

/* ---- cells ----------------------------------------------------------------------------------- */

/* Starts a row: the scheme's mark and a label. */
void out_label(struct report *r, const char *label, unsigned colour, unsigned mark);
void out_name(struct report *r, const struct compare_scheme *s);
/* Median with minimum and maximum; the best of a column stands out. */
void out_stat(struct report *r, const struct bench_stat *s, bool best);
/* "n/a" where the latency was not measured. */
void out_time(struct report *r, const struct bench_latency *l, double ns);
/* "-" for a negative one. */
void out_size(struct report *r, double bytes);

/* ---- figures: title, caption, picture, table behind a click ---------------------------------- */

void begin_figure(struct report *r, const char *title, const char *caption);
/* Open the table after the picture; its head and rows follow. */
void begin_numbers(struct report *r);
void end_figure(struct report *r);

/* ---- the ways to keep an object alive -------------------------------------------------------- */

/* The variables --cN of tradeoff.scheme[]; each looks like the scheme of that name. */
void out_way_colours(struct report *r, bool dark);

/* The same of compare.locks. */
void out_lock_colours(struct report *r, bool dark);

/* ---- parts of the page ----------------------------------------------------------------------- */

/* Write the recommendation, in a box. */
void out_lines(struct report *r, const char (*line)[CHOOSE_LINE], size_t count);

void out_foot_table(struct report *r); /* the table of the slides, report/lifetime.c */
void out_way_pictures(struct report *r);
void out_decision(struct report *r); /* all schemes, report/decision.c */
void out_figures(struct report *r);  /* of the article, report/throughput.c */
void out_reads(struct report *r);    /* report/times.c */
void out_latencies(struct report *r);
void out_locks(struct report *r); /* report/locks.c */

#endif
