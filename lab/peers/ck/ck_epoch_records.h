/* SPDX-License-Identifier: MIT */
/* The one Concurrency Kit epoch domain of this program. */
#ifndef BENCH_CK_EPOCH_RECORDS_H
#define BENCH_CK_EPOCH_RECORDS_H

#include <ck_epoch.h>

ck_epoch_record_t *bench_ck_record_get(void);
/* Runs what the record still has pending before it lets go of it. */
void bench_ck_record_put(ck_epoch_record_t *record);

#endif
