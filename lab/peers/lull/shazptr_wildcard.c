/* SPDX-License-Identifier: MIT */
/* lull's simple hazard pointers, the wildcard: readers are everywhere. */
#define FLAVOR_WILDCARD 1
#include "flavor_lull_shazptr.h"

#define REF_BODY bench_ref_shazptr_wildcard
#define REF_NESTS 1
#include "ref_body.h"

#define GP_ENTER() lull_thread_register()
#define GP_LEAVE() lull_thread_unregister()
#define GP_NO_CALL
#define GP_BODY bench_gp_shazptr_wildcard
#include "gp_body.h"
