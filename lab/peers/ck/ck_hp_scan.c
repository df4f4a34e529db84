/* SPDX-License-Identifier: MIT */
/*
 * Scans: Concurrency Kit hazard pointers, eight to a record, in a domain of their own, with as many
 * retired objects between two scans as lull lets wait.
 */
#include <stdlib.h>

#include <ck_hp.h>

#include "scan_scheme.h"

#define DEGREE 8
#define THRESHOLD_LEAST 1000u
/* With more pointers in use than fit its cache, version 0.7.1 writes behind the cache. */
#define SLOTS_MOST (CK_HP_CACHE - DEGREE)

static ck_hp_t domain;
static ck_hp_record_t *record, *own;
static void **pointers;
static size_t records;

static size_t round_up(size_t bytes)
{
	return (bytes + CK_MD_CACHELINE - 1) / CK_MD_CACHELINE * CK_MD_CACHELINE;
}

static void occupy(void **object, size_t slots)
{
	size_t threshold = 2 * (slots + DEGREE), i;

	/* One more, for the thread that retires. */
	records = (slots + DEGREE - 1) / DEGREE + 1;
	record = aligned_alloc(CK_MD_CACHELINE, round_up(records * sizeof(*record)));
	pointers = calloc(records * DEGREE, sizeof(*pointers));
	if (!record || !pointers)
		abort();
	ck_hp_init(&domain, DEGREE,
		   (unsigned)(threshold < THRESHOLD_LEAST ? THRESHOLD_LEAST : threshold), free);
	for (i = 0; i < records; i++)
		ck_hp_register(&domain, &record[i], &pointers[i * DEGREE]);
	for (i = 0; i < slots; i++)
		ck_hp_set_fence(&record[i / DEGREE], (unsigned)(i % DEGREE), object[i]);
	own = &record[records - 1];
}

static void vacate(void)
{
	ck_hp_purge(own);
	free(record);
	free(pointers);
}

static void retire(void **object, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		ck_hp_free(own, object[i], object[i], object[i]);
}

static void purge(void) { ck_hp_purge(own); }

const struct bench_scan_scheme bench_scan_ck_hp = {
	.name = "ck-hp",
	.what = "Concurrency Kit hazard pointers",
	.most_slots = SLOTS_MOST,
	.occupy = occupy,
	.vacate = vacate,
	.retire = retire,
	.barrier = purge,
};
