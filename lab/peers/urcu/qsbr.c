/* SPDX-License-Identifier: MIT */
/* liburcu's quiescent-state flavor, read side inlined. */
#define _LGPL_SOURCE /* liburcu inlines its read side only for those who say this */
#include <urcu/urcu-qsbr.h>

#define FLAVOR_NAME "liburcu-qsbr"
#define FLAVOR_WHAT "liburcu quiescent-state flavor, inlined"
#define URCU(name) urcu_qsbr_##name
#include "flavor_urcu.h"

#define REF_BODY bench_ref_liburcu_qsbr
#define REF_NESTS 1
#include "ref_body.h"

#define GP_REST() urcu_qsbr_thread_offline()
#define GP_RESUME() urcu_qsbr_thread_online()
#define GP_BODY bench_gp_liburcu_qsbr
#include "gp_body.h"

#define HASH_BODY bench_hash_liburcu_qsbr
#define HASH_HOLDS_UP "memory"
#define HASH_THREAD_BYTES sizeof(struct urcu_qsbr_reader)
#include "hash_body.h"
