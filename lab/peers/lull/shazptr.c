/* SPDX-License-Identifier: MIT */
/* lull's simple hazard pointers. */
#include "flavor_lull_shazptr.h"

#define REF_BODY bench_ref_shazptr
#define REF_NESTS 1
#include "ref_body.h"

/* The waits: the readers are elsewhere. */
#define GP_ENTER() lull_thread_register()
#define GP_LEAVE() lull_thread_unregister()
#define GP_NO_CALL
#define GP_BODY bench_gp_shazptr
#include "gp_body.h"

/*
 * The hash table: readers mark the bucket. Updaters wait, for the readers of one bucket at most,
 * and then free.
 */

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
