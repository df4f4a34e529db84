/* SPDX-License-Identifier: MIT */
/* Lock: a plain futex, whose waiters sleep at once. */
#define LOCK_PAUSES 0u
#include "lock_futex.h"

LOCK_SCHEME(bench_lock_futex, "futex", "a futex with three states: waiters sleep at once", NULL);
