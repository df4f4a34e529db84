/* SPDX-License-Identifier: MIT */
#ifndef _URCU_DEFER_H
#define _URCU_DEFER_H

#include <stdlib.h>

#include "../urcu_core.h"

#endif /* _URCU_DEFER_H */
