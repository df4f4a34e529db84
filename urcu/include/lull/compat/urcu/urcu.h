/* SPDX-License-Identifier: MIT */
#ifndef _URCU_H
#define _URCU_H

#if !defined(RCU_MEMBARRIER) && !defined(RCU_SIGNAL) && !defined(RCU_MB)
#define RCU_MEMBARRIER
#endif

#ifdef RCU_MEMBARRIER
#include "urcu-memb.h"
#elif defined(RCU_SIGNAL)
#include "urcu-signal.h"
#else
#include "urcu-mb.h"
#endif

#endif /* _URCU_H */
