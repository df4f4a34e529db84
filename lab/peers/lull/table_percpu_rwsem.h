/* SPDX-License-Identifier: MIT */
/* lull's lock for many readers, for table_lock.h. */
#include <lull/percpu_rwsem.h>

#define TABLE_LOCK struct lull_percpu_rwsem
#define TABLE_LOCK_INIT(lock) lull_percpu_rwsem_init(lock)
#define TABLE_READ_LOCK(lock) lull_percpu_rwsem_read_lock(lock)
#define TABLE_READ_UNLOCK(lock) lull_percpu_rwsem_read_unlock(lock)
#define TABLE_WRITE_LOCK(lock) lull_percpu_rwsem_write_lock(lock)
#define TABLE_UNLOCK(lock) lull_percpu_rwsem_write_unlock(lock)
#define HASH_SECTION "rwlock"

#include "../locks/table_lock.h"
