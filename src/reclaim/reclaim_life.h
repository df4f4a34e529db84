/* SPDX-License-Identifier: MIT */
/*
 * reclaim_life.h - reclaiming in the lives of threads and processes; for life.c and the watch.
 */
#ifndef LULL_RECLAIM_LIFE_H
#define LULL_RECLAIM_LIFE_H

#include <stdint.h>

void lull__reclaim_init(void);
void lull__reclaim_thread_exit(void); /* make the calling thread's bag an orphan */
void lull__reclaim_unregister(const char *call);
void lull__reclaim_fork_child(uint32_t old_tid);
void lull__reclaim_retry(void); /* start the background thread, which could not be started before */
void lull__reclaim_pay(void); /* for what the calling thread has deferred past a limit in its section */
void lull__reclaim_soft_items(size_t items); /* a soft limit in place of that at the start */
void lull__reclaim_limits(uint64_t *items, uint64_t *bytes); /* store the current hard limits */

#endif /* LULL_RECLAIM_LIFE_H */
