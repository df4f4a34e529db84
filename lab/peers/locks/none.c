/* SPDX-License-Identifier: MIT */
/* No protection at all. */
#include "flavor_none.h"

#define REF_BODY bench_ref_none
#define REF_NESTS 1
#include "ref_body.h"

/* The hash table: updates free at once, so they are right in a single thread only. */
#define HASH_BODY bench_hash_none
#define HASH_HOLDS_UP "nothing"
#define HASH_READER_MAY_BLOCK true
#define HASH_UPDATES_ALONE true
/* The buckets of the common shape have room for a lock; here it stays unused. */
#define HASH_BUCKET_BYTES 0

#include "hash_body.h"
