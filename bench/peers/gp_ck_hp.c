/* SPDX-License-Identifier: MIT */
/* Retiring: Concurrency Kit hazard pointers. */
#include "flavor_ck_hp.h"
#define GP_NO_WAIT
#define GP_NO_CALL
#define GP_POLLED 1 /* reclaimed by who retires */
#define GP_BODY bench_gp_ck_hp
#include "gp_body.h"
