/* SPDX-License-Identifier: MIT */
/*
 * light.c - with LULL_FENCE=full: liburcu-memb's constructor is the first use of its stand-in; then that of
 * liburcu-bp tells inlined readers that they may make light fences. A grace period takes that back.
 */
#define _LGPL_SOURCE
#include <urcu/urcu-memb.h>
#include <urcu/urcu-bp.h>

#include "urcu_must.h"

int main(void)
{
	urcu_memb_register_thread();
	if (!urcu_bp_has_sys_membarrier) {
		printf("skipped: the constructors ran in another order, or membarrier does not work\n");
		return 77;
	}
	urcu_bp_read_lock();
	urcu_bp_read_unlock();
	urcu_bp_synchronize_rcu();
	MUST(!urcu_bp_has_sys_membarrier);
	urcu_memb_unregister_thread();
	return 0;
}
