/* SPDX-License-Identifier: MIT */
/*
 * backlog.h - how much waits to be reclaimed in the whole process, and the limits of that.
 */
#ifndef LULL_BACKLOG_H
#define LULL_BACKLOG_H

#include "bag.h"

/* Add what @q got since it was last added. Its producer. */
void lull__backlog_add(struct lull__queue *q);
/* Take off what was reclaimed. */
void lull__backlog_sub(size_t items, size_t bytes);
void lull__backlog_raise_peak(size_t items, size_t bytes);

/* Count what waits, to the entry. Takes no lock. */
void lull__backlog(size_t *items, size_t *bytes);
/* Tell the page of stats.h what waits, to the entry. */
void lull__backlog_publish(void);

bool lull__over_soft(void);
bool lull__over_hard(void);

#endif /* LULL_BACKLOG_H */
