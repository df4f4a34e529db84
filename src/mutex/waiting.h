/* SPDX-License-Identifier: MIT */
/*
 * waiting.h - how the two kinds of mutex and the condition variable wait for a lock.
 */
#ifndef LULL_SRC_MUTEX_H
#define LULL_SRC_MUTEX_H

#include <lull/mutex.h>

#include "owner.h"

#ifdef LULL_DEBUG
#define LULL__LOOKS_FOR_DEADLOCKS true
#else
#define LULL__LOOKS_FOR_DEADLOCKS false
#endif

/* Kinds of threads that sleep on a lock's word, as bits of futex bitsets. */
#define LULL__MUTEX_ANY	 1u
#define LULL__MUTEX_HEIRS 2u

/* One thread's wait for one lock. */
struct lull__lock_wait {
	struct lull_mutex *m;
	bool (*take)(struct lull__lock_wait *wait, uint32_t word); /* the lock is free: try to take it */
	uint32_t tid;	      /* the waiting thread */
	bool woken;	      /* others may sleep: take the lock with WAITERS set */
	bool heir;	      /* tid is in m->rest */
	bool shared;	      /* processes share the futex */
	uint64_t deadline_ns; /* LULL__NEVER: none */
	uint64_t impatient_ns; /* when to become the heir; 0: not computed, LULL__NEVER: never */
};

/* Wait for the lock, and take it. Returns 0 or -ETIMEDOUT. */
int lull__lock_wait_for(struct lull__lock_wait *wait);

/* Lock @m in a thread that was woken and may be the only one that knows of other sleepers. */
void lull__mutex_lock_woken(struct lull_mutex *m);

/*
 * Return how long to sleep in one piece: until @deadline_ns, or, if @looks_again, not as long: the process
 * that would have woken this thread may have been killed.
 */
uint64_t lull__sleep_until_ns(uint64_t deadline_ns, bool looks_again);

bool lull__mutex_shared(const struct lull_mutex *m);

/* Abort in the name of @what unless the caller owns @m, or did before fork. */
void lull__mutex_must_own(struct lull_mutex *m, const char *what);

/* Abort because the caller @what the mutex @m, which @tid holds (0: no thread). */
void lull__mutex_misuse(const char *what, const void *m, uint32_t tid) __attribute__((noreturn, cold));

#endif /* LULL_SRC_MUTEX_H */
