/* SPDX-License-Identifier: MIT */
/* Read section: mutex. */
#include "flavor_mutex.h"
#define REF_BODY bench_ref_mutex
#include "ref_body.h"
