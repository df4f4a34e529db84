/* SPDX-License-Identifier: MIT */
/* The processors that this process may run on, and what interrupts them. */
#ifndef LULL_TOOL_CPUS_H
#define LULL_TOOL_CPUS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The CPUs this process may run on, and how many cores and sockets they belong to. bench_pin() pins
 * the calling thread to the index-th CPU in the order of topology.h, round robin; returns the CPU
 * number or -1 when the system refused (measuring goes on unpinned).
 */
unsigned bench_cpus(void);
unsigned bench_cores(void);
unsigned bench_sockets(void);
int bench_cpu(unsigned index);
int bench_pin(unsigned index);

/*
 * Function-call interrupts (CAL line of /proc/interrupts), all CPUs together and per CPU.
 * Returns false where the line does not exist; per_cpu may be NULL, else holds nr entries by CPU
 * number.
 */
bool bench_call_interrupts(uint64_t *total, uint64_t *per_cpu, unsigned nr);

/* Return how long the CPUs that this process may use have been idle, all together, since the system started. */
uint64_t bench_idle_ns(void);

#endif
