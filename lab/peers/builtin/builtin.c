/* SPDX-License-Identifier: MIT */
/* The list of the rows that are compiled into lull-lab. */
#include <stddef.h>

#include "gp_scheme.h"
#include "hash_scheme.h"
#include "lock_scheme.h"
#include "peer_module.h"
#include "ref_scheme.h"

static const void *const ref[] = { &bench_ref_rcu, NULL };
static const void *const gp[] = { &bench_gp_rcu, NULL };
static const void *const hash[] = { &bench_hash_rcu, NULL };
static const void *const lock[] = { &bench_lock_lull_mutex, NULL };

const struct peer_module bench_builtin = {
	.build = PEER_BUILD,
	.version = "",
	.schemes = { ref, gp, hash, lock },
};
