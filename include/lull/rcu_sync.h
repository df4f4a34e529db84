/* SPDX-License-Identifier: MIT */
/*
 * rcu_sync.h - a flag that readers look at in read sections, and that rare writers raise for many readers at once.
 *
 * Readers have a fast path, which they may take while no writer is there, and a slow one (a lock, a shared count). To
 * raise a flag and wait for a grace period costs each writer that grace period. Here a burst of writers pays for one:
 * the flag stays up when a writer leaves, and comes down by itself when none has come for a grace period.
 *
 *	reader					writer
 *	lull_rcu_read_lock()			lull_rcu_sync_enter()
 *	if (lull_rcu_sync_is_idle())		... no reader is on the fast path
 *		... the fast path		lull_rcu_sync_exit()
 *	else
 *		... the slow path
 *	lull_rcu_read_unlock()
 *
 * Writers do not exclude each other. percpu_rwsem.h is made of this.
 *
 * Contexts: is_idle everywhere. All other calls: not in signal handlers. enter may block, so not in a read section:
 * it aborts there. fork: the child may go on, also with what the forking thread has entered. One that another thread
 * was in, or was entering, at the fork stays busy: then the child calls lull_rcu_barrier(), and init on it.
 *
 * Source: rcu_sync of the Linux kernel, by O. Nesterov.
 */
#ifndef LULL_RCU_SYNC_H
#define LULL_RCU_SYNC_H

#include <lull/rcu.h>

/* A structure of zero bytes is idle. */
struct lull_rcu_sync {
	uintptr_t word LULL__ZERO; /* `idle`; or LULL__RCU_SYNC_BUSY, how many have entered, and how far that is */
	uintptr_t idle LULL__ZERO; /* 0, or where readers count (percpu_rwsem.h) */
	struct lull_head rcu LULL__ZEROS;
};

/* The bits that LULL__RSEQ_NOT leaves clear are the only ones of an idle word, but for that of threads' counters. */
#define LULL__RCU_SYNC_BUSY ((uintptr_t)1)

LULL_BEGIN_DECLS

/* Make @rs idle, whatever it was. */
LULL_API void lull_rcu_sync_init(struct lull_rcu_sync *rs);

/*
 * May a reader take the fast path? Ask in a read section, and take the path in the same section. If so, the reader
 * sees all that writers did before they left. Any context.
 */
LULL_INLINE bool lull_rcu_sync_is_idle(const struct lull_rcu_sync *rs)
{
	/*
	 * ORDER RSY-2: the word before the fast path; pairs with RSY-2 in lull_rcu_sync_exit(); without it the reader
	 * misses what a writer has stored; model/count/rcu-sync-exit.litmus
	 */
	return !(lull_load_acquire(&rs->word) & LULL__RCU_SYNC_BUSY);
}

/*
 * Wait until no reader is on the fast path, nor will be before the exit that goes with this call. Then the caller sees
 * all that readers did there. Waits for one grace period; not at all if another writer has been there shortly before,
 * and with the other one if that waits. Calls may be nested.
 */
LULL_API void lull_rcu_sync_enter(struct lull_rcu_sync *rs);

/*
 * Leave. After a grace period without a writer the readers' path is fast again; a callback of lull's does that
 * (reclaim.h). Another thread than the one that entered may make this call. Aborts if nobody has
 * entered.
 */
LULL_API void lull_rcu_sync_exit(struct lull_rcu_sync *rs);

/*
 * Say that nobody uses @rs any more: then its memory may be freed. Aborts if somebody has entered. Waits for the
 * callback as lull_rcu_barrier() does, and aborts where that does.
 */
LULL_API void lull_rcu_sync_dtor(struct lull_rcu_sync *rs);

LULL_END_DECLS

#include <lull/detail/tsan_rcu_sync.h>

#endif /* LULL_RCU_SYNC_H */
