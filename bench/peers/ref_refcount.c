/* SPDX-License-Identifier: MIT */
/* Read section: a lock around the lookup, and a count that keeps the object afterwards. */
#include "flavor_spinlock.h"
#define REF_BODY bench_ref_refcount

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "refcount"
#define FLAVOR_WHAT "spin lock for the lookup, then a reference count in the object"

#define REF_READ(cell, sum, following)                                             \
	do {                                                                       \
		struct bench_ref_object *ref_object;                               \
                                                                                   \
		flavor_read_lock();                                                \
		ref_object = flavor_dereference((cell)->object);                   \
		lull_add_relaxed(&ref_object->count, 1);                           \
		flavor_read_unlock();                                              \
		(sum) += ref_object->value;                                        \
		(following) = ref_object->next;                                    \
		REF_HOLD();                                                        \
		if (lull_add_acq_rel(&ref_object->count, (uint64_t)-1) == 1)       \
			abort(); /* the table's own reference is never put here */ \
	} while (0)

#include "ref_body.h"
