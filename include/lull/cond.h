/* SPDX-License-Identifier: MIT */
/*
 * cond.h - a condition variable for lull_mutex.
 *
 *	lull_mutex_lock(&m);			lull_mutex_lock(&m);
 *	while (!ready)				ready = true;
 *		lull_cond_wait(&c, &m);		lull_cond_broadcast(&c);
 *	...					lull_mutex_unlock(&m);
 *	lull_mutex_unlock(&m);
 *
 * A broadcast wakes one waiter at most; the others are moved, asleep, to the mutex, and each unlock wakes
 * the next: there is no herd. A wait may also end for no reason: check the condition again, as above. None
 * of these calls is a cancellation point.
 *
 * Source of the idea: FUTEX_CMP_REQUEUE (the first condition variables of glibc's NPTL).
 */
#ifndef LULL_COND_H
#define LULL_COND_H

#include <lull/mutex.h>

/*
 * All zeros is one without waiters, as one is at first in C++. All threads that wait at a time use the same mutex. Not in signal
 * handlers. A child has to lull_cond_init() one that its parent's threads were waiting for at the fork.
 */
struct lull_cond {
	uint32_t seq LULL__ZERO;     /* counts signals; the futex that waiters sleep on */
	uint32_t waiters LULL__ZERO; /* calls of wait that have not returned, and LULL_MUTEX_SHARED */
	intptr_t mutex LULL__ZERO;   /* distance in bytes from here to the waiters' mutex */
#ifdef __cplusplus
	lull_cond() = default;
	lull_cond(const lull_cond &) = delete;
	lull_cond &operator=(const lull_cond &) = delete;
#endif
};

#ifdef __cplusplus
#define LULL_COND_INIT {}
#else
#define LULL_COND_INIT { 0, 0, 0 }
#endif

LULL_BEGIN_DECLS

/*
 * Make @c a condition variable without waiters. @flags: 0 or LULL_MUTEX_SHARED (@c and the mutex in one
 * mapping, at the same distance in each process). Only needed for flags, and for memory that is not
 * zero. Any context.
 */
LULL_API void lull_cond_init(struct lull_cond *c, uint32_t flags);

/* Say that @c is not used any more. Aborts if a wait has not returned yet, woken or not. Any context. */
LULL_API void lull_cond_destroy(struct lull_cond *c);

LULL_API void lull__cond_wait(struct lull_cond *c, struct lull_mutex *m);
LULL_API int lull__cond_timedwait(struct lull_cond *c, struct lull_mutex *m, uint64_t deadline_ns);

/*
 * Unlock @m, which the caller holds, sleep until a signal that comes after this call began, and lock @m
 * again. Cannot fail.
 */
LULL_INLINE void lull_cond_wait(struct lull_cond *c, struct lull_mutex *m)
{
	LULL__TSAN_MUTEX(__tsan_mutex_pre_unlock(m, __tsan_mutex_linker_init));
	LULL__TSAN_MUTEX(__tsan_mutex_post_unlock(m, __tsan_mutex_linker_init));
	LULL__TSAN_MUTEX(__tsan_mutex_pre_lock(m, __tsan_mutex_linker_init));
	lull__cond_wait(c, m);
	LULL__TSAN_MUTEX(__tsan_mutex_post_lock(m, __tsan_mutex_linker_init, 1));
}

/*
 * Wait until @deadline_ns of CLOCK_MONOTONIC at the latest: then returns -ETIMEDOUT, also with the lock
 * held (getting it may take longer than that). Else returns 0.
 */
LULL_INLINE int lull_cond_timedwait(struct lull_cond *c, struct lull_mutex *m, uint64_t deadline_ns)
{
	int err;

	LULL__TSAN_MUTEX(__tsan_mutex_pre_unlock(m, __tsan_mutex_linker_init));
	LULL__TSAN_MUTEX(__tsan_mutex_post_unlock(m, __tsan_mutex_linker_init));
	LULL__TSAN_MUTEX(__tsan_mutex_pre_lock(m, __tsan_mutex_linker_init));
	err = lull__cond_timedwait(c, m, deadline_ns);
	LULL__TSAN_MUTEX(__tsan_mutex_post_lock(m, __tsan_mutex_linker_init, 1));
	return err;
}

/*
 * Wake one waiter, if there is one. With the lock held or without: the condition must have been changed
 * under the lock. No system call if there is no waiter. If threads of realtime priority wait for different
 * conditions, use broadcast: a waiter that came later, but is more important, may take the wake-up.
 */
LULL_API void lull_cond_signal(struct lull_cond *c);

/*
 * Let all current waiters return, one after the other as they get the lock. A call without the lock counts
 * as a waiter itself: @c and the mutex must stay allocated until it returns.
 */
LULL_API void lull_cond_broadcast(struct lull_cond *c);

LULL_END_DECLS

#endif /* LULL_COND_H */
