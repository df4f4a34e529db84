/* SPDX-License-Identifier: MIT */
/*
 * self.h - the calling thread's id as owner of locks.
 */
#ifndef LULL_SELF_H
#define LULL_SELF_H

#include <stdint.h>

/* Return the calling thread's id. At its first lock, put it into the table of owners and tell the oracle. */
uint32_t lull__mutex_self(void);

/* Let the calling thread lock out of line, since it has met a crowd. For why, see mutex.c. */
void lull__mutex_crowded(void);

/* Note that it has found a lock free, out of line: before long it may lock inline again. */
void lull__mutex_calm(void);

/* For life.c. */
void lull__mutex_fork_child(uint32_t old_tid);

#endif /* LULL_SELF_H */
