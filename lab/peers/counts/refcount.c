/* SPDX-License-Identifier: MIT */
/* lull's refcount. */
#include "flavor_lull_rcu.h"
#include "ref_count.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "refcount"
#define FLAVOR_WHAT "lull refcount: get and put of an object that is known to be there"

/*
 * The read section: a reference is got and put. The object is there anyway, the ring's own reference
 * keeps it, so this is what counting costs, and nothing of how the object was found.
 */
#define READ_STATE struct bench_ref_object *read_held
#define READ_BEGIN(p) \
	(read_held = lull_load_relaxed(&(p)), lull_refcount_inc(&read_held->count), read_held)
#define READ_END() ref_put(read_held)

#define REF_BODY bench_ref_refcount
#define REF_NESTS 1
#include "ref_body.h"

/*
 * The hash table: an element is found in an RCU section, counted in it, read after it. The thread
 * that puts the last reference frees the element after a grace period.
 */
#undef FLAVOR_WHAT
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
