/* SPDX-License-Identifier: MIT */
/* Retiring: lull's bridge, a grace period and then a look at the hazard pointers. */
#include "flavor_lull_hazptr_rcu.h"
#include "gp_peak.h"
#define GP_SLEEPER_ENTER() lull_thread_register()
#define GP_NO_WAIT
#define GP_BODY bench_gp_hazptr_rcu
#include "gp_body.h"
