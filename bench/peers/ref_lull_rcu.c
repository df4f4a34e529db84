/* SPDX-License-Identifier: MIT */
/* Read section: lull RCU. */
#include "flavor_lull_rcu.h"
#define REF_BODY bench_ref_rcu
#define REF_NESTS 1
#include "ref_body.h"
