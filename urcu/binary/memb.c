/* SPDX-License-Identifier: MIT */
/*
 * memb.c - liburcu-memb, and liburcu, which is the same: light fences where membarrier works.
 */
#define URCU(name)	urcu_memb_##name
#define URCU_TEXT(name) "urcu_memb_" #name
#define DOMAIN		lull__urcu_memb

#include "counted.h"

extern URCU_API int urcu_memb_has_sys_membarrier;
int urcu_memb_has_sys_membarrier;

struct urcu_domain lull__urcu_memb = {
	.name = "memb",
	.readers = URCU_LIGHT,
	.ctr = &urcu_memb_gp.ctr,
	.futex = (uint32_t *)&urcu_memb_gp.futex,
	.has_light = &urcu_memb_has_sys_membarrier,
	.number = URCU_FIRST,
	.started = 1,
	.completed = 1,
	.record = record,
	.workers = URCU_WORKERS(chosen, reads),
	.leave = URCU(unregister_thread),
};
