/* SPDX-License-Identifier: MIT */
/* The module lull.so: the rows of this library. Those of its counts are in counts.so. */
#include <stddef.h>

#include "gp_scheme.h"
#include "hash_scheme.h"
#include "lock_scheme.h"
#include "peer_module.h"
#include "ref_scheme.h"
#include "scan_scheme.h"

static const void *const ref[] = {
	&bench_ref_rcu,	       &bench_ref_rcu_qsbr,	&bench_ref_hazptr,
	&bench_ref_hazptr_alloc, &bench_ref_hazptr_hold, &bench_ref_hazptr_fenced,
	&bench_ref_hazptr_rcu, &bench_ref_shazptr,	&bench_ref_shazptr_wildcard,
	&bench_ref_rcu_domain, &bench_ref_percpu_rwsem, NULL,
};

static const void *const gp[] = {
	&bench_gp_rcu,	      &bench_gp_rcu_qsbr, &bench_gp_hazptr,	       &bench_gp_hazptr_fenced,
	&bench_gp_hazptr_rcu, &bench_gp_rcu_cohort, &bench_gp_shazptr,	       &bench_gp_shazptr_wildcard,
	NULL,
};

static const void *const hash[] = {
	&bench_hash_rcu,	&bench_hash_rcu_qsbr, &bench_hash_lull_hash, &bench_hash_hazptr,
	&bench_hash_hazptr_fenced, &bench_hash_hazptr_rcu, &bench_hash_shazptr,
	&bench_hash_percpu_rwsem, NULL,
};

static const void *const reload[] = { &bench_hash_rcu_table, &bench_hash_percpu_rwsem_table, NULL };

static const void *const lock[] = {
	&bench_lock_lull_mutex,	       &bench_lock_lull_mutex_rseq, &bench_lock_lull_mutex_bpf,
	&bench_lock_lull_mutex_kernel, &bench_lock_lull_mutex_slice, &bench_lock_lull_mutex_none, NULL,
};

static const void *const scan[] = { &bench_scan_hazptr, &bench_scan_hazptr_fenced, NULL };

const struct peer_module lull_peer_module = {
	.build = PEER_BUILD,
	.version = "",
	.schemes = { ref, gp, hash, lock, scan, reload },
};
