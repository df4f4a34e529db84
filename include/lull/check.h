/* SPDX-License-Identifier: MIT */
/*
 * check.h - which lock guards which data: declared once by the program, checked by debug builds.
 *
 * Updaters hold a lock when they change pointers that RCU readers follow, but nothing in the pointer says
 * which lock. So the program may declare it:
 *
 *	lull_check_guarded_by(&config, sizeof(config), lull_check_mutex_held, &config_lock);
 *
 * From then on a build with LULL_DEBUG ends the program with one line if a thread without that lock does one
 * of these: it changes a guarded word (by lull_rcu_assign(), lull_rcu_replace(), the _rcu updates of lists,
 * or an update of a guarded hash table), reads it by lull_rcu_dereference_protected(), or walks a list with a
 * guarded head outside a read section. (A node counts as guarded if it is next to the head. Without
 * LULL_DEBUG all this compiles to nothing.) lull does not check data that nobody has declared: any lock, or
 * several, may keep updates apart.
 *
 * The other checks of debug builds need no declaration; docs/GUIDE.md has the table.
 */
#ifndef LULL_CHECK_H
#define LULL_CHECK_H

#include <lull/detail/base.h>
#ifdef LULL_DEBUG
#include <lull/detail/abi.h>
#endif

LULL_BEGIN_DECLS

/* Does the calling thread hold @lock? Must not take any lock; is called with the caller's signal mask. */
typedef bool (*lull_check_held)(const void *lock) LULL__NOEXCEPT_TYPE;

#ifdef LULL_DEBUG
/*
 * Declare that only threads for which @held(@lock) is true change [@at, @at + @len). @held is one of the
 * _held functions below, or a function of your own for other locks, or for "only this thread". Replaces all
 * earlier declarations for this memory. Call lull_check_unguarded() before you use the memory for something
 * else; lull_rcu_free() and the other forms of free do that themselves. Not in signal handlers.
 */
LULL_API void lull_check_guarded_by(const void *at, size_t len, lull_check_held held, const void *lock);
LULL_API void lull_check_unguarded(const void *at, size_t len);

/*
 * Does the calling thread hold @mutex: a struct lull_mutex (also the one in a robust mutex), or a
 * pthread_mutex_t of any type? The second reads the owner that glibc stores in the mutex. So it is always
 * true with other C libraries, and useless with lock elision, which is off unless a tunable turns it on.
 */
LULL_API bool lull_check_mutex_held(const void *mutex) LULL_NOEXCEPT;
LULL_API bool lull_check_pthread_mutex_held(const void *mutex) LULL_NOEXCEPT;

LULL_API void *lull__check_update(const char *call, const void *at);
LULL_API void lull__check_walk(const char *call, const void *at);
LULL_API void lull__check_found(const char *call, const void *at);

/* Return @at, a pointer to what @call is about to change, after a check of the lock. */
#define LULL__CHECK_UPDATE(call, at)                                                                \
	LULL__CAST(__typeof__(at), lull__check_update(call, LULL__ANY(at)))
/* Check a reader's step in @call from @at to the next node. */
#define LULL__CHECK_WALK(call, at) lull__check_walk(call, at)
#else
LULL_INLINE void lull_check_guarded_by(const void *at, size_t len, lull_check_held held, const void *lock)
{
	(void)at;
	(void)len;
	(void)held;
	(void)lock;
}

LULL_INLINE void lull_check_unguarded(const void *at, size_t len)
{
	(void)at;
	(void)len;
}

LULL_INLINE bool lull_check_mutex_held(const void *mutex) LULL_NOEXCEPT
{
	(void)mutex;
	return true;
}

LULL_INLINE bool lull_check_pthread_mutex_held(const void *mutex) LULL_NOEXCEPT
{
	(void)mutex;
	return true;
}

#define LULL__CHECK_UPDATE(call, at) (at)
#define LULL__CHECK_WALK(call, at)   ((void)0)
#endif

LULL_END_DECLS

#endif /* LULL_CHECK_H */
