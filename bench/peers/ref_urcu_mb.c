/* SPDX-License-Identifier: MIT */
/* Read section: liburcu-mb, inlined. */
#include "flavor_urcu_mb.h"
#define REF_BODY bench_ref_liburcu_mb
#define REF_NESTS 1
#include "ref_body.h"
