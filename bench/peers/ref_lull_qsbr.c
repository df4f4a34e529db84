/* SPDX-License-Identifier: MIT */
/* Read section: lull RCU, online threads. */
#include "flavor_lull_qsbr.h"
#define REF_BODY bench_ref_rcu_qsbr
#define REF_NESTS 1
#include "ref_body.h"
