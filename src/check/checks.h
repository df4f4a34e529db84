/* SPDX-License-Identifier: MIT */
/*
 * checks.h - the checks of debug builds, as life.c puts them into the table of hooks.h.
 */
#ifndef LULL_CHECKS_H
#define LULL_CHECKS_H

#include <lull/thread.h>

#include "../base/hooks.h"
#include "../os/os.h"

/*
 * Not in a library with faults (LULL_BUSTED): the checks' own lock and fence, at every deferral, would hide
 * a missing fence.
 */
#if defined(LULL_DEBUG) && !defined(LULL_BUSTED)
#define LULL__CHECK_RETIRED 1
#else
#define LULL__CHECK_RETIRED 0
#endif

#ifdef LULL_DEBUG
/* Return the calling thread's id; that of a registered thread needs no system call. */
static inline uint32_t lull__check_tid(void)
{
	return lull__self.tid ? lull__self.tid : lull__gettid();
}

/* guards.c */
void lull__check_sleeps_online(const char *call); /* say so if an online thread sleeps, once each */
void lull__guards_forget(uintptr_t from, uintptr_t to); /* drop the declarations for memory that is freed */
void lull__guards_fork(bool begins);
void lull__guards_fork_child(void);

/* deadlock.c: see mutex_waits and look_for_circle in hooks.h */
void lull__deadlock_check(const struct lull_mutex *m, uint32_t tid);
uint64_t lull__deadlock_look(uint64_t again_ns);

/* mixed.c: see fenced_waits in hooks.h */
void lull__mixed_check(const char *call, const void *addr, size_t len);
#endif

#if LULL__CHECK_RETIRED
/* retired.c: see hooks.h */
void lull__retired_add(int kind, void *item, lull_rcu_func func, const void *site);
void lull__retired_ready(const struct lull__queue *q, uint64_t ready);
void lull__retired_remove(void *item);
void lull__retired_protects_none(const char *call);
void lull__retired_fork(bool begins);
void lull__retired_fork_child(void);
#endif

#endif /* LULL_CHECKS_H */
