/* SPDX-License-Identifier: MIT */
/* Hash table: liburcu-qsbr. */
#include "flavor_urcu_qsbr.h"

#define HASH_BODY bench_hash_liburcu_qsbr
#define HASH_HOLDS_UP "memory"
#define HASH_THREAD_BYTES sizeof(struct urcu_qsbr_reader)

#include "hash_body.h"
