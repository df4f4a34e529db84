/* SPDX-License-Identifier: MIT */
/* urcu-defer.h - see urcu.h. */
#include "urcu/defer.h"
