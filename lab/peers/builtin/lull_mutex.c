/* SPDX-License-Identifier: MIT */
/* The row "lull-mutex" once more, in lull-lab itself; see rcu.c. */
#define BENCH_BUILTIN 1
#include "../lull/lull_mutex.c"
