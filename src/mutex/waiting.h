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

/* Kinds of threads that sleep for a lock, as bits of futex bitsets. */
#define LULL__MUTEX_ANY	    1u
#define LULL__MUTEX_HEIRS   2u
#define LULL__MUTEX_WATCHES 4u /* the one that has set WATCH */

/*
 * Parts of a private mutex's word beside those of mutex.h: its crowd. While there is one, also when the lock is free, the
 * word says in which process. (Linux has no thread id above LULL__MUTEX_TID.)
 */
#define LULL__SPINNER	0x00400000u
#define LULL__SPINNERS	0x01c00000u /* how many threads spin, and will take the lock when it is free */
#define LULL__CROWD_OF	0x0e000000u
#define LULL__WATCH	0x10000000u /* one of the sleepers looks by itself before long */

/* Parts of `rest`, which a mutex that processes share does not have: a process may be killed. */
#define LULL__HEIR_TID 0x003fffffu /* the heir's thread id */
#define LULL__PASS     0x00400000u
#define LULL__PASSES   0x0fc00000u /* so many unlocks have passed the sleepers by since one of these was woken */
#define LULL__REST_OF  0x70000000u

/*
 * Return the process as @field has it, counted in forks: what a child finds there of its parent's threads is not valid.
 * (The count wraps round: an heir of eight generations ago would be believed.)
 */
static inline uint32_t lull__generation_in(uint32_t field)
{
	return lull__owner_generation() * (field & -field) & field;
}

/* Return @rest, of a private mutex, without what is not valid in this process. */
static inline uint32_t lull__rest_valid(uint32_t rest)
{
	uint32_t now = lull__generation_in(LULL__REST_OF);

	return (rest & LULL__REST_OF) == now ? rest : now;
}

/* Return what of @word is SPINNERS and WATCH, and valid in this process. */
static inline uint32_t lull__crowd(uint32_t word)
{
	return (word & LULL__CROWD_OF) == lull__generation_in(LULL__CROWD_OF) ? word & (LULL__SPINNERS | LULL__WATCH) : 0;
}

/* Return @word with @crowd in place of its own. */
static inline uint32_t lull__with_crowd(uint32_t word, uint32_t crowd)
{
	word &= ~(LULL__SPINNERS | LULL__WATCH | LULL__CROWD_OF);
	return crowd ? word | crowd | lull__generation_in(LULL__CROWD_OF) : word;
}

/* A waiter that has seen the lock pass from one owner to another so often has met a crowd. */
#define LULL__CROWD_CHANGES 1

#define LULL__OWNERS_SEEN 4

/* One thread's wait for one lock. */
struct lull__lock_wait {
	struct lull_mutex *m;
	bool (*take)(struct lull__lock_wait *wait, uint32_t word); /* the lock is free: try to take it */
	uint32_t tid;	      /* the waiting thread */
	bool woken;	      /* others may sleep: take the lock with WAITERS set */
	bool heir;	      /* tid is in m->rest */
	bool shared;	      /* processes share the futex */
	bool counted;	      /* among those that spin, in the word */
	uint32_t looked_at;   /* the word, when the waiter looked last and the lock was held */
	uint32_t changes;     /* so often it had another owner than before */
	uint32_t pauses;      /* so many between the last two looks */
	uint64_t look_ns;     /* shared: how long to sleep before it looks by itself; 0: not known yet */
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

struct lull_mutex_robust;

/* Lock @m after a wait for a condition; @woken: as above. Returns what lull_mutex_robust_lock() does. */
int lull__robust_lock_again(struct lull_mutex_robust *m, bool woken);

/* Abort because the caller @what unless it owns @m. */
void lull__robust_must_own(struct lull_mutex_robust *m, const char *what);

bool lull__mutex_shared(const struct lull_mutex *m);

/* Return what a waiter for @m sleeps on that is no heir. */
static inline uint32_t *lull__mutex_bed(struct lull_mutex *m, bool shared)
{
	return shared ? &m->word : &m->turn;
}

/* Wake one of those that sleep there, in the order in which they went to sleep; @watched: the one that watches is the last. */
void lull__mutex_wake(struct lull_mutex *m, bool watched, bool shared);

/* Abort in the name of @what unless the caller owns @m, or did before fork. */
void lull__mutex_must_own(struct lull_mutex *m, const char *what);

/* Abort because the caller @what the mutex @m, which @tid holds (0: no thread). */
void lull__mutex_misuse(const char *what, const void *m, uint32_t tid) __attribute__((noreturn, cold));

#endif /* LULL_SRC_MUTEX_H */
