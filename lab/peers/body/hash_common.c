/* SPDX-License-Identifier: MIT */
/* Parts that the hash tables of all schemes share: memory, complaints, and the count of elements that wait. */
#include "hash_scheme.h"

#include <stdio.h>

#include <lull/reclaim.h>

void bench_hash_broken(const char *scheme)
{
	fprintf(stderr, "lull hashscale: scheme %s lost an element that was always there\n",
		scheme);
	abort();
}

void bench_hash_no_memory(void)
{
	fprintf(stderr, "lull: out of memory\n");
	exit(EXIT_FAILURE);
}

void *bench_hash_alloc(size_t count, size_t size)
{
	size_t bytes = (count * size + BENCH_LINE - 1) / BENCH_LINE * BENCH_LINE;
	void *p = bytes / size >= count ? aligned_alloc(BENCH_LINE, bytes) : NULL;

	if (!p)
		bench_hash_no_memory();
	return memset(p, 0, bytes);
}

/* ---- elements that wait ---------------------------------------------------------------------- */

#define COUNTS (4096 + 64) /* the most workers that there can be, and the libraries' own threads */

__thread struct bench_hash_count *bench_hash_count;

static struct bench_hash_count counts[COUNTS];
static unsigned counts_used;
static uint64_t peak;

/* Never given back: threads here live as long as the program. Should there be too many, some share.
 */
void bench_hash_count_new(void)
{
	bench_hash_count = &counts[lull_add_relaxed(&counts_used, 1) % COUNTS];
}

static uint64_t waiting(void)
{
	unsigned used = lull_load_relaxed(&counts_used), i;
	uint64_t retired = 0, freed = 0;

	used = used < COUNTS ? used : COUNTS;
	/* Read the freed ones first: elements freed meanwhile must not make the difference negative. */
	for (i = 0; i < used; i++)
		freed += lull_load_relaxed(&counts[i].freed);
	for (i = 0; i < used; i++)
		retired += lull_load_relaxed(&counts[i].retired);
	return retired > freed ? retired - freed : 0;
}

void bench_hash_sample(void)
{
	uint64_t now = waiting(), most = lull_load_relaxed(&peak);

	while (now > most && !lull_cas_relaxed(&peak, &most, now))
		;
}

size_t bench_hash_deferred(bool reset)
{
	uint64_t most;

	bench_hash_sample();
	most = lull_load_relaxed(&peak);
	if (reset)
		lull_store_relaxed(&peak, waiting());
	return most;
}

size_t bench_hash_lull_deferred(bool reset)
{
	struct lull_reclaim_counts stats;

	lull_reclaim_stats(&stats);
	if (reset)
		lull_reclaim_reset_peak();
	return stats.peak_items;
}
