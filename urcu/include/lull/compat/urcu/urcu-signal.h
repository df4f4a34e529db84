/* SPDX-License-Identifier: MIT */
#ifndef _URCU_SIGNAL_H
#define _URCU_SIGNAL_H

#include "../urcu_flavor.h"

/* Not liburcu's names in object files: see detail/arch/urcu_apart.h. */
#define urcu_signal_read_lock lull__urcu_signal_read_lock
#define urcu_signal_register_thread lull__urcu_signal_register_thread
#define urcu_signal_synchronize_rcu lull__urcu_signal_synchronize_rcu
#define urcu_signal_call_rcu lull__urcu_signal_call_rcu
#define urcu_signal_defer_rcu lull__urcu_signal_defer_rcu
LULL__URCU_APART(signal)

LULL__URCU_NESTING_FLAVOR(signal)
#include "../urcu_flavor_struct.h"
LULL__URCU_FLAVOR_STRUCT(signal)
#define urcu_signal_flavor LULL__URCU_FLAVOR_OBJECT(signal)

#ifdef _LGPL_SOURCE
#include "static/urcu-signal.h"
#endif
#ifdef URCU_API_MAP
#include "map/urcu-signal.h"
#endif

#endif /* _URCU_SIGNAL_H */
