/* SPDX-License-Identifier: MIT */
/*
 * stats.h (internal) - the page that the process writes; note.h says what is written.
 */
#ifndef LULL_SRC_STATS_H
#define LULL_SRC_STATS_H

#include <lull/stats.h>

/* Counts are added with relaxed operations: numbers for people, which order nothing. */
extern struct lull_stats_page *lull__stats;

void lull__stats_init(void);
void lull__stats_fork_child(void);

#endif /* LULL_SRC_STATS_H */
