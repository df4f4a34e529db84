/* SPDX-License-Identifier: MIT */
/* urcu-bp.h - plain names for flavor bp: see urcu.h. */
#ifndef URCU_API_MAP
#define URCU_API_MAP
#endif
#include "urcu/urcu-bp.h"
