/* SPDX-License-Identifier: MIT */
/* Read section: acquire and release of a lull hold, which cannot fail. */
#include "flavor_lull_hazptr.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "hazptr-hold"
#define FLAVOR_WHAT "lull hazard pointer, acquired and released with a hold on the stack"

#define READ_STATE                                     \
	__attribute__((unused)) const void *read_kept; \
	struct lull_hazptr_hold read_hold
#define READ_BEGIN(p)                                                             \
	__extension__({                                                           \
		__typeof__(p) read_found = lull_hazptr_acquire(&read_hold, &(p)); \
                                                                                  \
		read_kept = read_found;                                           \
		read_found;                                                       \
	})
#define READ_END() lull_hazptr_release(&read_hold, read_kept)

#define REF_BODY bench_ref_hazptr_hold
#define REF_NESTS 1
#include "ref_body.h"
