/* SPDX-License-Identifier: MIT */
/* Cycles and instructions of a thread in user mode, counted by the hardware (perf_event_open). */
#ifndef LULL_TOOL_COUNTERS_H
#define LULL_TOOL_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

struct bench_counters {
	int cycles; /* -1: not available; leads the group */
	int instructions;
};

/* Begin to count the calling thread's; where that is not possible, cycles is -1. */
void bench_counters_open(struct bench_counters *c);
void bench_counters_close(struct bench_counters *c);
/* Read both counts so far. Return false where there are none. */
bool bench_counters_read(const struct bench_counters *c, uint64_t *cycles, uint64_t *instructions);
/* Cycles and instructions of a thread in user mode for a number of operations. */
struct bench_counted {
	uint64_t ops; /* 0: nothing was counted */
	uint64_t cycles, instructions;
};

/* Stop counting, and close. Return what was counted since bench_counters_open(), for @ops operations. */
struct bench_counted bench_counters_end(struct bench_counters *c, uint64_t ops);
/* Return whether they can be counted in this process. */
bool bench_counters_work(void);

#endif
