/* SPDX-License-Identifier: MIT */
/* The one Concurrency Kit epoch domain of this program. */
#ifndef BENCH_CK_EPOCH_RECORDS_H
#define BENCH_CK_EPOCH_RECORDS_H

#include <ck_epoch.h>

ck_epoch_record_t *bench_ck_record_get(void);
/* Run what the record still has pending, then give it back. */
void bench_ck_record_put(ck_epoch_record_t *record);

#endif
