/* SPDX-License-Identifier: MIT */
/* One sleeping lock for readers and writers. */
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
