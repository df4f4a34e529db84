/* SPDX-License-Identifier: MIT */
/* tsan_percpu_rwsem.h - what the calls of percpu_rwsem.h say to ThreadSanitizer: see tsan.h. */
#ifndef LULL_TSAN_PERCPU_RWSEM_H
#define LULL_TSAN_PERCPU_RWSEM_H

#include <lull/detail/tsan.h>

#ifdef LULL__TSAN_APART

LULL_BEGIN_DECLS

LULL__TSAN_RESULT(bool, lull_percpu_rwsem_read_trylock, (struct lull_percpu_rwsem *sem), (sem),
		(void)0, result, LULL__TSAN_ACQUIRE(sem))
#define lull_percpu_rwsem_read_trylock lull__tsan_lull_percpu_rwsem_read_trylock

LULL__TSAN_CALL(lull_percpu_rwsem_write_lock, (struct lull_percpu_rwsem *sem), (sem),
		(void)0, LULL__TSAN_ACQUIRE(sem); LULL__TSAN_ACQUIRE(&sem->state))
#define lull_percpu_rwsem_write_lock lull__tsan_lull_percpu_rwsem_write_lock
LULL__TSAN_RESULT(bool, lull_percpu_rwsem_write_trylock, (struct lull_percpu_rwsem *sem), (sem),
		(void)0, result, LULL__TSAN_ACQUIRE(sem); LULL__TSAN_ACQUIRE(&sem->state))
#define lull_percpu_rwsem_write_trylock lull__tsan_lull_percpu_rwsem_write_trylock
LULL__TSAN_CALL(lull_percpu_rwsem_write_unlock, (struct lull_percpu_rwsem *sem), (sem),
		LULL__TSAN_RELEASE(sem), (void)0)
#define lull_percpu_rwsem_write_unlock lull__tsan_lull_percpu_rwsem_write_unlock

LULL_END_DECLS

#endif

#endif /* LULL_TSAN_PERCPU_RWSEM_H */
