/* SPDX-License-Identifier: MIT */
/* The report: one HTML file that stands alone. */
#ifndef LULL_LAB_COMPARE_REPORT_H
#define LULL_LAB_COMPARE_REPORT_H

#include "report/compared.h"

struct report;

/*
 * Before anything is measured: options_bad() when @path cannot be written. The file is written
 * beside its name and renamed by report_write().
 */
struct report *report_open(const char *path);
/* Draw, write and free the report. An error calls options_fail(). */
void report_write(struct report *report, const struct compare *data);

#endif
