/* SPDX-License-Identifier: MIT */
/* Read section: lull bridge from RCU to a hazard pointer. */
#include "flavor_lull_hazptr_rcu.h"
#define REF_BODY bench_ref_hazptr_rcu
#include "ref_body.h"
