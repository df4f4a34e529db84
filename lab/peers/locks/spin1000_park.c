/* SPDX-License-Identifier: MIT */
/* Lock: 1000 pauses, then a futex. */
#define LOCK_PAUSES 1000u
#include "lock_futex.h"

LOCK_SCHEME(bench_lock_spin1000_park, "spin1000-park", "the same after 1000 pauses", NULL);
