/* SPDX-License-Identifier: MIT */
#ifndef _URCU_QSBR_H
#define _URCU_QSBR_H

#include "../urcu_flavor.h"

/* Not liburcu's names in object files: see detail/arch/urcu_apart.h. */
#define urcu_qsbr_read_lock lull__urcu_qsbr_read_lock
#define urcu_qsbr_register_thread lull__urcu_qsbr_register_thread
#define urcu_qsbr_synchronize_rcu lull__urcu_qsbr_synchronize_rcu
#define urcu_qsbr_call_rcu lull__urcu_qsbr_call_rcu
#define urcu_qsbr_defer_rcu lull__urcu_qsbr_defer_rcu
LULL__URCU_APART(qsbr)

LULL__URCU_QSBR_FLAVOR(qsbr)
#include "../urcu_flavor_struct.h"
LULL__URCU_FLAVOR_STRUCT(qsbr)
#define urcu_qsbr_flavor LULL__URCU_FLAVOR_OBJECT(qsbr)

#ifdef _LGPL_SOURCE
#include "static/urcu-qsbr.h"
#endif
#ifdef URCU_API_MAP
#include "map/urcu-qsbr.h"
#endif

#endif /* _URCU_QSBR_H */
