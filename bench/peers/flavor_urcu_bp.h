/* SPDX-License-Identifier: MIT */
/* liburcu's flavor that registers threads by itself, read side inlined. */
#define _LGPL_SOURCE /* liburcu inlines its read side only for those who say this */
#include <urcu/urcu-bp.h>

#include "flavor.h"

#define FLAVOR_NAME "liburcu-bp"
#define FLAVOR_WHAT "liburcu self-registering flavor, inlined"
#define FLAVOR_HAS_GP 1

static inline void flavor_thread_enter(void) { urcu_bp_register_thread(); }
static inline void flavor_thread_leave(void) { urcu_bp_unregister_thread(); }
static inline void flavor_read_lock(void) { urcu_bp_read_lock(); }
static inline void flavor_read_unlock(void) { urcu_bp_read_unlock(); }
static inline void flavor_quiescent(void) { urcu_bp_quiescent_state(); }

#define flavor_dereference(p) rcu_dereference(p)
#define flavor_assign(p, v) rcu_assign_pointer(p, v)
#define flavor_head rcu_head

static inline void flavor_synchronize(void) { urcu_bp_synchronize_rcu(); }
static inline void flavor_call(struct rcu_head *head, void (*func)(struct rcu_head *))
{
	urcu_bp_call_rcu(head, func);
}
static inline void flavor_barrier(void) { urcu_bp_barrier(); }
static inline void flavor_poll(void) {}
