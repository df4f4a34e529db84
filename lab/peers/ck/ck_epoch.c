/* SPDX-License-Identifier: MIT */
/* Concurrency Kit's epochs. */
#include "flavor_ck_epoch.h"

#define REF_BODY bench_ref_ck_epoch
#define REF_NESTS 1
#include "ref_body.h"

#define GP_POLLED 1
#define GP_BODY bench_gp_ck_epoch
#include "gp_body.h"

#define HASH_BODY bench_hash_ck_epoch
#define HASH_HOLDS_UP "memory"
#define HASH_READER_MAY_BLOCK true
/* A record's callbacks run in its own thread: at the latest when it gives the record back. */
#define HASH_SETTLES_IN_LEAVE

#include "hash_body.h"
