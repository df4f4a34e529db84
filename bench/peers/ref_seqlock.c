/* SPDX-License-Identifier: MIT */
/*
 * Read section: a sequence lock. Readers store nothing; they read again when a writer was there
 * meanwhile. It protects values, not the memory they lie in: an object may not be freed under it.
 */
#include <lull/atomic.h>

#include "flavor.h"

#define REF_BODY bench_ref_seqlock
#define FLAVOR_NAME "seqlock"
#define FLAVOR_WHAT "sequence counter, read again after a writer; protects values, not memory"

static struct {
	uint32_t count; /* odd while a writer is at work */
} __attribute__((aligned(128))) flavor_shared;

static inline void flavor_thread_enter(void) {}
static inline void flavor_thread_leave(void) {}
static inline void flavor_quiescent(void) {}

static inline uint32_t seqlock_begin(void)
{
	uint32_t count;

	while ((count = lull_load_acquire(&flavor_shared.count)) & 1)
		lull_cpu_relax();
	return count;
}

/* The loads inside are acquires, so this one comes after them. */
#define REF_READ(cell, sum, following)                                          \
	do {                                                                    \
		struct bench_ref_object *ref_object;                            \
		uint32_t ref_count;                                             \
		uint64_t ref_value;                                             \
                                                                                \
		do {                                                            \
			ref_count = seqlock_begin();                            \
			ref_object = lull_load_acquire(&(cell)->object);        \
			ref_value = lull_load_acquire(&ref_object->value);      \
			(following) = lull_load_acquire(&ref_object->next);     \
			REF_HOLD();                                             \
		} while (lull_load_relaxed(&flavor_shared.count) != ref_count); \
		(sum) += ref_value;                                             \
	} while (0)

#include "ref_body.h"
