/* SPDX-License-Identifier: MIT */
/* Hash table: liburcu-memb. */
#include "flavor_urcu_memb.h"

#define HASH_BODY bench_hash_liburcu_memb
#define HASH_HOLDS_UP "memory"
#define HASH_READER_MAY_BLOCK true
#define HASH_THREAD_BYTES sizeof(struct urcu_reader)

#include "hash_body.h"
