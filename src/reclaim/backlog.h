/* SPDX-License-Identifier: MIT */
/*
 * backlog.h - how much waits to be reclaimed in the whole process, and how much may.
 */
#ifndef LULL_BACKLOG_H
#define LULL_BACKLOG_H

#include "bag.h"

/* Add the entries that came to @q since the last call. The producer of @q. */
void lull__backlog_add(struct lull__queue *q);

/* Make the calling thread's bag, if it has one, an orphan, and tell no thread what waits in it. */
void lull__leave_bag(void);
/* Subtract what was reclaimed from @q; if the backlog is now below its limits, wake the threads it held back. */
void lull__backlog_sub(struct lull__queue *q, size_t items, size_t bytes);
/* Wait until the backlog is below its soft limits, until @deadline_ns at the latest. */
void lull__backlog_await_relief(uint64_t deadline_ns);
void lull__backlog_raise_peak(size_t items, size_t bytes);

/* Count exactly what waits. Takes no lock. */
void lull__backlog(size_t *items, size_t *bytes);
/* Count exactly what was deferred since the start, in a child since the fork, with what waited then. */
uint64_t lull__backlog_total(void);
/* Publish on the page of stats.h exactly what was deferred and what waits. */
void lull__backlog_publish(void);
void lull__backlog_fork_child(void);

/* Does more wait than the soft limit of items, or @twice that, or more than the soft limit of bytes? */
bool lull__over_soft(bool twice);
/* Is it more than the hard limit? Then *@items, of *@bytes, wait. */
bool lull__over_hard(size_t *items, size_t *bytes);
/* Does more memory wait that threads have retired than hazptr.h allows? */
bool lull__over_retired(void);
uint64_t lull__scan_threshold(void);

#endif /* LULL_BACKLOG_H */
