/* SPDX-License-Identifier: MIT */
/* Read section: lull simple hazard pointer, the wildcard. */
#define FLAVOR_WILDCARD 1
#include "flavor_lull_shazptr.h"
#define REF_BODY bench_ref_shazptr_wildcard
#define REF_NESTS 1
#include "ref_body.h"
