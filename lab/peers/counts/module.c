/* SPDX-License-Identifier: MIT */
/* The module counts.so: lull's refcount and percpu_ref, alone and after a lookup; and C11's atomics. */
#include <stddef.h>

#include "gp_scheme.h"
#include "hash_scheme.h"
#include "peer_module.h"
#include "ref_scheme.h"

static const void *const ref[] = {
	&bench_ref_refcount,	   &bench_ref_refcount_lock,   &bench_ref_refcount_rcu,
	&bench_ref_refcount_hazptr, &bench_ref_percpu_ref,	&bench_ref_percpu_ref_rcu,
	&bench_ref_percpu_ref_hazptr, &bench_ref_c11_atomic,	NULL,
};

static const void *const gp[] = { &bench_gp_percpu_ref, &bench_gp_membarrier, NULL };

static const void *const hash[] = { &bench_hash_refcount, &bench_hash_refcount_lock,
				    &bench_hash_percpu_ref, NULL };

const struct peer_module lull_peer_module = {
	.build = PEER_BUILD,
	.version = "",
	.schemes = { ref, gp, hash },
};
