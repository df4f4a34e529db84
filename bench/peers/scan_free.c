/* SPDX-License-Identifier: MIT */
/* Scans: none. The objects are freed at once, which is the limit. */
#include <stdlib.h>

#include "scan.h"

static void occupy(void **object, size_t slots)
{
	(void)object;
	(void)slots;
}

static void nothing(void) {}

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
