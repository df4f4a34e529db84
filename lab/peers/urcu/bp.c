/* SPDX-License-Identifier: MIT */
/* liburcu's flavor that registers threads by itself, read side inlined. */
#define _LGPL_SOURCE /* liburcu inlines its read side only for those who say this */
#include <urcu/urcu-bp.h>

#define FLAVOR_NAME "liburcu-bp"
#define FLAVOR_WHAT "liburcu self-registering flavor, inlined"
#define URCU(name) urcu_bp_##name
#include "flavor_urcu.h"

#define REF_BODY bench_ref_liburcu_bp
#define REF_NESTS 1
#include "ref_body.h"

#define GP_BODY bench_gp_liburcu_bp
#include "gp_body.h"

#define HASH_BODY bench_hash_liburcu_bp
#define HASH_HOLDS_UP "memory"
#define HASH_READER_MAY_BLOCK true
#define HASH_THREAD_BYTES sizeof(struct urcu_bp_reader)
#include "hash_body.h"
