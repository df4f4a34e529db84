/* SPDX-License-Identifier: MIT */
/*
 * Concurrency Kit's big-reader lock: each thread says in a word of its own that it reads, with one locked instruction;
 * a writer keeps new readers out and waits for each thread's word.
 */
#include <ck_brlock.h>
#include <stdlib.h>

#include "flavor.h"

#define FLAVOR_NAME "ck-brlock"
#define FLAVOR_WHAT "Concurrency Kit's big-reader lock: a word per thread; a writer waits for all of them"

static struct {
	ck_brlock_t lock;
} __attribute__((aligned(128))) flavor_shared;

static __thread ck_brlock_reader_t flavor_reader;

static inline void flavor_thread_enter(void) { ck_brlock_read_register(&flavor_shared.lock, &flavor_reader); }
static inline void flavor_thread_leave(void) { ck_brlock_read_unregister(&flavor_shared.lock, &flavor_reader); }
static inline void flavor_read_lock(void) { ck_brlock_read_lock(&flavor_shared.lock, &flavor_reader); }
static inline void flavor_read_unlock(void) { ck_brlock_read_unlock(&flavor_reader); }
static inline void flavor_quiescent(void) {}

#define flavor_dereference(p) ck_pr_load_ptr(&(p))
#define flavor_assign(p, v) ck_pr_store_ptr(&(p), (v))

#define REF_BODY bench_ref_ck_brlock
#define REF_NESTS 1
#include "ref_body.h"

/* The hash table, with one lock. */
#define HASH_BODY bench_hash_ck_brlock
#define HASH_HOLDS_UP "all updates"
#define HASH_THREAD_BYTES sizeof(ck_brlock_reader_t)
/* The buckets of the common shape have room for a lock; here it stays unused. */
#define HASH_BUCKET_BYTES 0
#define HASH_LOCK pthread_spinlock_t
#define HASH_LOCK_INIT(lock) pthread_spin_init(lock, PTHREAD_PROCESS_PRIVATE)
#define HASH_UPDATE_LOCK(bucket) ck_brlock_write_lock(&flavor_shared.lock)
#define HASH_UPDATE_UNLOCK(bucket) ck_brlock_write_unlock(&flavor_shared.lock)

#include "hash_body.h"
