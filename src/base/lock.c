/* SPDX-License-Identifier: MIT */
/*
 * lock.c - the contended paths of lock.h.
 */
#include "../os/os.h"
#include "lock.h"
#include "message.h"

#define LOCK_SPINS 100 /* a section under these locks takes a fraction of a microsecond */

void lull__lock_slow(struct lull__lock *lock)
{
	for (int i = 0; i < LOCK_SPINS; i++) {
		lull_cpu_relax();
		if (lull_load_relaxed(&lock->word) == 0 && lull__trylock(lock))
			return;
	}
	/*
	 * From here on the word is 2, also when this thread gets the lock: others may sleep.
	 * LOCK-1.
	 */
	while (lull_xchg_acquire(&lock->word, 2u) != 0)
		lull__futex_wait(&lock->word, 2, LULL__NEVER);
}

void lull__lock_wake(struct lull__lock *lock, int how_many)
{
	lull__futex_wake(&lock->word, how_many);
}

void lull__lock_await(struct lull__lock *lock, uint64_t deadline_ns)
{
	uint32_t word = 1;

	if (lull_cas_relaxed(&lock->word, &word, 2u) || word == 2)
		lull__futex_wait(&lock->word, 2, deadline_ns);
}

#ifdef LULL_DEBUG
static bool forked;

void lull__lock_was_free(const struct lull__lock *lock)
{
	if (!lull_load_relaxed(&forked))
		lull__misuse("a lock of lull's own, %p, is unlocked and was free", (const void *)lock);
}

void lull__lock_fork_child(uint32_t old_tid)
{
	(void)old_tid;
	lull_store_relaxed(&forked, true);
}
#endif
