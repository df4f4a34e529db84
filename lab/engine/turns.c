/* SPDX-License-Identifier: MIT */
/* Work of a given length; see turns.h. */
#include "engine/turns.h"

#include "common/clock.h"
#include "common/bench.h"
#include "lock_scheme.h"

static double turns_per_ns;

void bench_turns_calibrate(void)
{
	enum { TURNS = 4096, ATTEMPTS = 400 };
	uint64_t best = UINT64_MAX, x = 1;
	int i;

	for (i = 0; i < ATTEMPTS; i++) {
		uint64_t before = bench_now_ns(), took;

		x = bench_lock_work(x, TURNS);
		took = bench_now_ns() - before;
		best = took < best && took ? took : best;
	}
	bench_sink(x);
	turns_per_ns = TURNS / (double)best;
}

uint64_t bench_turns(double ns)
{
	return (uint64_t)(ns * turns_per_ns + 0.5);
}
