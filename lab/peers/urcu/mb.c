/* SPDX-License-Identifier: MIT */
/* liburcu's full-fence flavor, read side inlined. */
#define _LGPL_SOURCE /* liburcu inlines its read side only for those who say this */
#include <urcu/urcu-mb.h>

#define FLAVOR_NAME "liburcu-mb"
#define FLAVOR_WHAT "liburcu full-fence flavor, inlined"
#define URCU(name) urcu_mb_##name
#include "flavor_urcu.h"

#define REF_BODY bench_ref_liburcu_mb
#define REF_NESTS 1
#include "ref_body.h"

#define GP_BODY bench_gp_liburcu_mb
#include "gp_body.h"

#define HASH_BODY bench_hash_liburcu_mb
#define HASH_HOLDS_UP "memory"
#define HASH_READER_MAY_BLOCK true
#define HASH_THREAD_BYTES sizeof(struct urcu_reader)
#include "hash_body.h"
