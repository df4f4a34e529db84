/* SPDX-License-Identifier: MIT */
/* Hash table: a spin lock in each bucket, for readers and updaters. */
#include "flavor_none.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "spinlock"
#define FLAVOR_WHAT "a pthread spin lock in each bucket"

#define HASH_BODY bench_hash_spinlock
#define HASH_HOLDS_UP "the bucket"
#define HASH_READ_LOCK(bucket) pthread_spin_lock(&(bucket)->lock)
#define HASH_READ_UNLOCK(bucket) pthread_spin_unlock(&(bucket)->lock)

#include "hash_body.h"
