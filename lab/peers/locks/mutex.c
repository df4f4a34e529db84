/* SPDX-License-Identifier: MIT */
/* A pthread mutex for readers and writers. The cost of competing for one is measured in pthread.c. */
#include <lull/atomic.h>
#include <pthread.h>

#include "flavor.h"

#define FLAVOR_NAME "mutex"
#define FLAVOR_WHAT "one pthread mutex around every access"

static struct {
	pthread_mutex_t lock;
} __attribute__((aligned(128))) flavor_shared = { PTHREAD_MUTEX_INITIALIZER };

static inline void flavor_thread_enter(void) {}
static inline void flavor_thread_leave(void) {}
static inline void flavor_read_lock(void) { pthread_mutex_lock(&flavor_shared.lock); }
static inline void flavor_read_unlock(void) { pthread_mutex_unlock(&flavor_shared.lock); }
static inline void flavor_quiescent(void) {}

#define flavor_dereference(p) lull_load_relaxed(&(p))
#define flavor_assign(p, v) lull_store_relaxed(&(p), (v))

#define REF_BODY bench_ref_mutex
#include "ref_body.h"

/* The hash table: one in each bucket. */
#undef FLAVOR_WHAT
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
