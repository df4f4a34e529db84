/* SPDX-License-Identifier: MIT */
/*
 * A flavor of liburcu. Before this the file includes the flavor's header, having defined _LGPL_SOURCE
 * if the read side is to be inlined, and defines FLAVOR_NAME, FLAVOR_WHAT and URCU(name), which
 * puts the flavor's prefix before a name.
 */
#include "flavor.h"

#define FLAVOR_HAS_GP 1

static inline void flavor_thread_enter(void) { URCU(register_thread)(); }
static inline void flavor_thread_leave(void) { URCU(unregister_thread)(); }
static inline void flavor_read_lock(void) { URCU(read_lock)(); }
static inline void flavor_read_unlock(void) { URCU(read_unlock)(); }
static inline void flavor_quiescent(void) { URCU(quiescent_state)(); }

#define flavor_dereference(p) rcu_dereference(p)
#define flavor_assign(p, v) rcu_assign_pointer(p, v)
#define flavor_head rcu_head

static inline void flavor_synchronize(void) { URCU(synchronize_rcu)(); }
static inline void flavor_call(struct rcu_head *head, void (*func)(struct rcu_head *))
{
	URCU(call_rcu)(head, func);
}
static inline void flavor_barrier(void) { URCU(barrier)(); }
static inline void flavor_poll(void) {}
