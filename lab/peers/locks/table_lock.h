/* SPDX-License-Identifier: MIT */
/*
 * One lock over the whole hash table, as most programs have it; for reloads. A file includes this with
 * FLAVOR_NAME, FLAVOR_WHAT, HASH_BODY, HASH_SECTION, and
 *
 *	TABLE_LOCK		the type of the lock, for TABLE_LOCK_INIT(lock)
 *	TABLE_READ_LOCK(lock), TABLE_WRITE_LOCK(lock), TABLE_UNLOCK(lock)
 *	TABLE_READ_UNLOCK(lock)	if it is another call than that
 *	TABLE_ONCE		the updater keeps the lock from the first update of a reload to the last; else it
 *				takes it for each
 */
#include <lull/atomic.h>
#include <pthread.h>

#include "flavor.h"

#ifndef TABLE_READ_UNLOCK
#define TABLE_READ_UNLOCK TABLE_UNLOCK
#endif

static struct {
	TABLE_LOCK lock;
} __attribute__((aligned(128))) flavor_shared;

__attribute__((constructor)) static void flavor_init(void)
{
	TABLE_LOCK_INIT(&flavor_shared.lock);
}

static inline void flavor_thread_enter(void) {}
static inline void flavor_thread_leave(void) {}
static inline void flavor_read_lock(void) { TABLE_READ_LOCK(&flavor_shared.lock); }
static inline void flavor_read_unlock(void) { TABLE_READ_UNLOCK(&flavor_shared.lock); }
static inline void flavor_quiescent(void) {}

#define flavor_dereference(p) lull_load_relaxed(&(p))
#define flavor_assign(p, v) lull_store_relaxed(&(p), (v))

static void write_lock(void *unused)
{
	(void)unused;
	TABLE_WRITE_LOCK(&flavor_shared.lock);
}

static void write_unlock(void *unused)
{
	(void)unused;
	TABLE_UNLOCK(&flavor_shared.lock);
}

#ifdef TABLE_ONCE
#define HASH_UPDATE_LOCK(bucket) ((void)(bucket))
#define HASH_UPDATE_UNLOCK(bucket) ((void)(bucket))
#define HASH_RELOAD_BEGIN write_lock
#define HASH_RELOAD_END write_unlock
#else
#define HASH_UPDATE_LOCK(bucket) write_lock(bucket)
#define HASH_UPDATE_UNLOCK(bucket) write_unlock(bucket)
#endif
#define HASH_HOLDS_UP "all updates"
#define HASH_READER_MAY_BLOCK true
/* The buckets of the common shape have room for a lock; here it stays unused. */
#define HASH_BUCKET_BYTES 0
#define HASH_LOCK pthread_spinlock_t
#define HASH_LOCK_INIT(lock) pthread_spin_init(lock, PTHREAD_PROCESS_PRIVATE)

#include "hash_body.h"
