/* SPDX-License-Identifier: MIT */
/* Putting a reference to an object of refscale's ring. */
#include "ref_scheme.h"

static inline void ref_put(struct bench_ref_object *object)
{
	if (__builtin_expect(lull_refcount_dec_and_test(&object->count), 0))
		abort(); /* the ring's own reference is never put */
}
