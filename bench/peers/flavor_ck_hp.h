/* SPDX-License-Identifier: MIT */
/*
 * Concurrency Kit's hazard pointers: a record per thread, one pointer in each. The library has no
 * call for "protect": its documentation says set, fence, look again, and clear by setting to NULL.
 */
#include <ck_hp.h>

#include "ck_hp_domain.h"
#include "flavor.h"

#define FLAVOR_NAME "ck-hp"
#define FLAVOR_WHAT "Concurrency Kit hazard pointers, in a record that the thread keeps"
#define FLAVOR_KEEPS 1
#define FLAVOR_HAS_GP 1

static __thread ck_hp_record_t *flavor_slot;

static inline void flavor_thread_enter(void) { flavor_slot = bench_ck_hp_record_get(); }
static inline void flavor_thread_leave(void) { bench_ck_hp_record_put(flavor_slot); }
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
	bench_ck_hp_reclaimed = func;
	ck_hp_free(flavor_slot, hazard, hazard, hazard);
}
static inline void flavor_barrier(void) { ck_hp_purge(flavor_slot); }
static inline void flavor_poll(void) {}
