/* SPDX-License-Identifier: MIT */
/* Hash table: one big-reader lock; an update takes every thread's. */
#include "flavor_brlock.h"

#define HASH_BODY bench_hash_brlock
#define HASH_HOLDS_UP "all updates"
#define HASH_THREAD_BYTES sizeof(struct bench_brlock_slot)
/* The buckets of the common shape have room for a lock; here it stays unused. */
#define HASH_BUCKET_BYTES 0
#define HASH_LOCK pthread_spinlock_t
#define HASH_LOCK_INIT(lock) pthread_spin_init(lock, PTHREAD_PROCESS_PRIVATE)
#define HASH_UPDATE_LOCK(bucket) bench_brlock_write_lock(flavor_shared)
#define HASH_UPDATE_UNLOCK(bucket) bench_brlock_write_unlock(flavor_shared)

#include "hash_body.h"
