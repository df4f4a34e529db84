/* SPDX-License-Identifier: MIT */
#ifndef _URCU_SIGNAL_H
#define _URCU_SIGNAL_H

#include "../urcu_flavor.h"

LULL__URCU_NESTING_FLAVOR(signal)
#include "../urcu_flavor_struct.h"
LULL__URCU_FLAVOR_STRUCT(signal)
#define urcu_signal_flavor LULL__URCU_FLAVOR_OBJECT(signal)


#ifdef URCU_API_MAP
#include "map/urcu-signal.h"
#endif

#endif /* _URCU_SIGNAL_H */
