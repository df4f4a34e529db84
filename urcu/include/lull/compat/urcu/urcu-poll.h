/* SPDX-License-Identifier: MIT */
#ifndef LULL__URCU_POLL_ASKED_FOR
#define LULL__URCU_POLL_ASKED_FOR 1 /* see urcu_flavor_struct.h */
#endif
#ifndef _URCU_POLL_H
#define _URCU_POLL_H

#include <lull/rcu.h>

struct urcu_gp_poll_state {
	unsigned long grace_period_id;
};

#endif /* _URCU_POLL_H */
