/* SPDX-License-Identifier: MIT */
/* Read section: reader-writer lock. */
#include "flavor_rwlock.h"
#define REF_BODY bench_ref_rwlock
#define REF_NESTS 1
#include "ref_body.h"
