/* SPDX-License-Identifier: MIT */
/* Records of the Concurrency Kit epoch domain: made on demand, recycled for ever. */
#include "ck_epoch_records.h"

#include <pthread.h>
#include <stdlib.h>

static ck_epoch_t domain;
static pthread_once_t domain_once = PTHREAD_ONCE_INIT;

static void domain_init(void)
{
	ck_epoch_init(&domain);
}

ck_epoch_record_t *bench_ck_record_get(void)
{
	ck_epoch_record_t *record;

	pthread_once(&domain_once, domain_init);
	record = ck_epoch_recycle(&domain, NULL);
	if (record)
		return record;
	/* The type is line-aligned and lives as long as the domain. */
	record = aligned_alloc(CK_MD_CACHELINE, (sizeof(*record) + CK_MD_CACHELINE - 1) /
							CK_MD_CACHELINE * CK_MD_CACHELINE);
	if (!record)
		abort();
	ck_epoch_register(&domain, record, NULL);
	return record;
}

void bench_ck_record_put(ck_epoch_record_t *record)
{
	if (record->n_pending)
		ck_epoch_barrier(record);
	ck_epoch_unregister(record);
}
