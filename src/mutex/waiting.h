/* SPDX-License-Identifier: MIT */
/*
 * waiting.h - how the two kinds of mutex and the condition variable wait for a lock.
 */
#ifndef LULL_SRC_MUTEX_H
#define LULL_SRC_MUTEX_H

#include <lull/mutex.h>

#include "../owner_runs/owner.h"

#ifdef LULL_DEBUG
#define LULL__LOOKS_FOR_DEADLOCKS true
#else
#define LULL__LOOKS_FOR_DEADLOCKS false
#endif

/* Kinds of threads that sleep on a lock's word, as bits of futex bitsets. */
#define LULL__MUTEX_ANY	 1u
#define LULL__MUTEX_HEIRS 2u

#define LULL__HEIR_TID	0x003fffffu /* the heir's thread id: Linux has none above */
#define LULL__SPINNER	0x00400000u
#define LULL__SPINNERS	0x0fc00000u
/*
 * The process in which `rest` was written, counted in forks: what a child finds there of its parent's
 * threads is not valid. (The count wraps round: an heir of eight generations ago would be believed.) Shared
 * mutexes have no heir and count no spinners, since a process that is killed would leave them behind.
 */
#define LULL__GENERATION 0x70000000u

/* Return @rest, of a private mutex, without what is not valid in this process. */
static inline uint32_t lull__rest_valid(uint32_t rest)
{
	uint32_t now = lull__owner_generation() * (LULL__GENERATION & -LULL__GENERATION) & LULL__GENERATION;

	return (rest & LULL__GENERATION) == now ? rest : now;
}

#define LULL__OWNERS_SEEN 4

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
	uint32_t seen[LULL__OWNERS_SEEN]; /* the last owners that it has seen; 0: none */
	unsigned nr_seen;
};

/* Remember that @owner had the lock while @wait lasted. */
static inline void lull__lock_saw(struct lull__lock_wait *wait, uint32_t owner)
{
	for (unsigned i = 0; i < LULL__OWNERS_SEEN; i++)
		if (wait->seen[i] == owner)
			return;
	wait->seen[wait->nr_seen++ % LULL__OWNERS_SEEN] = owner;
}

/* Wait for the lock, and take it. Returns 0 or -ETIMEDOUT. */
int lull__lock_wait_for(struct lull__lock_wait *wait);

/* Spin as long as it is worth it. Returns whether the waiter has the lock. */
bool lull__lock_spin(struct lull__lock_wait *wait);

/* Does the waiter have the lock: was it free and could be taken, or has it been handed over? */
bool lull__lock_is_mine(struct lull__lock_wait *wait);

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
