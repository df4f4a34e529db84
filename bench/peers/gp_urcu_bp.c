/* SPDX-License-Identifier: MIT */
/* Grace periods: liburcu's self-registering flavor. */
#include "flavor_urcu_bp.h"

#define GP_BODY bench_gp_liburcu_bp
#include "gp_body.h"
