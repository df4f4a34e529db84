/* SPDX-License-Identifier: MIT */
/* Records of the Concurrency Kit hazard-pointer domain: made on demand, recycled for ever. */
#include "ck_hp_domain.h"

#include <pthread.h>
#include <stdlib.h>

#define DEGREE 1
#define THRESHOLD 64 /* retired objects before a scan, as in the published comparison */

void (*bench_ck_hp_reclaimed)(struct ck_hp_hazard *hazard);

static ck_hp_t domain;
static pthread_once_t domain_once = PTHREAD_ONCE_INIT;

static void destroy(void *hazard)
{
	bench_ck_hp_reclaimed(hazard);
}

static void domain_init(void)
{
	ck_hp_init(&domain, DEGREE, THRESHOLD, destroy);
}

ck_hp_record_t *bench_ck_hp_record_get(void)
{
	ck_hp_record_t *record;
	void **pointers;

	pthread_once(&domain_once, domain_init);
	record = ck_hp_recycle(&domain);
	if (record)
		return record;
	/* The type is line-aligned and lives as long as the domain. */
	record = aligned_alloc(CK_MD_CACHELINE, (sizeof(*record) + CK_MD_CACHELINE - 1) /
							CK_MD_CACHELINE * CK_MD_CACHELINE);
	pointers = calloc(1, CK_MD_CACHELINE * DEGREE);
	if (!record || !pointers)
		abort();
	ck_hp_register(&domain, record, pointers);
	return record;
}

void bench_ck_hp_record_put(ck_hp_record_t *record)
{
	ck_hp_set(record, 0, NULL);
	ck_hp_purge(record);
	ck_hp_unregister(record);
}
