/* SPDX-License-Identifier: MIT */
/* Read section: no protection. */
#include "flavor_none.h"
#define REF_BODY bench_ref_none
#include "ref_body.h"
