/* SPDX-License-Identifier: MIT */
/*
 * kernel_rwsem.h - percpu-rwsem.h and rcu_sync.h: a lock for many readers, and what it is made of (part of kernel.h).
 *
 * percpu_rwsem.h and rcu_sync.h of lull say what each function does.
 */
#ifndef LULL_KERNEL_RWSEM_H
#define LULL_KERNEL_RWSEM_H

#include <lull/compat/kernel_part.h>
#include <lull/percpu_rwsem.h>

/* ---- percpu-rwsem.h --------------------------------------------------------------------------- */

#define percpu_rw_semaphore lull_percpu_rwsem

/* Always returns 0. */
static inline int percpu_init_rwsem(struct lull_percpu_rwsem *sem)
{
	lull_percpu_rwsem_init(sem);
	return 0;
}
/* Also of a structure of zero bytes, and twice. */
#define percpu_free_rwsem lull_percpu_rwsem_destroy
/* Do not compile: the lock has memory of its own, which only a call can allocate. */
#define DEFINE_PERCPU_RWSEM(name)                                                                  \
	_Static_assert(0, "DEFINE_PERCPU_RWSEM: define a struct percpu_rw_semaphore, and call percpu_init_rwsem()")
#define DEFINE_STATIC_PERCPU_RWSEM(name) DEFINE_PERCPU_RWSEM(name)

#define percpu_down_read	 lull_percpu_rwsem_read_lock
#define percpu_down_read_trylock lull_percpu_rwsem_read_trylock
#define percpu_up_read		 lull_percpu_rwsem_read_unlock
#define percpu_down_write	 lull_percpu_rwsem_write_lock
#define percpu_up_write		 lull_percpu_rwsem_write_unlock

/* ---- rcu_sync.h ------------------------------------------------------------------------------- */

#define rcu_sync lull_rcu_sync

#define DEFINE_RCU_SYNC(name) struct lull_rcu_sync name = { .word = 0 }
#define rcu_sync_init	      lull_rcu_sync_init
#define rcu_sync_is_idle      lull_rcu_sync_is_idle
#define rcu_sync_enter	      lull_rcu_sync_enter
#define rcu_sync_exit	      lull_rcu_sync_exit
#define rcu_sync_dtor	      lull_rcu_sync_dtor

#endif /* LULL_KERNEL_RWSEM_H */
