/* SPDX-License-Identifier: MIT */
/* Read section: found under a hazard pointer, counted under it, and put after it. */
#include <lull/ref_handoff.h>

#include "flavor_none.h"
#include "ref_count.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "refcount-hazptr"
#define FLAVOR_WHAT "lull refcount: from a hazard pointer to a reference, then put"

#define READ_STATE struct bench_ref_object *read_held
#define READ_BEGIN(p) (read_held = lull_ref_handoff_hazptr(&(p), head, count))
#define READ_END() ref_put(read_held)

#define REF_BODY bench_ref_refcount_hazptr
#define REF_NESTS 1
#include "ref_body.h"
