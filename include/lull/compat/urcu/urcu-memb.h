/* SPDX-License-Identifier: MIT */
#ifndef _URCU_MEMB_H
#define _URCU_MEMB_H

#include "../urcu_flavor.h"

LULL__URCU_NESTING_FLAVOR(memb)
#include "../urcu_flavor_struct.h"
LULL__URCU_FLAVOR_STRUCT(memb)
#define urcu_memb_flavor LULL__URCU_FLAVOR_OBJECT(memb)


#ifdef URCU_API_MAP
#include "map/urcu-memb.h"
#endif

#endif /* _URCU_MEMB_H */
