/* SPDX-License-Identifier: MIT */
/*
 * lock.h - the library's own lock: all zeros is free, one atomic to take it, sleeps when it must.
 *
 * Also used as a leader's lock: a thread that fails to become the leader waits until the leader leaves, all
 * are woken at once, and most find their work done (lull__lock_await, lull__unlock_wake).
 */
#ifndef LULL_LOCK_H
#define LULL_LOCK_H

#include <lull/atomic.h>
#include <lull/detail/ground.h>

#define LULL__CACHELINE 64

void lull__lock_slow(struct lull__lock *lock);
void lull__lock_wake(struct lull__lock *lock, int how_many);
/* Sleep until the holder leaves, without taking the lock; until @deadline_ns at the latest. */
void lull__lock_await(struct lull__lock *lock, uint64_t deadline_ns);

#ifdef LULL_DEBUG
/* Abort, because @lock was unlocked and was free. In a forked child it may be: all locks are free there at first. */
void lull__lock_was_free(const struct lull__lock *lock) __attribute__((cold));
void lull__lock_fork_child(uint32_t old_tid);
#endif

static inline bool lull__trylock(struct lull__lock *lock)
{
	uint32_t free_word = 0;

	/*
	 * ORDER LOCK-1: the lock before what it guards; pairs with LOCK-1 in lull__unlock_wake();
	 * without it the last holder's stores are not seen; model/base/lock.litmus
	 */
	return lull_cas_acquire(&lock->word, &free_word, 1u);
}

static inline void lull__lock(struct lull__lock *lock)
{
	if (lull_unlikely(!lull__trylock(lock)))
		lull__lock_slow(lock);
}

static inline void lull__unlock_wake(struct lull__lock *lock, int how_many)
{
	/*
	 * ORDER LOCK-1: what it guards before the lock is free; pairs with LOCK-1 in
	 * lull__trylock(); without it the next holder misses stores; model/base/lock.litmus
	 */
	uint32_t word = lull_xchg_release(&lock->word, 0u);

#ifdef LULL_DEBUG
	if (lull_unlikely(word == 0))
		lull__lock_was_free(lock);
#endif
	if (lull_unlikely(word == 2))
		lull__lock_wake(lock, how_many);
}

static inline void lull__unlock(struct lull__lock *lock)
{
	lull__unlock_wake(lock, 1);
}

#endif /* LULL_LOCK_H */
