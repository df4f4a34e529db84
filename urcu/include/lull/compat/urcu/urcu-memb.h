/* SPDX-License-Identifier: MIT */
#ifndef _URCU_MEMB_H
#define _URCU_MEMB_H

#include "../urcu_flavor.h"

/* Not liburcu's names in object files: see detail/arch/urcu_apart.h. */
#define urcu_memb_read_lock lull__urcu_memb_read_lock
#define urcu_memb_register_thread lull__urcu_memb_register_thread
#define urcu_memb_synchronize_rcu lull__urcu_memb_synchronize_rcu
#define urcu_memb_call_rcu lull__urcu_memb_call_rcu
#define urcu_memb_defer_rcu lull__urcu_memb_defer_rcu
LULL__URCU_APART(memb)

LULL__URCU_NESTING_FLAVOR(memb)
#include "../urcu_flavor_struct.h"
LULL__URCU_FLAVOR_STRUCT(memb)
#define urcu_memb_flavor LULL__URCU_FLAVOR_OBJECT(memb)

#ifdef _LGPL_SOURCE
#include "static/urcu-memb.h"
#endif
#ifdef URCU_API_MAP
#include "map/urcu-memb.h"
#endif

#endif /* _URCU_MEMB_H */
