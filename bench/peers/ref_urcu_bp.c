/* SPDX-License-Identifier: MIT */
/* Read section: liburcu-bp, inlined. */
#include "flavor_urcu_bp.h"
#define REF_BODY bench_ref_liburcu_bp
#define REF_NESTS 1
#include "ref_body.h"
