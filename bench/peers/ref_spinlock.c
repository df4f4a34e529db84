/* SPDX-License-Identifier: MIT */
/* Read section: spin lock. */
#include "flavor_spinlock.h"
#define REF_BODY bench_ref_spinlock
#include "ref_body.h"
