/* SPDX-License-Identifier: MIT */
/* Read section: liburcu-qsbr, inlined. */
#include "flavor_urcu_qsbr.h"
#define REF_BODY bench_ref_liburcu_qsbr
#define REF_NESTS 1
#include "ref_body.h"
