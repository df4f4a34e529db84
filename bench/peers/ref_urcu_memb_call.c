/* SPDX-License-Identifier: MIT */
/* Read section: liburcu-memb, called. */
#include "flavor_urcu_memb_call.h"
#define REF_BODY bench_ref_liburcu_memb_call
#define REF_NESTS 1
#include "ref_body.h"
