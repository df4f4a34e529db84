/* SPDX-License-Identifier: MIT */
#ifndef _URCU_MB_H
#define _URCU_MB_H

#include "../urcu_flavor.h"

/* Not liburcu's names in object files: see detail/arch/urcu_apart.h. */
#define urcu_mb_read_lock lull__urcu_mb_read_lock
#define urcu_mb_register_thread lull__urcu_mb_register_thread
#define urcu_mb_synchronize_rcu lull__urcu_mb_synchronize_rcu
#define urcu_mb_call_rcu lull__urcu_mb_call_rcu
#define urcu_mb_defer_rcu lull__urcu_mb_defer_rcu
LULL__URCU_APART(mb)

LULL__URCU_NESTING_FLAVOR(mb)
#include "../urcu_flavor_struct.h"
LULL__URCU_FLAVOR_STRUCT(mb)
#define urcu_mb_flavor LULL__URCU_FLAVOR_OBJECT(mb)

#ifdef _LGPL_SOURCE
#include "static/urcu-mb.h"
#endif
#ifdef URCU_API_MAP
#include "map/urcu-mb.h"
#endif

#endif /* _URCU_MB_H */
