/* SPDX-License-Identifier: MIT */
/*
 * signal.c - liburcu-signal, of 0.13 alone: inlined readers make light fences, and there is no choice of others.
 */
#define URCU(name)	urcu_signal_##name
#define URCU_TEXT(name) "urcu_signal_" #name
#define DOMAIN		lull__urcu_signal

#include "counted.h"

struct urcu_domain lull__urcu_signal = {
	.name = "signal",
	.readers = URCU_LIGHT,
	.only_light = true,
	.ctr = &urcu_signal_gp.ctr,
	.futex = (uint32_t *)&urcu_signal_gp.futex,
	.number = URCU_FIRST,
	.started = 1,
	.completed = 1,
	.record = record,
	.workers = URCU_WORKERS(chosen, reads),
	.leave = URCU(unregister_thread),
};
