/* SPDX-License-Identifier: MIT */
/* What the kernel counts in /proc/interrupts and /proc/stat; see cpus.h, which opens them. */
#ifndef LULL_TOOL_PROC_COUNTS_H
#define LULL_TOOL_PROC_COUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Read how many function call interrupts there were in @total, and those of CPU i in @per_cpu[i], of @nr; NULL: not asked for.
 * Return false where the kernel does not count them.
 */
bool proc_call_interrupts(FILE *interrupts, uint64_t *total, uint64_t *per_cpu, unsigned nr);
/* Return how long the CPUs that are @allowed were idle, or waited for a device; the kernel counts in ticks. */
uint64_t proc_idle_ns(FILE *stat, double tick_ns, bool (*allowed)(int cpu));

#endif
