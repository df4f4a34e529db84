/* SPDX-License-Identifier: MIT */
#ifdef RCU_SIGNAL
#include "urcu-signal.h"
#elif defined(RCU_MB)
#include "urcu-mb.h"
#else
#include "urcu-memb.h"
#endif
