/* SPDX-License-Identifier: MIT */
/* Read section: liburcu-bp, inlined. */
#include "flavor_urcu_bp.h"
#define REF_BODY bench_ref_liburcu_bp
#include "ref_body.h"
