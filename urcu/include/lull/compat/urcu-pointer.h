/* SPDX-License-Identifier: MIT */
/* urcu-pointer.h - see urcu.h. */
#include "urcu/pointer.h"
