/* SPDX-License-Identifier: MIT */
/* Read section: Concurrency Kit epochs. */
#include "flavor_ck_epoch.h"
#define REF_BODY bench_ref_ck_epoch
#define REF_NESTS 1
#include "ref_body.h"
