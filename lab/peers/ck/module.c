/* SPDX-License-Identifier: MIT */
/* The module ck.so: Concurrency Kit's epochs, hazard pointers, big-reader lock and hash table. */
#include <stddef.h>

#include "gp_scheme.h"
#include "hash_scheme.h"
#include "peer_module.h"
#include "ref_scheme.h"
#include "scan_scheme.h"

static const void *const ref[] = { &bench_ref_ck_brlock, &bench_ref_ck_epoch, &bench_ref_ck_hp, NULL };
static const void *const gp[] = { &bench_gp_ck_epoch, &bench_gp_ck_hp, NULL };
static const void *const hash[] = {
	&bench_hash_ck_brlock,
	&bench_hash_ck_epoch,
	&bench_hash_ck_ht,
	NULL,
};
static const void *const scan[] = { &bench_scan_ck_hp, NULL };

const struct peer_module lull_peer_module = {
	.build = PEER_BUILD,
	.library = "ck",
	.version = PEER_VERSION,
	.schemes = { ref, gp, hash, NULL, scan },
};
