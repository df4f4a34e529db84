/* SPDX-License-Identifier: MIT */
/* lull's hazard pointers. */
#include "flavor_lull_hazptr.h"

#define REF_BODY bench_ref_hazptr
#include "ref_body.h"

#include "gp_peak.h"
#define GP_ENTER() lull_thread_register()
#define GP_LEAVE() lull_thread_unregister()
#define GP_BODY bench_gp_hazptr
#include "gp_body.h"

#define HASH_BODY bench_hash_hazptr
#define HASH_WHAT "lull hazard pointers, from element to element with two slots"
#include "hash_hazptr_body.h"
