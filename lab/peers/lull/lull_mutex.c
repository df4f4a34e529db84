/* SPDX-License-Identifier: MIT */
/* Lock: lull_mutex, with each of the oracles that may know whether its owner runs. */
#include <lull/mutex.h>

#include <errno.h>

#include "lock_scheme.h"

static struct lull_mutex lock_shared __attribute__((aligned(BENCH_LOCK_LINE)));

static inline void lock_acquire(void) { lull_mutex_lock(&lock_shared); }
static inline void lock_release(void) { lull_mutex_unlock(&lock_shared); }

/*
 * Threads ask what was chosen when they lock for the first time, and are new in each measurement.
 */
static const char *lock_renew(const struct bench_lock_scheme *scheme)
{
	static const char *lulls_choice;
	int err;

	if (!lulls_choice)
		lulls_choice = lull_mutex_oracle_name();
	lull_mutex_init(&lock_shared, 0);
	err = lull_mutex_choose_oracle(scheme->oracle ? scheme->oracle : lulls_choice);
	if (!err)
		return NULL;
	return err == -ENOTSUP ? "this machine does not offer that oracle" :
				 "there is no such oracle";
}

#include "lock_body.h"

#ifdef BENCH_BUILTIN
LOCK_SCHEME(bench_lock_lull_mutex, "lull-mutex-builtin",
	    "the same, compiled into the command: what a module costs", NULL);
#else
LOCK_SCHEME(bench_lock_lull_mutex, "lull-mutex", "lull_mutex, with the oracle that lull chose",
	    NULL);
LOCK_SCHEME(bench_lock_lull_mutex_rseq, "lull-mutex-rseq",
	    "lull_mutex that asks the owner's rseq area", "rseq");
LOCK_SCHEME(bench_lock_lull_mutex_bpf, "lull-mutex-bpf",
	    "lull_mutex that asks a table in the kernel", "bpf");
LOCK_SCHEME(bench_lock_lull_mutex_kernel, "lull-mutex-kernel",
	    "lull_mutex, the kernel spins while the owner runs", "kernel");
LOCK_SCHEME(bench_lock_lull_mutex_slice, "lull-mutex-slice",
	    "lull_mutex, owners ask for a longer time slice", "slice");
LOCK_SCHEME(bench_lock_lull_mutex_none, "lull-mutex-none", "lull_mutex without an oracle", "none");
#endif
