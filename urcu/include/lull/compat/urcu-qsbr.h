/* SPDX-License-Identifier: MIT */
/* urcu-qsbr.h - plain names for flavor qsbr: see urcu.h. */
#ifndef URCU_API_MAP
#define URCU_API_MAP
#endif
#include "urcu/urcu-qsbr.h"
