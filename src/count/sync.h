/* SPDX-License-Identifier: MIT */
/*
 * sync.h - what percpu_rwsem.c asks of rcu_sync.c.
 */
#ifndef LULL_SYNC_H
#define LULL_SYNC_H

#include <lull/rcu_sync.h>

/* Bits of an idle word, of counters: they are shared out among threads. */
#define LULL__RCU_SYNC_THREADS ((uintptr_t)4)

/* A word that never becomes idle: somebody has entered, and nobody leaves. */
extern const uintptr_t lull__rcu_sync_never;

/* Enter, for @call. Returns true if the readers' path was fast before: then the caller alone may go on until it exits. */
bool lull__rcu_sync_enter(struct lull_rcu_sync *rs, const char *call);

#endif /* LULL_SYNC_H */
