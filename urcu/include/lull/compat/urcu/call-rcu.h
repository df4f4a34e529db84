/* SPDX-License-Identifier: MIT */
#ifndef _URCU_CALL_RCU_H
#define _URCU_CALL_RCU_H

#include <pthread.h>
#include <stdlib.h>

#include "../urcu_core.h"
#include "../urcu_helpers.h"

#ifdef LULL__URCU_BESIDE
#include <urcu/wfcqueue.h>
#endif

/* The type is lull's, and of the same size as liburcu's: two words. */
#define rcu_head lull_head

#define URCU_CALL_RCU_RT      (1U << 0)
#define URCU_CALL_RCU_RUNNING (1U << 1)
#define URCU_CALL_RCU_STOP    (1U << 2)
#define URCU_CALL_RCU_STOPPED (1U << 3)
#define URCU_CALL_RCU_PAUSE   (1U << 4)
#define URCU_CALL_RCU_PAUSED  (1U << 5)

#endif /* _URCU_CALL_RCU_H */
