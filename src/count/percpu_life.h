/* SPDX-License-Identifier: MIT */
/*
 * percpu_life.h - counters of CPUs and the counts that use them, in a forked child; for life.c.
 */
#ifndef LULL_PERCPU_LIFE_H
#define LULL_PERCPU_LIFE_H

#include <stdint.h>

void lull__percpu_cells_fork_child(uint32_t old_tid);
void lull__percpu_ref_fork_child(uint32_t old_tid);
void lull__rcu_sync_fork_child(uint32_t old_tid);

#endif /* LULL_PERCPU_LIFE_H */
