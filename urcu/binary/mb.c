/* SPDX-License-Identifier: MIT */
/*
 * mb.c - liburcu-mb: full fences, and grace periods that interrupt no processor.
 */
#define URCU(name)	urcu_mb_##name
#define URCU_TEXT(name) "urcu_mb_" #name
#define DOMAIN		lull__urcu_mb

#include "counted.h"

struct urcu_domain lull__urcu_mb = {
	.name = "mb",
	.readers = URCU_FULL,
	.ctr = &urcu_mb_gp.ctr,
	.futex = (uint32_t *)&urcu_mb_gp.futex,
	.number = URCU_FIRST,
	.started = 1,
	.completed = 1,
	.record = record,
	.workers = URCU_WORKERS(chosen, reads),
	.leave = URCU(unregister_thread),
};
