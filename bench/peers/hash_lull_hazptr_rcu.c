/* SPDX-License-Identifier: MIT */
/* Hash table: found in an RCU section, read under a hazard pointer after it. */
#include "flavor_lull_hazptr_rcu.h"

#define HASH_BODY bench_hash_hazptr_rcu
#define HASH_HOLDS_UP "its element"
#define HASH_READER_MAY_BLOCK true
#define HASH_THREAD_BYTES sizeof(struct lull__thread)
#define HASH_DEFERRED bench_hash_lull_deferred
#define HASH_HOLD(element) (lull_hazptr_protect_rcu_ptr(flavor_slot, element), true)
#define HASH_DROP(element) lull_hazptr_clear(flavor_slot)

#include "hash_body.h"
