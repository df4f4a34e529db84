/* SPDX-License-Identifier: MIT */
/* Grace periods: lull RCU, ordinary threads. */
#include "flavor_lull_rcu.h"
#include "gp_peak.h"
#define GP_HELP
#define GP_SLEEPER_ENTER() lull_thread_register()
#define GP_BODY bench_gp_rcu
#include "gp_body.h"
