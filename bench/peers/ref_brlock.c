/* SPDX-License-Identifier: MIT */
/* Read section: big-reader lock. */
#include "flavor_brlock.h"
#define REF_BODY bench_ref_brlock
#include "ref_body.h"
