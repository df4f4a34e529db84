/* SPDX-License-Identifier: MIT */
/*
 * A big-reader lock: one lock per thread, each on its own lines. A reader takes its own, which no other thread touches
 * while there is no writer; a writer takes them all. The locks are pthread's.
 */
#include <pthread.h>
#include <stdlib.h>

#include <lull/atomic.h>

#include "flavor.h"

#define BRLOCK_SLOTS 4096

struct brlock_slot {
	pthread_spinlock_t lock;
} __attribute__((aligned(128)));

struct brlock {
	struct brlock_slot slot[BRLOCK_SLOTS];
};

/* This thread's slot, the same in every brlock; brlock_enter() sets it. */
static __thread unsigned brlock_self;
static __thread int entered;

/*
 * Held by a writer throughout: no thread gets its first slot while a writer believes to hold all of
 * them.
 */
static pthread_mutex_t writers = PTHREAD_MUTEX_INITIALIZER;
static unsigned slots_used;

/* Give this thread a slot, once, before its first section. Waits for writers. */
static void brlock_enter(void)
{
	if (entered)
		return;
	pthread_mutex_lock(&writers);
	/* More threads than slots share them: slower, still right. */
	brlock_self = slots_used % BRLOCK_SLOTS;
	if (slots_used < BRLOCK_SLOTS)
		slots_used++;
	entered = 1;
	pthread_mutex_unlock(&writers);
}

/* Take every slot of @br; the caller needs none of its own. Writers of all brlocks exclude each other. */
static void brlock_write_lock(struct brlock *br)
{
	unsigned i;

	pthread_mutex_lock(&writers);
	for (i = 0; i < slots_used; i++)
		pthread_spin_lock(&br->slot[i].lock);
}

static void brlock_write_unlock(struct brlock *br)
{
	unsigned i;

	for (i = slots_used; i-- > 0;)
		pthread_spin_unlock(&br->slot[i].lock);
	pthread_mutex_unlock(&writers);
}

#define FLAVOR_NAME "brlock"
#define FLAVOR_WHAT "one spin lock per thread; a writer takes all of them"

static struct brlock *flavor_shared;

__attribute__((constructor)) static void flavor_init(void)
{
	unsigned i;

	flavor_shared = aligned_alloc(_Alignof(struct brlock), sizeof(*flavor_shared));
	if (!flavor_shared)
		abort();
	for (i = 0; i < BRLOCK_SLOTS; i++)
		pthread_spin_init(&flavor_shared->slot[i].lock, PTHREAD_PROCESS_PRIVATE);
}

static inline void flavor_thread_enter(void) { brlock_enter(); }
static inline void flavor_thread_leave(void) {}
static inline void flavor_read_lock(void) { pthread_spin_lock(&flavor_shared->slot[brlock_self].lock); }
static inline void flavor_read_unlock(void) { pthread_spin_unlock(&flavor_shared->slot[brlock_self].lock); }
static inline void flavor_quiescent(void) {}

#define flavor_dereference(p) lull_load_relaxed(&(p))
#define flavor_assign(p, v) lull_store_relaxed(&(p), (v))

#define REF_BODY bench_ref_brlock
#include "ref_body.h"

/* The hash table, with one lock; an update takes every thread's part of it. */
#define HASH_BODY bench_hash_brlock
#define HASH_HOLDS_UP "all updates"
#define HASH_THREAD_BYTES sizeof(struct brlock_slot)
/* The buckets of the common shape have room for a lock; here it stays unused. */
#define HASH_BUCKET_BYTES 0
#define HASH_LOCK pthread_spinlock_t
#define HASH_LOCK_INIT(lock) pthread_spin_init(lock, PTHREAD_PROCESS_PRIVATE)
#define HASH_UPDATE_LOCK(bucket) brlock_write_lock(flavor_shared)
#define HASH_UPDATE_UNLOCK(bucket) brlock_write_unlock(flavor_shared)

#include "hash_body.h"
