/* SPDX-License-Identifier: MIT */
/* Grace periods: Concurrency Kit epochs. */
#include "flavor_ck_epoch.h"
#define GP_POLLED 1
#define GP_BODY bench_gp_ck_epoch
#include "gp_body.h"
