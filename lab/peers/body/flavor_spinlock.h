/* SPDX-License-Identifier: MIT */
/* One spin lock for readers and writers. */
#include <lull/atomic.h>
#include <pthread.h>

#include "flavor.h"

#define FLAVOR_NAME "spinlock"
#define FLAVOR_WHAT "one pthread spin lock around every access"

static struct {
	pthread_spinlock_t lock;
} __attribute__((aligned(128))) flavor_shared;

__attribute__((constructor)) static void flavor_init(void)
{
	pthread_spin_init(&flavor_shared.lock, PTHREAD_PROCESS_PRIVATE);
}

static inline void flavor_thread_enter(void) {}
static inline void flavor_thread_leave(void) {}
static inline void flavor_read_lock(void) { pthread_spin_lock(&flavor_shared.lock); }
static inline void flavor_read_unlock(void) { pthread_spin_unlock(&flavor_shared.lock); }
static inline void flavor_quiescent(void) {}

#define flavor_dereference(p) lull_load_relaxed(&(p))
#define flavor_assign(p, v) lull_store_relaxed(&(p), (v))
