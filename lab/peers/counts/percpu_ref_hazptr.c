/* SPDX-License-Identifier: MIT */
/* Read section: found under a hazard pointer, counted under it unless killed, and put after it. */
#include <lull/ref_handoff.h>

#include "flavor_none.h"
#include "ref_scheme.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "percpu_ref-hazptr"
#define FLAVOR_WHAT "lull percpu_ref: from a hazard pointer to a reference, then put"

#define READ_STATE struct bench_ref_object *read_held
#define READ_BEGIN(p) (read_held = lull_ref_handoff_hazptr_percpu(&(p), head, percpu))
#define READ_END() lull_percpu_ref_put(&read_held->percpu)

#define REF_SETUP bench_ref_percpu_setup
#define REF_BODY bench_ref_percpu_ref_hazptr
#define REF_NESTS 1
#include "ref_body.h"
