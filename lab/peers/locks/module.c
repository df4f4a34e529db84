/* SPDX-License-Identifier: MIT */
/* The module locks.so: locks of the C library, some that fit on a page, and the limits without any. */
#include <stddef.h>

#include "gp_scheme.h"
#include "hash_scheme.h"
#include "lock_scheme.h"
#include "peer_module.h"
#include "ref_scheme.h"
#include "scan_scheme.h"

static const void *const ref[] = {
	&bench_ref_none,     &bench_ref_store_fence_store, &bench_ref_seqlock, &bench_ref_brlock,
	&bench_ref_spinlock, &bench_ref_mutex,		   &bench_ref_rwlock,  NULL,
};

static const void *const gp[] = { &bench_gp_free_at_once, NULL };

static const void *const hash[] = {
	&bench_hash_none,     &bench_hash_seqlock, &bench_hash_brlock,
	&bench_hash_spinlock, &bench_hash_mutex,   &bench_hash_rwlock, NULL,
};

static const void *const reload[] = {
	&bench_hash_rwlock_table,	 &bench_hash_rwlock_table_each,
	&bench_hash_rwlock_table_writer, &bench_hash_mutex_table, NULL,
};

static const void *const lock[] = {
	&bench_lock_pthread,  &bench_lock_pthread_adaptive, &bench_lock_pthread_pi,
	&bench_lock_spinlock, &bench_lock_futex,	    &bench_lock_spin_park,
	&bench_lock_spin1000_park, NULL,
};

static const void *const scan[] = { &bench_scan_free, NULL };

const struct peer_module lull_peer_module = {
	.build = PEER_BUILD,
	.version = "",
	.schemes = { ref, gp, hash, lock, scan, reload },
};
