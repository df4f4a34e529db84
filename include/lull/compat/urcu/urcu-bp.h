/* SPDX-License-Identifier: MIT */
#ifndef _URCU_BP_H
#define _URCU_BP_H

#include "../urcu_flavor.h"

LULL__URCU_NESTING_FLAVOR(bp)
#include "../urcu_flavor_struct.h"
LULL__URCU_FLAVOR_STRUCT(bp)
#define urcu_bp_flavor LULL__URCU_FLAVOR_OBJECT(bp)

/* fork needs no preparation here. */
LULL__URCU_NOTHING(urcu_bp_before_fork)
LULL__URCU_NOTHING(urcu_bp_after_fork_parent)
LULL__URCU_NOTHING(urcu_bp_after_fork_child)

#ifdef URCU_API_MAP
#include "map/urcu-bp.h"
#endif

#endif /* _URCU_BP_H */
