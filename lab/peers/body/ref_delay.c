/* SPDX-License-Identifier: MIT */
/* The delay a reader can be told to spend in its section. */
#include <lull/atomic.h>
#include <time.h>

#include "ref_scheme.h"

static uint64_t delay_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void bench_ref_delay(uint64_t ns)
{
	uint64_t end = delay_now_ns() + ns;

	while (delay_now_ns() < end)
		lull_cpu_relax();
}
