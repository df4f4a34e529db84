/* SPDX-License-Identifier: MIT */
/* Clocks, a nap, and random numbers that cost little. */
#ifndef LULL_TOOL_CLOCK_H
#define LULL_TOOL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t bench_clock_ns(clockid_t clock)
{
	struct timespec ts = { 0, 0 };

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t bench_now_ns(void)
{
	return bench_clock_ns(CLOCK_MONOTONIC);
}

static inline void bench_sleep_ns(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	nanosleep(&ts, NULL);
}

/* xorshift64*; state must not be 0. */
static inline uint64_t bench_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1du;
}

#endif
