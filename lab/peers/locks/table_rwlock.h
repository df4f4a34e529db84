/* SPDX-License-Identifier: MIT */
/* A pthread reader-writer lock for table_lock.h, of the kind TABLE_RWLOCK_KIND. */
#include <pthread.h>

#define TABLE_LOCK pthread_rwlock_t
#define TABLE_LOCK_INIT(lock) init_rwlock(lock)
#define TABLE_READ_LOCK(lock) pthread_rwlock_rdlock(lock)
#define TABLE_WRITE_LOCK(lock) pthread_rwlock_wrlock(lock)
#define TABLE_UNLOCK(lock) pthread_rwlock_unlock(lock)
#define HASH_SECTION "rwlock"

static inline void init_rwlock(pthread_rwlock_t *lock)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, TABLE_RWLOCK_KIND);
	pthread_rwlock_init(lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}

#include "table_lock.h"
