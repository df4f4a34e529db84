/* SPDX-License-Identifier: MIT */
/* Grace periods: liburcu's quiescent-state flavor. */
#include "flavor_urcu_qsbr.h"
#define GP_REST() urcu_qsbr_thread_offline()
#define GP_RESUME() urcu_qsbr_thread_online()
#define GP_BODY bench_gp_liburcu_qsbr
#include "gp_body.h"
