/* SPDX-License-Identifier: MIT */
/* Hash table: liburcu-bp. */
#include "flavor_urcu_bp.h"

#define HASH_BODY bench_hash_liburcu_bp
#define HASH_HOLDS_UP "memory"
#define HASH_READER_MAY_BLOCK true
#define HASH_THREAD_BYTES sizeof(struct urcu_bp_reader)

#include "hash_body.h"
