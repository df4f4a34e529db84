/* SPDX-License-Identifier: MIT */
/* A lock around the lookup, and a count that keeps the object afterwards. */
#include "flavor_spinlock.h"
#include "ref_count.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "refcount-lock"
#define FLAVOR_WHAT "spin lock for the lookup, then a reference count in the object"

#define READ_STATE struct bench_ref_object *read_held
#define READ_BEGIN(p)                                                  \
	(flavor_read_lock(), read_held = flavor_dereference(p),        \
	 lull_refcount_inc(&read_held->count), flavor_read_unlock(), read_held)
#define READ_END() ref_put(read_held)

#define REF_BODY bench_ref_refcount_lock
#define REF_NESTS 1
#include "ref_body.h"

/* The hash table: the lock is the bucket's. */
#undef FLAVOR_WHAT
#define FLAVOR_WHAT                                                                                \
	"a spin lock in each bucket for the lookup, then a reference count in the element"

#define HASH_BODY bench_hash_refcount_lock
#define HASH_HOLDS_UP "nothing"
#define HASH_READER_MAY_BLOCK true
#define HASH_OBJECT_BYTES sizeof(struct lull_refcount)
#define HASH_READ_LOCK(bucket) pthread_spin_lock(&(bucket)->lock)
#define HASH_READ_UNLOCK(bucket) pthread_spin_unlock(&(bucket)->lock)
/* An element in the table has not lost its last reference: updaters hold the same lock. */
#define HASH_HOLD(element) (lull_refcount_inc(&(element)->references), true)
#define HASH_DROP(element)                                                 \
	do {                                                               \
		if (lull_refcount_dec_and_test(&(element)->references))    \
			free(element);                                     \
	} while (0)
/* The table's own reference goes; the thread that puts the last one frees. */
#define HASH_RETIRE(element) HASH_DROP(element)

#include "hash_body.h"
