/* SPDX-License-Identifier: MIT */
/* Scans: lull hazard pointers, in contexts of eight slots. */
#include <stdlib.h>

#include <lull/hazptr_fenced.h>

#include "scan_scheme.h"

static struct lull_hazptr_context *context;
static size_t contexts;

static void occupy(void **object, size_t slots)
{
	size_t i;

	contexts = (slots + LULL_HAZPTR_SLOTS - 1) / LULL_HAZPTR_SLOTS;
	context = malloc(contexts * sizeof(*context) + 1);
	if (!context)
		abort();
	for (i = 0; i < contexts; i++)
		lull_hazptr_context_init(&context[i]);
	for (i = 0; i < slots; i++) {
		struct lull_hazptr *h = lull_hazptr_alloc(&context[i / LULL_HAZPTR_SLOTS]);

		if (!h)
			abort(); /* there are eight in each */
		lull_hazptr_protect_ptr(h, object[i]);
	}
}

static void vacate(void)
{
	size_t i;

	for (i = 0; i < contexts; i++)
		lull_hazptr_context_cleanup(&context[i]);
	free(context);
	context = NULL;
}

static void retire(void **object, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		lull_hazptr_retire(object[i]);
}

static void retire_full(void **object, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		lull_hazptr_fenced_retire(object[i]);
}

const struct bench_scan_scheme bench_scan_hazptr = {
	.name = "hazptr",
	.what = "lull hazard pointers",
	.occupy = occupy,
	.vacate = vacate,
	.retire = retire,
	.barrier = lull_hazptr_barrier,
};

const struct bench_scan_scheme bench_scan_hazptr_fenced = {
	.name = "hazptr-fenced",
	.what = "lull hazard pointers with full fences",
	.occupy = occupy,
	.vacate = vacate,
	.retire = retire_full,
	.barrier = lull_hazptr_barrier,
};
