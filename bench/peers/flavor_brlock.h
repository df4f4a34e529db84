/* SPDX-License-Identifier: MIT */
/* The big-reader lock, read side. */
#include <lull/atomic.h>
#include <stdlib.h>

#include "brlock.h"
#include "flavor.h"

#define FLAVOR_NAME "brlock"
#define FLAVOR_WHAT "one spin lock per thread; a writer takes all of them"

static struct bench_brlock *flavor_shared;

__attribute__((constructor)) static void flavor_init(void)
{
	flavor_shared = bench_brlock_new();
	if (!flavor_shared)
		abort();
}

static inline void flavor_thread_enter(void) { bench_brlock_enter(); }
static inline void flavor_thread_leave(void) {}
static inline void flavor_read_lock(void) { bench_brlock_read_lock(flavor_shared); }
static inline void flavor_read_unlock(void) { bench_brlock_read_unlock(flavor_shared); }
static inline void flavor_quiescent(void) {}

#define flavor_dereference(p) lull_load_relaxed(&(p))
#define flavor_assign(p, v) lull_store_relaxed(&(p), (v))
