/* SPDX-License-Identifier: MIT */
/* Hash table: a spin lock in each bucket for the lookup, then a count in the element. */
#include "flavor_none.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "refcount-lock"
#define FLAVOR_WHAT                                                                                \
	"a spin lock in each bucket for the lookup, then a reference count in the element"

#define HASH_BODY bench_hash_refcount_lock
#define HASH_HOLDS_UP "nothing"
#define HASH_READER_MAY_BLOCK true
#define HASH_OBJECT_BYTES sizeof(struct lull_refcount)
#define HASH_READ_LOCK(bucket) pthread_spin_lock(&(bucket)->lock)
#define HASH_READ_UNLOCK(bucket) pthread_spin_unlock(&(bucket)->lock)
/* Who is in the table cannot be too late: updaters have the same lock. */
#define HASH_HOLD(element) (lull_refcount_inc(&(element)->references), true)
#define HASH_DROP(element)                                                 \
	do {                                                               \
		if (lull_refcount_dec_and_test(&(element)->references))    \
			free(element);                                     \
	} while (0)
/* The table's own reference goes; who holds the last one frees. */
#define HASH_RETIRE(element) HASH_DROP(element)

#include "hash_body.h"
