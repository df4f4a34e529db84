/* SPDX-License-Identifier: MIT */
/*
 * report.h - report a stall, to the program's hook or in one line.
 */
#ifndef LULL_REPORT_H
#define LULL_REPORT_H

#include <lull/debug.h>

void lull__report_stall(const struct lull_stall *stall) __attribute__((cold));
void lull__report_fork_child(void);

#endif /* LULL_REPORT_H */
