/* SPDX-License-Identifier: MIT */
/* One reader-writer lock; readers still write to it. */
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
