/* SPDX-License-Identifier: MIT */
/* Read section: lull hazard pointer with full fences. */
#include "flavor_lull_hazptr_fenced.h"
#define REF_BODY bench_ref_hazptr_fenced
#include "ref_body.h"
