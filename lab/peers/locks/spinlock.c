/* SPDX-License-Identifier: MIT */
/* A pthread spin lock, whose waiters never sleep. */
#include "flavor_spinlock.h"
#include "lock_scheme.h"

#define REF_BODY bench_ref_spinlock
#include "ref_body.h"

/* The hash table: one in each bucket, for readers and updaters. */
#undef FLAVOR_WHAT
#define FLAVOR_WHAT "a pthread spin lock in each bucket"
#define HASH_BODY bench_hash_spinlock
#define HASH_HOLDS_UP "the bucket"
#define HASH_READ_LOCK(bucket) pthread_spin_lock(&(bucket)->lock)
#define HASH_READ_UNLOCK(bucket) pthread_spin_unlock(&(bucket)->lock)

#include "hash_body.h"

/* One lock that threads compete for. */
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
