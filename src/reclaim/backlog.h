/* SPDX-License-Identifier: MIT */
/*
 * backlog.h - how much waits to be reclaimed in the whole process, and the limits of that.
 */
#ifndef LULL_BACKLOG_H
#define LULL_BACKLOG_H

#include "bag.h"

/* Add the entries that came to @q since the last call. The producer of @q. */
void lull__backlog_add(struct lull__queue *q);
/* Subtract what was reclaimed. */
void lull__backlog_sub(size_t items, size_t bytes);
void lull__backlog_raise_peak(size_t items, size_t bytes);

/* Count exactly what waits. Takes no lock. */
void lull__backlog(size_t *items, size_t *bytes);
/* Count exactly what was deferred since the start, in a child since the fork, with what waited then. */
uint64_t lull__backlog_total(void);
/* Publish on the page of stats.h exactly what was deferred and what waits. */
void lull__backlog_publish(void);
void lull__backlog_fork_child(void);

bool lull__over_soft(void);
bool lull__over_hard(void);

#endif /* LULL_BACKLOG_H */
