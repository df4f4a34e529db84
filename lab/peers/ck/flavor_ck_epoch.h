/* SPDX-License-Identifier: MIT */
/*
 * Concurrency Kit's epochs. A thread needs a record; ck never frees one, so records are made once and recycled.
 * Sections are entered without a ck_epoch_section, which is its cheaper form.
 */
#include <ck_epoch.h>

#include "flavor.h"
#include "ck_epoch_records.h"

#define FLAVOR_NAME "ck-epoch"
#define FLAVOR_WHAT "Concurrency Kit epochs"
#define FLAVOR_HAS_GP 1

static __thread ck_epoch_record_t *flavor_record;

static inline void flavor_thread_enter(void) { flavor_record = bench_ck_record_get(); }
static inline void flavor_thread_leave(void) { bench_ck_record_put(flavor_record); }
static inline void flavor_read_lock(void) { ck_epoch_begin(flavor_record, NULL); }
static inline void flavor_read_unlock(void) { ck_epoch_end(flavor_record, NULL); }
static inline void flavor_quiescent(void) {}

#define flavor_dereference(p) ck_pr_load_ptr(&(p))
#define flavor_assign(p, v) (ck_pr_fence_store(), ck_pr_store_ptr(&(p), (v)))
#define flavor_head ck_epoch_entry

static inline void flavor_synchronize(void) { ck_epoch_synchronize(flavor_record); }
static inline void flavor_call(struct ck_epoch_entry *entry, void (*func)(struct ck_epoch_entry *))
{
	ck_epoch_call(flavor_record, entry, func);
}
static inline void flavor_barrier(void) { ck_epoch_barrier(flavor_record); }
/*
 * Every 64th update, as in the published comparison: a poll moves the epoch on and frees what it
 * can.
 */
static inline void flavor_poll(void)
{
	static __thread unsigned updates;

	if (++updates % 64 == 0)
		ck_epoch_poll(flavor_record);
}
