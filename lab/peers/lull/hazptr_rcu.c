/* SPDX-License-Identifier: MIT */
/*
 * lull's bridge: found in a read section, kept by a hazard pointer after it. Has the words of both
 * kinds: sections for walking, and a slot for what was found.
 */
#include <lull/bridge.h>

#include "flavor.h"

#define FLAVOR_NAME "hazptr-rcu"
#define FLAVOR_WHAT "lull bridge: found in an RCU section, kept by a hazard pointer after it"
#define FLAVOR_HAS_GP 1
#define FLAVOR_HAS_FREE 1

static __thread struct lull_hazptr *flavor_slot;

static inline void flavor_thread_enter(void)
{
	flavor_slot = lull_hazptr_alloc(lull_hazptr_thread_context());
}
static inline void flavor_thread_leave(void)
{
	lull_hazptr_free(lull_hazptr_thread_context(), flavor_slot);
}
static inline void flavor_read_lock(void) { lull_rcu_read_lock(); }
static inline void flavor_read_unlock(void) { lull_rcu_read_unlock(); }
static inline void flavor_quiescent(void) {}

#define flavor_dereference(p) lull_rcu_dereference(p)
#define flavor_assign(p, v) lull_rcu_assign(p, v)
#define flavor_head lull_rcu_head

#define READ_STATE struct lull_hazptr *read_slot = flavor_slot
#define READ_BEGIN(p)                                                                         \
	__extension__({                                                                       \
		__typeof__(p) read_found;                                                     \
                                                                                              \
		lull_rcu_read_lock();                                                         \
		read_found = lull_hazptr_protect_rcu_ptr(read_slot, lull_rcu_dereference(p)); \
		lull_rcu_read_unlock();                                                       \
		read_found;                                                                   \
	})
#define READ_END() lull_hazptr_clear(read_slot)

static inline void flavor_call(struct lull_rcu_head *head, void (*func)(struct lull_rcu_head *))
{
	lull_rcu_call_hazptr(head, func);
}
static inline void flavor_barrier(void) { lull_hazptr_barrier(); }
static inline void flavor_poll(void) {}
static inline void flavor_free(void *object) { lull_rcu_free_hazptr(object); }
static inline void flavor_free_sized(void *object, size_t bytes)
{
	(void)bytes;
	lull_rcu_free_hazptr(object);
}

#define REF_BODY bench_ref_hazptr_rcu
#include "ref_body.h"

#include "gp_peak.h"
#define GP_ENTER() lull_thread_register()
#define GP_LEAVE() lull_thread_unregister()
#define GP_NO_WAIT
#define GP_BODY bench_gp_hazptr_rcu
#include "gp_body.h"

#define HASH_BODY bench_hash_hazptr_rcu
#define HASH_HOLDS_UP "its element"
#define HASH_READER_MAY_BLOCK true
#define HASH_THREAD_BYTES sizeof(struct lull__thread)
#define HASH_DEFERRED bench_hash_lull_deferred
#define HASH_HOLD(element) (lull_hazptr_protect_rcu_ptr(flavor_slot, element), true)
#define HASH_DROP(element) lull_hazptr_clear(flavor_slot)
#include "hash_body.h"
