/* SPDX-License-Identifier: MIT */
/* liburcu's membarrier flavor, read side inlined; and its defer_rcu(). */
#define _LGPL_SOURCE /* liburcu inlines its read side only for those who say this */
#include <urcu/urcu-memb.h>

#define FLAVOR_NAME "liburcu-memb"
#define FLAVOR_WHAT "liburcu membarrier flavor, inlined"
#define URCU(name) urcu_memb_##name
#include "flavor_urcu.h"

#define REF_BODY bench_ref_liburcu_memb
#define REF_NESTS 1
#include "ref_body.h"

#define GP_DEFER(func, p) urcu_memb_defer_rcu(func, p)
#define GP_DEFER_ENTER() ((void)urcu_memb_defer_register_thread())
#define GP_DEFER_LEAVE() urcu_memb_defer_unregister_thread()
#define GP_DEFER_BARRIER() urcu_memb_defer_barrier_thread()
#define GP_BODY bench_gp_liburcu_memb
#include "gp_body.h"

#define HASH_BODY bench_hash_liburcu_memb
#define HASH_HOLDS_UP "memory"
#define HASH_READER_MAY_BLOCK true
#define HASH_THREAD_BYTES sizeof(struct urcu_reader)
#include "hash_body.h"
