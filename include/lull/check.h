/* SPDX-License-Identifier: MIT */
/*
 * check.h - which lock guards which data: said once by the program, looked at by debug builds at every
 * update.
 *
 * Pointers that RCU readers follow are changed with some lock held, and nothing in the pointer tells
 * which. So the program may say it:
 *
 *	lull_check_guarded_by(&config, sizeof(config), lull_check_mutex_held, &config_lock);
 *
 * From then on a build with LULL_DEBUG ends the program with one line when a thread without that lock
 * changes what is there by lull_rcu_assign(), lull_rcu_replace(), the _rcu updates of lists, or an
 * update of a hash table that is there, reads it by lull_rcu_dereference_protected(), or walks a list
 * whose head is there, outside a read section. (A node is guarded where it is next to the head. Without
 * LULL_DEBUG nothing is left of all this.) What nobody has declared is not checked: any lock will do
 * to hold updates apart, and any number of them.
 *
 * The other checks of debug builds need no declaration; docs/GUIDE.md has the table.
 */
#ifndef LULL_CHECK_H
#define LULL_CHECK_H

#include <lull/detail/base.h>

LULL_BEGIN_DECLS

/* Does the calling thread hold @lock? It must not take any; called with signals as they are. */
typedef bool (*lull_check_held)(const void *lock);

#ifdef LULL_DEBUG
/*
 * What is in [@at, @at + @len) is changed by threads only for which @held(@lock) is true: the _held
 * functions below, or your own for other locks, or for "only this thread does". Takes the place of all
 * that was declared there before. To be taken back, by lull_check_unguarded(), before the memory is used
 * for something else; lull_rcu_free() and its kin do that by themselves. Any context but signal handlers.
 */
LULL_API void lull_check_guarded_by(const void *at, size_t len, lull_check_held held, const void *lock);
LULL_API void lull_check_unguarded(const void *at, size_t len);

/*
 * For struct lull_mutex (also the one in a robust mutex), and for pthread_mutex_t of whatever type. The
 * second asks glibc's own note of who has the mutex; so it is always true with other C libraries, and of
 * no use with lock elision, which is off unless a tunable asks for it.
 */
LULL_API bool lull_check_mutex_held(const void *mutex);
LULL_API bool lull_check_pthread_mutex_held(const void *mutex);

LULL_API void *lull__check_update(const char *call, const void *at);
LULL_API void lull__check_walk(const char *call, const void *at);
LULL_API void lull__check_found(const char *call, const void *at);

/* @at, a pointer to what @call is about to change; the lock is checked on the way. */
#define LULL__CHECK_UPDATE(call, at)                                                                \
	((__typeof__(at))lull__check_update(call, (const void *)(uintptr_t)(at)))
/* A reader steps from @at to the next one. */
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

LULL_INLINE bool lull_check_mutex_held(const void *mutex)
{
	(void)mutex;
	return true;
}

LULL_INLINE bool lull_check_pthread_mutex_held(const void *mutex)
{
	(void)mutex;
	return true;
}

#define LULL__CHECK_UPDATE(call, at) (at)
#define LULL__CHECK_WALK(call, at)   ((void)0)
#endif

LULL_END_DECLS

#endif /* LULL_CHECK_H */
