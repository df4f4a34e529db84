/* SPDX-License-Identifier: MIT */
/* Read section: no protection. */
#include "flavor_none.h"
#define REF_BODY bench_ref_none
#define REF_NESTS 1
#include "ref_body.h"
