/* SPDX-License-Identifier: MIT */
/* Lock: 100 pauses, then a futex. */
#define LOCK_PAUSES 100u
#include "lock_futex.h"

LOCK_SCHEME(bench_lock_spin_park, "spin-park", "the same after 100 pauses", NULL);
