/* SPDX-License-Identifier: MIT */
/* Hash table: lull's RCU, quiescent-state threads. */
#include "flavor_lull_qsbr.h"

#define HASH_BODY bench_hash_rcu_qsbr
#define HASH_HOLDS_UP "memory"

#define HASH_THREAD_BYTES sizeof(struct lull__thread)
#define HASH_DEFERRED bench_hash_lull_deferred

#include "hash_body.h"
