/* SPDX-License-Identifier: MIT */
/* lull's hazard pointers with full fences: no thread is interrupted. */
#include <lull/hazptr_fenced.h>

#include "flavor.h"

#define FLAVOR_NAME "hazptr-fenced"
#define FLAVOR_WHAT "lull hazard pointer with a full fence in the reader, none in other threads"
#define FLAVOR_KEEPS 1
#define FLAVOR_HAS_GP 1
#define FLAVOR_HAS_FREE 1

static __thread struct lull_hazptr *flavor_slot, *flavor_second;

static inline void flavor_thread_enter(void)
{
	flavor_slot = lull_hazptr_alloc(lull_hazptr_thread_context());
	flavor_second = lull_hazptr_alloc(lull_hazptr_thread_context());
}
static inline void flavor_thread_leave(void)
{
	lull_hazptr_free(lull_hazptr_thread_context(), flavor_second);
	lull_hazptr_free(lull_hazptr_thread_context(), flavor_slot);
}
static inline void flavor_quiescent(void) {}

#define flavor_keep(slot, p) lull_hazptr_fenced_protect_ptr(slot, p)
#define flavor_drop(slot) lull_hazptr_fenced_clear(slot)
#define flavor_assign(p, v) lull_hazptr_publish(p, v)
#define flavor_head lull_rcu_head

static inline void flavor_synchronize_on(const void *address)
{
	lull_hazptr_fenced_synchronize(address);
}
static inline void flavor_call(struct lull_rcu_head *head, void (*func)(struct lull_rcu_head *))
{
	lull_hazptr_fenced_call(head, func);
}
static inline void flavor_barrier(void) { lull_hazptr_barrier(); }
static inline void flavor_poll(void) {}
static inline void flavor_free(void *object) { lull_hazptr_fenced_retire(object); }
static inline void flavor_free_sized(void *object, size_t bytes)
{
	(void)bytes; /* there is no call that takes it */
	lull_hazptr_fenced_retire(object);
}

#define REF_BODY bench_ref_hazptr_fenced
#include "ref_body.h"

#include "gp_peak.h"
#define GP_ENTER() lull_thread_register()
#define GP_LEAVE() lull_thread_unregister()
#define GP_BODY bench_gp_hazptr_fenced
#include "gp_body.h"

#define HASH_BODY bench_hash_hazptr_fenced
#define HASH_WHAT "lull hazard pointers with full fences, from element to element with two slots"
#include "hash_hazptr_body.h"
