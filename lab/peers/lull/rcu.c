/* SPDX-License-Identifier: MIT */
/* lull's RCU for ordinary threads. */
#include "flavor_lull_rcu.h"

#define REF_BODY bench_ref_rcu
#define REF_NESTS 1
#include "ref_body.h"

#include "gp_peak.h"
#define GP_HELP
#define GP_PURE(head, func) lull_rcu_call_pure(head, func)
#define GP_ENTER() lull_thread_register()
#define GP_LEAVE() lull_thread_unregister()
#define GP_BODY bench_gp_rcu
#include "gp_body.h"

#define HASH_BODY bench_hash_rcu
#define HASH_HOLDS_UP "memory"
#define HASH_READER_MAY_BLOCK true
#define HASH_THREAD_BYTES sizeof(struct lull__thread)
#define HASH_DEFERRED bench_hash_lull_deferred
#include "hash_body.h"
