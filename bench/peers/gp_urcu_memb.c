/* SPDX-License-Identifier: MIT */
/* Grace periods: liburcu's membarrier flavor, and its defer_rcu(). */
#include "flavor_urcu_memb.h"
#define GP_DEFER(func, p) urcu_memb_defer_rcu(func, p)
#define GP_DEFER_ENTER() ((void)urcu_memb_defer_register_thread())
#define GP_DEFER_LEAVE() urcu_memb_defer_unregister_thread()
#define GP_DEFER_BARRIER() urcu_memb_defer_barrier_thread()
#define GP_BODY bench_gp_liburcu_memb
#include "gp_body.h"
