/* SPDX-License-Identifier: MIT */
/* Hash table: lull's RCU, ordinary threads. */
#include "flavor_lull_rcu.h"

#define HASH_BODY bench_hash_rcu
#define HASH_HOLDS_UP "memory"
#define HASH_READER_MAY_BLOCK true
#define HASH_THREAD_BYTES sizeof(struct lull__thread)
#define HASH_DEFERRED bench_hash_lull_deferred

#include "hash_body.h"
