/* SPDX-License-Identifier: MIT */
/* Waiting and retiring: lull hazard pointers with full fences. */
#include "flavor_lull_hazptr_fenced.h"
#include "gp_peak.h"
#define GP_SLEEPER_ENTER() lull_thread_register()
#define GP_BODY bench_gp_hazptr_fenced
#include "gp_body.h"
