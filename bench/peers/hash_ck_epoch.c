/* SPDX-License-Identifier: MIT */
/* Hash table: Concurrency Kit's epochs. */
#include "flavor_ck_epoch.h"

#define HASH_BODY bench_hash_ck_epoch
#define HASH_HOLDS_UP "memory"
#define HASH_READER_MAY_BLOCK true
/* A record's callbacks run in its own thread: at the latest when it gives the record back. */
#define HASH_SETTLES_IN_LEAVE

#include "hash_body.h"
