/* SPDX-License-Identifier: MIT */
/* Read section: reader-writer lock. */
#include "flavor_rwlock.h"
#define REF_BODY bench_ref_rwlock
#include "ref_body.h"
