/* SPDX-License-Identifier: MIT */
/* Replacement without any protection: the limit that the others are compared with. */
#include <time.h>

#include "gp.h"

static void replace(enum bench_gp_way way, uint64_t n, struct bench_gp_replaced *out)
{
	static char *volatile slot;
	struct timespec from, to;
	uint64_t i;

	(void)way;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (i = 0; i < n; i++) {
		char *fresh = malloc(64), *old = slot;

		if (!fresh)
			abort();
		*fresh = (char)i;
		slot = fresh;
		free(old);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	out->ns = ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
		  (double)n;
	out->peak = 0;
}

static void nothing(void)
{
}

const struct bench_gp_scheme bench_gp_free_at_once = {
	.name = "free-at-once",
	.what = "no grace period: the limit of replacement",
	.thread_enter = nothing,
	.thread_leave = nothing,
	.ways = { [BENCH_GP_NOW] = true },
	.replace = replace,
};
