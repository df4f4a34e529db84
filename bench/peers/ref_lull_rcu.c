/* SPDX-License-Identifier: MIT */
/* Read section: lull RCU. */
#include "flavor_lull_rcu.h"
#define REF_BODY bench_ref_rcu
#include "ref_body.h"
