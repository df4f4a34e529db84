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
 * A broadcast wakes one waiter at most. It moves the others, asleep, to the mutex, and each unlock wakes the
 * next: there is no herd. A signal by the mutex's owner moves a waiter, too, which would only wait for the
 * lock. A wait may also end for no reason: check the condition again, as above. (A wait on a shared condition
 * variable ends every few seconds, because the process that was to wake it may have been killed.) None of
 * these calls is a cancellation point.
 *
 * Source of the idea: FUTEX_CMP_REQUEUE (the first condition variables of glibc's NPTL).
 */
#ifndef LULL_COND_H
#define LULL_COND_H

#include <lull/mutex.h>

/*
 * A condition variable of zero bytes has no waiters; in C++ it begins so. All that sleep for a signal use the same
 * mutex. Use another one as soon as nobody sleeps there: signals or a broadcast, which have returned, have been for all
 * waiters, and these need not have returned. If a thread still sleeps for a signal, the wait with another mutex aborts.
 * If @c is shared, that one is woken instead, for its process may be ending. Each change of the mutex while waiters are
 * still on their way wakes them all. A signal that begins while waiters are on their way looks at their mutex: so keep
 * that until such signals have returned, too; and if a waiter of a shared @c was killed, until another mutex is in use.
 * Not in signal handlers. If threads of the parent were waiting at the fork, the child has to call lull_cond_init().
 */
struct lull_cond {
	uint32_t seq LULL__ZERO;     /* counts signals; the futex that waiters sleep on */
	uint32_t waiters LULL__ZERO; /* calls of wait that still use it, those without a signal, flags */
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
 * mapping, at the same distance in each process). You need this call only for flags, and for memory that is
 * not zero. Any context.
 */
LULL_API void lull_cond_init(struct lull_cond *c, uint32_t flags);

/*
 * Say that nobody uses @c any more. You may destroy @c as soon as signals or a broadcast, which have returned,
 * have been for all its waiters, with the mutex held or not, and free it after that; the waiters need not have
 * returned. This call waits until they have left @c, for which they need no lock. If @c is shared, it waits a
 * second at most, since a waiter may have been killed. Aborts if a thread still sleeps for a signal. May
 * block.
 */
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
 * Wait until @deadline_ns of CLOCK_MONOTONIC at the latest: then return -ETIMEDOUT, also with the lock held
 * (to get the lock may take longer than that). Else return 0.
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
 * Wake one of the waiters for which there was no signal yet, if there is one. You may hold the lock or not, but change
 * the condition under the lock. If the caller does not hold the lock, @c and the mutex must stay until this call
 * returns. If threads of realtime priority wait for different conditions, use broadcast: a waiter that came later, but
 * is more important, may take the wake-up.
 *
 * Makes no system call if nobody waits. Signals make one call for each waiter, and then none while these are
 * still on their way. Each waiter that got up for no signal (a timeout, a signal handler, a kill) may cost one call
 * more, and so may each signal beside another, or beside a broadcast, that has not returned. Each makes a call while
 * more than 126 threads wait, and, once a process has been killed in such a call, or forked by another thread amid it,
 * while any thread waits.
 */
LULL_API void lull_cond_signal(struct lull_cond *c);

/*
 * Let all current waiters return, one after the other as they get the lock. If the caller does not hold the
 * lock, @c and the mutex must stay until this call returns.
 */
LULL_API void lull_cond_broadcast(struct lull_cond *c);

LULL_END_DECLS

#endif /* LULL_COND_H */
