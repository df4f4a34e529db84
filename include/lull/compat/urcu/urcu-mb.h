/* SPDX-License-Identifier: MIT */
#ifndef _URCU_MB_H
#define _URCU_MB_H

#include "../urcu_flavor.h"

LULL__URCU_NESTING_FLAVOR(mb)
#include "../urcu_flavor_struct.h"
LULL__URCU_FLAVOR_STRUCT(mb)
#define urcu_mb_flavor LULL__URCU_FLAVOR_OBJECT(mb)


#ifdef URCU_API_MAP
#include "map/urcu-mb.h"
#endif

#endif /* _URCU_MB_H */
