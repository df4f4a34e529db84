/* SPDX-License-Identifier: MIT */
/* The module urcu.so: liburcu's flavors, and its hash table. */
#include <stddef.h>

#include "gp_scheme.h"
#include "hash_scheme.h"
#include "peer_module.h"
#include "ref_scheme.h"

static const void *const ref[] = {
	&bench_ref_liburcu_memb, &bench_ref_liburcu_mb,	       &bench_ref_liburcu_qsbr,
	&bench_ref_liburcu_bp,	 &bench_ref_liburcu_memb_call, NULL,
};

static const void *const gp[] = { &bench_gp_liburcu_memb, &bench_gp_liburcu_mb,
				  &bench_gp_liburcu_qsbr, &bench_gp_liburcu_bp, NULL };

static const void *const hash[] = { &bench_hash_liburcu_memb, &bench_hash_liburcu_mb,
				    &bench_hash_liburcu_qsbr, &bench_hash_liburcu_bp,
				    &bench_hash_liburcu_lfht, NULL };

const struct peer_module lull_peer_module = {
	.build = PEER_BUILD,
	.library = "liburcu",
	.version = PEER_VERSION,
	.schemes = { ref, gp, hash },
};
