/* SPDX-License-Identifier: MIT */
/* Read section: a lock around the lookup, and a count that keeps the object afterwards. */
#include "flavor_spinlock.h"
#include "ref_count.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "refcount-lock"
#define FLAVOR_WHAT "spin lock for the lookup, then a reference count in the object"

#define READ_STATE struct bench_ref_object *read_held
#define READ_BEGIN(p)                                                  \
	(flavor_read_lock(), read_held = flavor_dereference(p),        \
	 lull_refcount_inc(&read_held->count), flavor_read_unlock(), read_held)
#define READ_END() ref_put(read_held)

#define REF_BODY bench_ref_refcount_lock
#define REF_NESTS 1
#include "ref_body.h"
