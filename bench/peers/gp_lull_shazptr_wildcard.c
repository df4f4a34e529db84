/* SPDX-License-Identifier: MIT */
/* Waiting: lull simple hazard pointers, readers everywhere. */
#define FLAVOR_WILDCARD 1
#include "flavor_lull_shazptr.h"
#define GP_SLEEPER_ENTER() lull_thread_register()
#define GP_NO_CALL
#define GP_BODY bench_gp_shazptr_wildcard
#include "gp_body.h"
