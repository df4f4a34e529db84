/* SPDX-License-Identifier: MIT */
/*
 * kernel_guard.h - cleanup.h: guard(rcu), and guards of your own (part of kernel.h).
 *
 *	guard(rcu)();				a section until the end of the enclosing block
 *	scoped_guard(rcu) { ... }		a section for one statement
 *	guard(srcu)(&ssp);			a section of a domain until the end of the block
 *	guard(shazptr)(bucket);			a simple hazard pointer until the end of the block
 *
 * A guard ends however its block ends: by return, break, goto.
 */
#ifndef LULL_KERNEL_GUARD_H
#define LULL_KERNEL_GUARD_H

#include <lull/compat/kernel_hazptr.h>
#include <lull/compat/kernel_rcu.h>
#include <lull/compat/kernel_srcu.h>

/* Hold a guard @name from here to the end of the block; its argument, if it has one, follows in parentheses. */
#define guard(name) LULL__KERNEL_GUARD(name, LULL__CAT(lull__guard_, __COUNTER__))
#define LULL__KERNEL_GUARD(name, variable)                                                         \
	lull__guard_##name##_t variable __attribute__((cleanup(lull__guard_##name##_leave), unused)) = \
		lull__guard_##name##_enter

/* Hold a guard for the statement that follows: scoped_guard(name), or scoped_guard(name, argument). */
#define scoped_guard(...) LULL__KERNEL_SCOPED(__VA_ARGS__, , )
#define LULL__KERNEL_SCOPED(name, argument, ...) LULL__KERNEL_FOR(name, argument, __COUNTER__)
#define LULL__KERNEL_FOR(name, argument, n)                                                        \
	LULL__KERNEL_ONCE(name, argument, LULL__CAT(lull__scope_, n), LULL__CAT(lull__done_, n))
#define LULL__KERNEL_ONCE(name, argument, scope, done)                                             \
	for (LULL__KERNEL_GUARD(name, scope)(argument), *done = NULL; !done; done = &scope)

/*
 * Define guard(@name): of a pointer or number _T of @type, which @lock and @unlock take, and which is not NULL; or of
 * nothing.
 *	DEFINE_GUARD(mutex, pthread_mutex_t *, pthread_mutex_lock(_T), pthread_mutex_unlock(_T))
 *	DEFINE_LOCK_GUARD_0(rcu, rcu_read_lock(), rcu_read_unlock())
 */
#define DEFINE_GUARD(name, type, lock, unlock)                                                     \
	typedef type lull__guard_##name##_t;                                                       \
	static inline lull__guard_##name##_t lull__guard_##name##_enter(lull__guard_##name##_t _T) \
	{                                                                                          \
		if (_T)                                                                            \
			lock;                                                                      \
		return _T;                                                                         \
	}                                                                                          \
	static inline void lull__guard_##name##_leave(lull__guard_##name##_t *lull__guard)         \
	{                                                                                          \
		lull__guard_##name##_t _T = *lull__guard;                                          \
		if (_T)                                                                            \
			unlock;                                                                    \
	}                                                                                          \
	struct lull__nothing
#define DEFINE_LOCK_GUARD_0(name, lock, unlock)                                                    \
	typedef struct lull_rcu_guard lull__guard_##name##_t;                                      \
	static inline lull__guard_##name##_t lull__guard_##name##_enter(void)                      \
	{                                                                                          \
		lull__guard_##name##_t lull__guard = { 1 };                                        \
		lock;                                                                              \
		return lull__guard;                                                                \
	}                                                                                          \
	static inline void lull__guard_##name##_leave(lull__guard_##name##_t *lull__guard)         \
	{                                                                                          \
		(void)lull__guard;                                                                 \
		unlock;                                                                            \
	}                                                                                          \
	struct lull__nothing

/*
 * Define guard(@name): of a pointer _T->lock to @type, which is not NULL, with members of _T that @acquire sets for @release.
 *	DEFINE_LOCK_GUARD_1(srcu, struct srcu_struct, _T->idx = srcu_read_lock(_T->lock),
 *			    srcu_read_unlock(_T->lock, _T->idx), int idx)
 */
#define DEFINE_LOCK_GUARD_1(name, type, acquire, release, ...)                                     \
	__extension__ typedef struct {                                                             \
		type *lock;                                                                        \
		__VA_ARGS__;                                                                       \
	} lull__guard_##name##_t;                                                                  \
	static inline lull__guard_##name##_t lull__guard_##name##_enter(type *lull__lock)          \
	{                                                                                          \
		lull__guard_##name##_t lull__guard = { .lock = lull__lock }, *_T = &lull__guard;   \
		if (_T->lock)                                                                      \
			acquire;                                                                   \
		return lull__guard;                                                                \
	}                                                                                          \
	static inline void lull__guard_##name##_leave(lull__guard_##name##_t *_T)                  \
	{                                                                                          \
		if (_T->lock)                                                                      \
			release;                                                                   \
	}                                                                                          \
	struct lull__nothing

DEFINE_LOCK_GUARD_0(rcu, lull_rcu_read_lock(), lull_rcu_read_unlock());
DEFINE_LOCK_GUARD_1(srcu, struct lull_rcu_domain, _T->idx = lull_rcu_domain_read_lock(_T->lock),
		    lull_rcu_domain_read_unlock(_T->lock, _T->idx), int idx);

typedef struct lull_shazptr_guard lull__guard_shazptr_t;
static inline lull__guard_shazptr_t lull__guard_shazptr_enter(const void *ptr)
{
	return shazptr_acquire(ptr);
}
static inline void lull__guard_shazptr_leave(lull__guard_shazptr_t *lull__guard)
{
	lull_shazptr_clear(*lull__guard);
}

#endif /* LULL_KERNEL_GUARD_H */
