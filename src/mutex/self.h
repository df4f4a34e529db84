/* SPDX-License-Identifier: MIT */
/*
 * self.h - the calling thread as one that locks.
 */
#ifndef LULL_SELF_H
#define LULL_SELF_H

#include <stdint.h>

/* The calling thread's id. Its first lock makes it known to the others, and to the oracle. */
uint32_t lull__mutex_self(void);

/* For life.c. */
void lull__mutex_fork_child(uint32_t old_tid);

#endif /* LULL_SELF_H */
