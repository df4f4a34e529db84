/* SPDX-License-Identifier: MIT */
/* Hash table: a mutex in each bucket, for readers and updaters. */
#include <pthread.h>

#include "flavor_none.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "mutex"
#define FLAVOR_WHAT "a pthread mutex in each bucket"

#define HASH_BODY bench_hash_mutex
#define HASH_HOLDS_UP "the bucket"
#define HASH_READER_MAY_BLOCK true
#define HASH_LOCK pthread_mutex_t
#define HASH_LOCK_INIT(lock) pthread_mutex_init(lock, NULL)
#define HASH_UPDATE_LOCK(bucket) pthread_mutex_lock(&(bucket)->lock)
#define HASH_UPDATE_UNLOCK(bucket) pthread_mutex_unlock(&(bucket)->lock)
#define HASH_READ_LOCK(bucket) pthread_mutex_lock(&(bucket)->lock)
#define HASH_READ_UNLOCK(bucket) pthread_mutex_unlock(&(bucket)->lock)

#include "hash_body.h"
