/* SPDX-License-Identifier: MIT */
/* The one Concurrency Kit hazard-pointer domain of this program: records with one pointer each. */
#ifndef BENCH_CK_HP_DOMAIN_H
#define BENCH_CK_HP_DOMAIN_H

#include <ck_hp.h>

/* What is called for every object that is reclaimed; a domain has one destructor for all. */
extern void (*bench_ck_hp_reclaimed)(struct ck_hp_hazard *hazard);

ck_hp_record_t *bench_ck_hp_record_get(void);
/* Reclaims what the record still has pending before it lets go of it. */
void bench_ck_hp_record_put(ck_hp_record_t *record);

#endif
