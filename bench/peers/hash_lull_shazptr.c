/* SPDX-License-Identifier: MIT */
/*
 * Hash table: a simple hazard pointer on the bucket. Updaters wait, one bucket's readers at most,
 * and then free.
 */
#include "flavor_lull_shazptr.h"

#define HASH_BODY bench_hash_shazptr
#define HASH_HOLDS_UP "the bucket"
#define HASH_THREAD_BYTES sizeof(struct lull__thread)
#define HASH_READ_LOCK(bucket) struct flavor_guard hash_guard = flavor_mark(bucket)
#define HASH_READ_UNLOCK(bucket) flavor_unmark(hash_guard)
/* In hash_replace(), whose bucket it is. */
#define HASH_RETIRE(element)                   \
	do {                                   \
		flavor_synchronize_on(bucket); \
		free(element);                 \
	} while (0)

#include "hash_body.h"
