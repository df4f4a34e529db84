/* SPDX-License-Identifier: MIT */
/*
 * self.h - the calling thread's id as owner of locks.
 */
#ifndef LULL_SELF_H
#define LULL_SELF_H

#include <stdint.h>

/* Return the calling thread's id. At its first lock, put it into the table of owners and tell the oracle. */
uint32_t lull__mutex_self(void);

/* For life.c. */
void lull__mutex_fork_child(uint32_t old_tid);

#endif /* LULL_SELF_H */
