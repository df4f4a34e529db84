/* SPDX-License-Identifier: MIT */
/*
 * Read section: a reference is got and put. The object is there anyway, the ring's own reference
 * keeps it, so this is what counting costs, and nothing of how the object was found.
 */
#include "flavor_none.h"
#include "ref_count.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "refcount"
#define FLAVOR_WHAT "lull refcount: get and put of an object that is known to be there"

#define READ_STATE struct bench_ref_object *read_held
#define READ_BEGIN(p) \
	(read_held = flavor_dereference(p), lull_refcount_inc(&read_held->count), read_held)
#define READ_END() ref_put(read_held)

#define REF_BODY bench_ref_refcount
#define REF_NESTS 1
#include "ref_body.h"
