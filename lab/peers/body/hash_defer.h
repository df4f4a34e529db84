/* SPDX-License-Identifier: MIT */
/* Retirement by callback, counted. For flavors with grace periods and without flavor_free(). */
#ifndef BENCH_HASH_DEFER_H
#define BENCH_HASH_DEFER_H

#include "hash_scheme.h"

#define HASH_COUNTS_DEFERRED 1
#define HASH_OBJECT_BYTES sizeof(struct flavor_head)

_Static_assert(sizeof(struct flavor_head) <= sizeof(((struct bench_hash_element *)0)->head),
	       "room for the head");

static void hash_reclaim(struct flavor_head *head)
{
	free((char *)head - offsetof(struct bench_hash_element, head));
	bench_hash_freed();
}

static inline void hash_defer(struct bench_hash_element *element)
{
	bench_hash_retired();
	flavor_call((struct flavor_head *)(void *)element->head, hash_reclaim);
}

#endif
