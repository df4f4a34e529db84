/* SPDX-License-Identifier: MIT */
/* Hash table: a reader-writer lock in each bucket. */
#include <pthread.h>

#include "flavor_none.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "rwlock"
#define FLAVOR_WHAT "a pthread reader-writer lock in each bucket"

#define HASH_BODY bench_hash_rwlock
#define HASH_HOLDS_UP "the bucket"
#define HASH_READER_MAY_BLOCK true
#define HASH_LOCK pthread_rwlock_t
#define HASH_LOCK_INIT(lock) pthread_rwlock_init(lock, NULL)
#define HASH_UPDATE_LOCK(bucket) pthread_rwlock_wrlock(&(bucket)->lock)
#define HASH_UPDATE_UNLOCK(bucket) pthread_rwlock_unlock(&(bucket)->lock)
#define HASH_READ_LOCK(bucket) pthread_rwlock_rdlock(&(bucket)->lock)
#define HASH_READ_UNLOCK(bucket) pthread_rwlock_unlock(&(bucket)->lock)

#include "hash_body.h"
