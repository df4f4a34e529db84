/* SPDX-License-Identifier: MIT */
/*
 * mutex_robust.h - a mutex whose next owner learns that the last one has died.
 *
 * For memory that processes share when one of them may be killed at any time, or for threads that may exit
 * with a lock held. The kernel marks the word of each lock on a dead thread's list and wakes one waiter. The
 * next thread that locks the mutex has the lock, gets -EOWNERDEAD, and repairs the data that the lock guards:
 *
 *	err = lull_mutex_robust_lock(&m);
 *	if (err == -EOWNERDEAD) {
 *		repair();
 *		lull_mutex_robust_consistent(&m);
 *	}
 *	...
 *	lull_mutex_robust_unlock(&m);
 *
 * This is a type of its own and not a flag of lull_mutex: the list needs room beside the word, and a lock and
 * unlock make four stores for it, which users of lull_mutex do not pay. The list is the one that the C
 * library registers for pthread mutexes (there is one per thread). lull links its mutexes into it in the same
 * form, so both kinds live side by side.
 *
 * Sources: set_robust_list(2), Documentation/locking/robust-futex-ABI, POSIX robust mutexes.
 */
#ifndef LULL_MUTEX_ROBUST_H
#define LULL_MUTEX_ROBUST_H

#include <errno.h>

#include <lull/cond.h>

/*
 * A robust mutex of zero bytes is free and private. It has 40 bytes, so that the word is as far from the link
 * as in a pthread mutex of glibc on 64-bit machines; elsewhere all calls return -ENOTSUP. Waiters spin and
 * sleep as those of lull_mutex do; there is no heir. Not in signal handlers. After fork the child holds no
 * robust mutex.
 *
 * The kernel marks 2,048 locks of a dead thread at most (ROBUST_LIST_LIMIT), those that it locked last. If the thread
 * held more, the others stay locked for ever, so hold no more than that, pthread's robust mutexes among them.
 *
 * Do not unmap the memory of a robust mutex while an unlock of it is under way (as for pthread mutexes: the
 * kernel may wake through an address that is something else by then).
 */
struct lull_mutex_robust {
	struct lull_mutex mutex; /* `rest`: LULL_MUTEX_SHARED, and whether the data are consistent */
	uint32_t unused[3] LULL__ZEROS;
	uintptr_t prev LULL__ZERO, next LULL__ZERO; /* the thread's list; only the owner uses them */
};

#ifdef __cplusplus
#define LULL_MUTEX_ROBUST_INIT {}
#else
#define LULL_MUTEX_ROBUST_INIT { LULL_MUTEX_INIT, { 0, 0, 0 }, 0, 0 }
#endif

LULL_BEGIN_DECLS

/* Make @m a free mutex. @flags: 0 or LULL_MUTEX_SHARED. Any context. */
LULL_API void lull_mutex_robust_init(struct lull_mutex_robust *m, uint32_t flags);

LULL_API int lull__mutex_robust_lock(struct lull_mutex_robust *m);
LULL_API int lull__mutex_robust_trylock(struct lull_mutex_robust *m);
LULL_API int lull__mutex_robust_timedlock(struct lull_mutex_robust *m, uint64_t deadline_ns);
LULL_API void lull__mutex_robust_unlock(struct lull_mutex_robust *m);

/*
 * Tell ThreadSanitizer about the result @err of a lock. Do not report a mutex: the tool would take the lock of a thread
 * that has died for one that is held twice.
 */
LULL_INLINE int lull__mutex_robust_tried(struct lull_mutex_robust *m, int err)
{
	if (err == 0 || err == -EOWNERDEAD)
		LULL__TSAN_MUTEX(__tsan_acquire(m));
	(void)m;
	return err;
}

/*
 * Lock @m. Returns 0: locked. -EOWNERDEAD: locked, but the last owner died with it. -ENOTRECOVERABLE: not
 * locked, and nobody can lock it again (an owner that got -EOWNERDEAD unlocked it without
 * lull_mutex_robust_consistent()). -ENOTSUP: this system has no such list. trylock also returns -EBUSY,
 * timedlock -ETIMEDOUT (@deadline_ns of CLOCK_MONOTONIC).
 */
LULL_INLINE int lull_mutex_robust_lock(struct lull_mutex_robust *m)
{
	return lull__mutex_robust_tried(m, lull__mutex_robust_lock(m));
}

LULL_INLINE int lull_mutex_robust_trylock(struct lull_mutex_robust *m)
{
	return lull__mutex_robust_tried(m, lull__mutex_robust_trylock(m));
}

LULL_INLINE int lull_mutex_robust_timedlock(struct lull_mutex_robust *m, uint64_t deadline_ns)
{
	return lull__mutex_robust_tried(m, lull__mutex_robust_timedlock(m, deadline_ns));
}

/* Unlock @m, as lull_mutex_unlock() does. */
LULL_INLINE void lull_mutex_robust_unlock(struct lull_mutex_robust *m)
{
	LULL__TSAN_MUTEX(__tsan_release(m));
	lull__mutex_robust_unlock(m);
}

/* Say that the data that @m guards are repaired. For the owner only; aborts if the lock returned no -EOWNERDEAD. */
LULL_API void lull_mutex_robust_consistent(struct lull_mutex_robust *m);

LULL_API int lull__cond_timedwait_robust(struct lull_cond *c, struct lull_mutex_robust *m, uint64_t deadline_ns);

/*
 * Wait for a condition as lull_cond_timedwait() does, with a robust mutex. Returns 0, -EOWNERDEAD or
 * -ENOTRECOVERABLE as a lock does, or -ETIMEDOUT with the lock held. The condition variable has to be shared, even if
 * the mutex is not: else the wait aborts. Signals and broadcasts are those of lull_cond.
 */
LULL_INLINE int lull_cond_timedwait_robust(struct lull_cond *c, struct lull_mutex_robust *m, uint64_t deadline_ns)
{
	int err;

	LULL__TSAN_MUTEX(__tsan_release(m));
	err = lull__cond_timedwait_robust(c, m, deadline_ns);
	lull__mutex_robust_tried(m, err == -ETIMEDOUT ? 0 : err);
	return err;
}

/* The same without a deadline. */
LULL_INLINE int lull_cond_wait_robust(struct lull_cond *c, struct lull_mutex_robust *m)
{
	return lull_cond_timedwait_robust(c, m, UINT64_MAX);
}

LULL_INLINE uint32_t lull_mutex_robust_owner(const struct lull_mutex_robust *m)
{
	return lull_mutex_owner(&m->mutex);
}

LULL_END_DECLS

#endif /* LULL_MUTEX_ROBUST_H */
