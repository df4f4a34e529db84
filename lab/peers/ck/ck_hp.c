/* SPDX-License-Identifier: MIT */
/*
 * Concurrency Kit's hazard pointers: a record per thread, one pointer in each. The library has no
 * call for "protect": its documentation says set, fence, look again, and clear by setting to NULL.
 */
#include <ck_hp.h>
#include <pthread.h>
#include <stdlib.h>

#include "flavor.h"

/* ---- the one domain, and its records: made on demand, recycled for ever ---------------------- */

#define DEGREE 1
#define THRESHOLD 64 /* retired objects before a scan, as in the published comparison */

/* Called for every object that is reclaimed: a domain has one destructor for all. */
static void (*reclaimed)(struct ck_hp_hazard *hazard);

static ck_hp_t domain;
static pthread_once_t domain_once = PTHREAD_ONCE_INIT;

static void destroy(void *hazard)
{
	reclaimed(hazard);
}

static void domain_init(void)
{
	ck_hp_init(&domain, DEGREE, THRESHOLD, destroy);
}

static ck_hp_record_t *record_get(void)
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

/* Reclaim what the record still has pending, then give it back. */
static void record_put(ck_hp_record_t *record)
{
	ck_hp_set(record, 0, NULL);
	ck_hp_purge(record);
	ck_hp_unregister(record);
}

/* ---- the flavor ------------------------------------------------------------------------------ */

#define FLAVOR_NAME "ck-hp"
#define FLAVOR_WHAT "Concurrency Kit hazard pointers, in a record that the thread keeps"
#define FLAVOR_KEEPS 1
#define FLAVOR_HAS_GP 1

static __thread ck_hp_record_t *flavor_slot;

static inline void flavor_thread_enter(void) { flavor_slot = record_get(); }
static inline void flavor_thread_leave(void) { record_put(flavor_slot); }
static inline void flavor_quiescent(void) {}

#define flavor_keep(slot, p)                                  \
	__extension__({                                       \
		__typeof__(p) keep_first;                     \
                                                              \
		do {                                          \
			keep_first = ck_pr_load_ptr(&(p));    \
			ck_hp_set_fence(slot, 0, keep_first); \
		} while (ck_pr_load_ptr(&(p)) != keep_first); \
		keep_first;                                   \
	})
#define flavor_drop(slot) (ck_pr_fence_release(), ck_hp_set(slot, 0, NULL))
#define flavor_assign(p, v) (ck_pr_fence_store(), ck_pr_store_ptr(&(p), (v)))
#define flavor_head ck_hp_hazard

/* The hazard must be at the beginning of the object. */
static inline void flavor_call(struct ck_hp_hazard *hazard, void (*func)(struct ck_hp_hazard *))
{
	reclaimed = func;
	ck_hp_free(flavor_slot, hazard, hazard, hazard);
}
static inline void flavor_barrier(void) { ck_hp_purge(flavor_slot); }
static inline void flavor_poll(void) {}

#define REF_BODY bench_ref_ck_hp
#include "ref_body.h"

#define GP_NO_WAIT
#define GP_NO_CALL
#define GP_POLLED 1 /* reclaimed by the thread that retires */
#define GP_BODY bench_gp_ck_hp
#include "gp_body.h"
