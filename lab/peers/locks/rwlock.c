/* SPDX-License-Identifier: MIT */
/* A pthread reader-writer lock, which readers write to as well. */
#include <lull/atomic.h>
#include <pthread.h>

#include "flavor.h"

#define FLAVOR_NAME "rwlock"
#define FLAVOR_WHAT "one pthread reader-writer lock"

static struct {
	pthread_rwlock_t lock;
} __attribute__((aligned(128))) flavor_shared = { PTHREAD_RWLOCK_INITIALIZER };

static inline void flavor_thread_enter(void) {}
static inline void flavor_thread_leave(void) {}
static inline void flavor_read_lock(void) { pthread_rwlock_rdlock(&flavor_shared.lock); }
static inline void flavor_read_unlock(void) { pthread_rwlock_unlock(&flavor_shared.lock); }
static inline void flavor_quiescent(void) {}

#define flavor_dereference(p) lull_load_relaxed(&(p))
#define flavor_assign(p, v) lull_store_relaxed(&(p), (v))

#define REF_BODY bench_ref_rwlock
#define REF_NESTS 1
#include "ref_body.h"

/* The hash table: one in each bucket. */
#undef FLAVOR_WHAT
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
