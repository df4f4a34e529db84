/* SPDX-License-Identifier: MIT */
/* Grace periods: lull RCU, online threads. */
#include "flavor_lull_qsbr.h"
#include "gp_peak.h"
#define GP_REST() lull_rcu_offline()
#define GP_RESUME() lull_rcu_online()
#define GP_BODY bench_gp_rcu_qsbr
#include "gp_body.h"
