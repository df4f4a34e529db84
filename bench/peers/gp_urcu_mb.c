/* SPDX-License-Identifier: MIT */
/* Grace periods: liburcu's full-barrier flavor. */
#include "flavor_urcu_mb.h"

#define GP_BODY bench_gp_liburcu_mb
#include "gp_body.h"
