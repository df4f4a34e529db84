/* SPDX-License-Identifier: MIT */
/* Hash table: liburcu-mb. */
#include "flavor_urcu_mb.h"

#define HASH_BODY bench_hash_liburcu_mb
#define HASH_HOLDS_UP "memory"
#define HASH_READER_MAY_BLOCK true
#define HASH_THREAD_BYTES sizeof(struct urcu_reader)

#include "hash_body.h"
