/* SPDX-License-Identifier: MIT */
/*
 * Replacement and retiring without any protection: the limit that the others are compared with. An element that is
 * taken out is freed at once.
 */
#include <stdlib.h>
#include <time.h>

#include "gp_scheme.h"
#include "scan_scheme.h"

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

static void replace_own(enum bench_gp_way way, uint64_t n)
{
	static __thread char *volatile own;

	(void)way;
	for (; n; n--) {
		char *fresh = malloc(64), *old = own;

		if (!fresh)
			abort();
		*fresh = (char)n;
		own = fresh;
		free(old);
	}
	free(own);
	own = NULL;
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
	.replace_own = replace_own,
};

static void occupy(void **object, size_t slots)
{
	(void)object;
	(void)slots;
}

static void retire(void **object, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		free(object[i]);
}

const struct bench_scan_scheme bench_scan_free = {
	.name = "free-at-once",
	.what = "free() alone: the limit",
	.occupy = occupy,
	.vacate = nothing,
	.retire = retire,
	.barrier = nothing,
};
