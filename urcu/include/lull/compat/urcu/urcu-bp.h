/* SPDX-License-Identifier: MIT */
#ifndef _URCU_BP_H
#define _URCU_BP_H

#include "../urcu_flavor.h"

/* Not liburcu's names in object files: see detail/arch/urcu_apart.h. */
#define urcu_bp_read_lock lull__urcu_bp_read_lock
#define urcu_bp_register_thread lull__urcu_bp_register_thread
#define urcu_bp_synchronize_rcu lull__urcu_bp_synchronize_rcu
#define urcu_bp_call_rcu lull__urcu_bp_call_rcu
#define urcu_bp_defer_rcu lull__urcu_bp_defer_rcu
LULL__URCU_APART(bp)

LULL__URCU_NESTING_FLAVOR(bp)
#include "../urcu_flavor_struct.h"
LULL__URCU_FLAVOR_STRUCT(bp)
#define urcu_bp_flavor LULL__URCU_FLAVOR_OBJECT(bp)

/* fork needs no preparation here. */
LULL__URCU_NOTHING(urcu_bp_before_fork)
LULL__URCU_NOTHING(urcu_bp_after_fork_parent)
LULL__URCU_NOTHING(urcu_bp_after_fork_child)
#define rcu_bp_before_fork	 urcu_bp_before_fork
#define rcu_bp_after_fork_parent urcu_bp_after_fork_parent
#define rcu_bp_after_fork_child	 urcu_bp_after_fork_child

#ifdef _LGPL_SOURCE
#include "static/urcu-bp.h"
#endif
#ifdef URCU_API_MAP
#include "map/urcu-bp.h"
#endif

#endif /* _URCU_BP_H */
