/* SPDX-License-Identifier: MIT */
/* Read section: liburcu-memb, inlined. */
#include "flavor_urcu_memb.h"
#define REF_BODY bench_ref_liburcu_memb
#define REF_NESTS 1
#include "ref_body.h"
