/* SPDX-License-Identifier: MIT */
/* Tables on stdout: cells are collected, then printed in columns that are as wide as they must be. */
#ifndef LULL_LAB_TEXT_TABLE_H
#define LULL_LAB_TEXT_TABLE_H

#include "common/figures.h"

struct bench_table;

/* Header cells; the first column is left-aligned, the others right-aligned. "a|b|c" */
struct bench_table *bench_table_new(const char *header);
/* Fills the next cell, row by row. */
void bench_cell(struct bench_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "12.3 [11.9..14.0]" with a sensible number of digits; "n/a" for count 0. */
void bench_cell_stat(struct bench_table *t, const struct bench_stat *s);
/* "x1.24" of the medians; "n/a" when either is missing. */
void bench_cell_ratio(struct bench_table *t, const struct bench_stat *s,
		      const struct bench_stat *base);
/* Prints to stdout and frees. */
void bench_table_print(struct bench_table *t);

#endif
