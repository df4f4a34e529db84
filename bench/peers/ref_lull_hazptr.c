/* SPDX-License-Identifier: MIT */
/* Read section: lull hazard pointer. */
#include "flavor_lull_hazptr.h"
#define REF_BODY bench_ref_hazptr
#include "ref_body.h"
