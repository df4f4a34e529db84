/* SPDX-License-Identifier: MIT */
/*
 * lull's RCU for threads that stay online and report quiescent states: read sections cost no
 * instruction.
 */
#include <lull/rcu.h>

#include "flavor.h"

#define FLAVOR_NAME "rcu-qsbr"
#define FLAVOR_WHAT "lull RCU, online threads that report quiescent states"
#define FLAVOR_HAS_GP 1
#define FLAVOR_HAS_FREE 1

static inline void flavor_thread_enter(void) { lull_rcu_online(); }
static inline void flavor_thread_leave(void) { lull_rcu_offline(); }
static inline void flavor_read_lock(void) { lull_rcu_online_read_lock(); }
static inline void flavor_read_unlock(void) { lull_rcu_online_read_unlock(); }
static inline void flavor_quiescent(void) { lull_rcu_quiescent(); }

#define flavor_dereference(p) lull_rcu_dereference(p)
#define flavor_assign(p, v) lull_rcu_assign(p, v)
#define flavor_head lull_rcu_head

static inline void flavor_synchronize(void) { lull_rcu_synchronize(); }
static inline void flavor_call(struct lull_rcu_head *head, void (*func)(struct lull_rcu_head *))
{
	lull_rcu_call(head, func);
}
static inline void flavor_barrier(void) { lull_rcu_barrier(); }
static inline void flavor_poll(void) {}
static inline void flavor_free(void *object) { lull_rcu_free(object); }
static inline void flavor_free_sized(void *object, size_t bytes) { lull_rcu_free_sized(object, bytes); }

#define REF_BODY bench_ref_rcu_qsbr
#define REF_NESTS 1
#include "ref_body.h"

#include "gp_peak.h"
#define GP_ENTER() lull_thread_register()
#define GP_LEAVE() lull_thread_unregister()
#define GP_REST() lull_rcu_offline()
#define GP_RESUME() lull_rcu_online()
#define GP_BODY bench_gp_rcu_qsbr
#include "gp_body.h"

#define HASH_BODY bench_hash_rcu_qsbr
#define HASH_HOLDS_UP "memory"
#define HASH_THREAD_BYTES sizeof(struct lull__thread)
#define HASH_DEFERRED bench_hash_lull_deferred
#include "hash_body.h"
