/* SPDX-License-Identifier: MIT */
/*
 * pool_life.h - the pool of hazard pointers in the lives of threads and processes; for life.c.
 */
#ifndef LULL_POOL_LIFE_H
#define LULL_POOL_LIFE_H

#include <stdint.h>

void lull__hazptr_pool_thread_exit(void); /* the thread has no block at hand from then on */
void lull__hazptr_pool_fork_child(uint32_t old_tid);

#endif /* LULL_POOL_LIFE_H */
