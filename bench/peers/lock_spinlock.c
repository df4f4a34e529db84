/* SPDX-License-Identifier: MIT */
/* Lock: a spin lock, whose waiters never sleep. */
#include <pthread.h>

#include "lock.h"

static struct {
	pthread_spinlock_t lock;
} __attribute__((aligned(BENCH_LOCK_LINE))) lock_shared;

static inline void lock_acquire(void) { pthread_spin_lock(&lock_shared.lock); }
static inline void lock_release(void) { pthread_spin_unlock(&lock_shared.lock); }

static const char *lock_renew(const struct bench_lock_scheme *scheme)
{
	(void)scheme;
	pthread_spin_init(&lock_shared.lock, PTHREAD_PROCESS_PRIVATE);
	return NULL;
}

#include "lock_body.h"

LOCK_SCHEME(bench_lock_spinlock, "spinlock", "pthread spin lock: waiters never sleep", NULL);
