/* SPDX-License-Identifier: MIT */
/* Read section: lull simple hazard pointer. */
#include "flavor_lull_shazptr.h"
#define REF_BODY bench_ref_shazptr
#define REF_NESTS 1
#include "ref_body.h"
