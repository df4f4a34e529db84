/* SPDX-License-Identifier: MIT */
/* Read section: Concurrency Kit hazard pointers. */
#include "flavor_ck_hp.h"
#define REF_BODY bench_ref_ck_hp
#include "ref_body.h"
