/* SPDX-License-Identifier: MIT */
/*
 * Hash table: found in an RCU section, counted in it, read after it. The last reference to go frees
 * the element after a grace period, for who finds that there are none.
 */
#include "flavor_lull_rcu.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "refcount"
#define FLAVOR_WHAT "lull RCU for the lookup, then a reference count in the element"

#define HASH_BODY bench_hash_refcount
#define HASH_SECTION "refcount-rcu"
#define HASH_HOLDS_UP "its element"
#define HASH_READER_MAY_BLOCK true
#define HASH_OBJECT_BYTES sizeof(struct lull_refcount)
#define HASH_THREAD_BYTES sizeof(struct lull__thread)
#define HASH_DEFERRED bench_hash_lull_deferred
#define HASH_HOLD(element) lull_refcount_inc_not_zero(&(element)->references)
#define HASH_DROP(element)                                                 \
	do {                                                               \
		if (lull_refcount_dec_and_test(&(element)->references))    \
			flavor_free_sized(element, sizeof(*(element)));    \
	} while (0)
/* The table's own reference. */
#define HASH_RETIRE(element) HASH_DROP(element)

#include "hash_body.h"
