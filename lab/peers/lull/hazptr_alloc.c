/* SPDX-License-Identifier: MIT */
/* Read section: lull hazard pointer, whose slot is taken from the thread's context for each use. */
#include "flavor_lull_hazptr.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "hazptr-alloc"
#define FLAVOR_WHAT "lull hazard pointer, in a slot that is allocated and freed each time"

/* No look whether there was a free slot: this thread has two of its eight. */
#define READ_STATE struct lull_hazptr *read_slot
#define READ_BEGIN(p)                                                 \
	(read_slot = lull_hazptr_alloc(lull_hazptr_thread_context()), \
	 lull_hazptr_protect_ptr(read_slot, p))
#define READ_END() lull_hazptr_free(lull_hazptr_thread_context(), read_slot)

#define REF_BODY bench_ref_hazptr_alloc
#include "ref_body.h"
