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

/* A type of its own, which other files may know by its name alone; lull's head, and two words as liburcu's is. */
struct rcu_head {
	struct lull_head lull__head;
};

#define URCU_CALL_RCU_RT      (1U << 0)
#define URCU_CALL_RCU_RUNNING (1U << 1)
#define URCU_CALL_RCU_STOP    (1U << 2)
#define URCU_CALL_RCU_STOPPED (1U << 3)
#define URCU_CALL_RCU_PAUSE   (1U << 4)
#define URCU_CALL_RCU_PAUSED  (1U << 5)

#endif /* _URCU_CALL_RCU_H */
