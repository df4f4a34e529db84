/* SPDX-License-Identifier: MIT */
/*
 * liburcu's membarrier flavor as a program under another licence gets it: every operation is a
 * call.
 */
#include <urcu/urcu-memb.h>

#include "flavor.h"

#define FLAVOR_NAME "liburcu-memb-call"
#define FLAVOR_WHAT "liburcu membarrier flavor, through function calls"
#define FLAVOR_HAS_GP 1

static inline void flavor_thread_enter(void) { urcu_memb_register_thread(); }
static inline void flavor_thread_leave(void) { urcu_memb_unregister_thread(); }
static inline void flavor_read_lock(void) { urcu_memb_read_lock(); }
static inline void flavor_read_unlock(void) { urcu_memb_read_unlock(); }
static inline void flavor_quiescent(void) { urcu_memb_quiescent_state(); }

#define flavor_dereference(p) rcu_dereference(p)
#define flavor_assign(p, v) rcu_assign_pointer(p, v)
#define flavor_head rcu_head

static inline void flavor_synchronize(void) { urcu_memb_synchronize_rcu(); }
static inline void flavor_call(struct rcu_head *head, void (*func)(struct rcu_head *))
{
	urcu_memb_call_rcu(head, func);
}
static inline void flavor_barrier(void) { urcu_memb_barrier(); }
static inline void flavor_poll(void) {}
