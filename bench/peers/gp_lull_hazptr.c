/* SPDX-License-Identifier: MIT */
/* Waiting and retiring: lull hazard pointers. */
#include "flavor_lull_hazptr.h"
#include "gp_peak.h"
#define GP_SLEEPER_ENTER() lull_thread_register()
#define GP_BODY bench_gp_hazptr
#include "gp_body.h"
