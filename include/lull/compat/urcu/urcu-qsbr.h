/* SPDX-License-Identifier: MIT */
#ifndef _URCU_QSBR_H
#define _URCU_QSBR_H

#include "../urcu_flavor.h"

LULL__URCU_QSBR_FLAVOR(qsbr)
#include "../urcu_flavor_struct.h"
LULL__URCU_FLAVOR_STRUCT(qsbr)
#define urcu_qsbr_flavor LULL__URCU_FLAVOR_OBJECT(qsbr)

#ifdef URCU_API_MAP
#include "map/urcu-qsbr.h"
#endif

#endif /* _URCU_QSBR_H */
