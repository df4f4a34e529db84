/* SPDX-License-Identifier: MIT */
/*
 * Read section: a count as <stdatomic.h> has it, taken up and down, and a look whether it was the
 * last. No other checks: it wraps, and does not notice a put too many.
 */
#include <stdatomic.h>

#include "flavor_none.h"
#include "ref_scheme.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "c11-atomic"
#define FLAVOR_WHAT "C11 atomic_fetch_add() and atomic_fetch_sub() on a count in the object"

_Static_assert(sizeof(atomic_int) == sizeof(((struct bench_ref_object *)0)->count),
	       "in the place of lull's count");

static inline atomic_int *flavor_count(struct bench_ref_object *object)
{
	return (atomic_int *)&object->count.count;
}

static inline struct bench_ref_object *flavor_get(struct bench_ref_object *object)
{
	atomic_fetch_add_explicit(flavor_count(object), 1, memory_order_relaxed);
	return object;
}

static inline void flavor_put(struct bench_ref_object *object)
{
	if (atomic_fetch_sub_explicit(flavor_count(object), 1, memory_order_acq_rel) == 1)
		abort(); /* the ring's own reference is never put */
}

#define READ_STATE struct bench_ref_object *read_held
#define READ_BEGIN(p) (read_held = flavor_get(flavor_dereference(p)))
#define READ_END() flavor_put(read_held)

#define REF_BODY bench_ref_c11_atomic
#define REF_NESTS 1
#include "ref_body.h"
