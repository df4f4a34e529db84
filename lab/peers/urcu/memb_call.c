/* SPDX-License-Identifier: MIT */
/*
 * liburcu's membarrier flavor as a program under another licence gets it: every operation is a
 * call.
 */
#include <urcu/urcu-memb.h>

#define FLAVOR_NAME "liburcu-memb-call"
#define FLAVOR_WHAT "liburcu membarrier flavor, through function calls"
#define URCU(name) urcu_memb_##name
#include "flavor_urcu.h"

#define REF_BODY bench_ref_liburcu_memb_call
#define REF_NESTS 1
#include "ref_body.h"
