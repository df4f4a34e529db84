/* SPDX-License-Identifier: MIT */
/*
 * The limit of a hazard pointer with a full fence, and of a simple one: a store to a word of the
 * thread's own, a full fence, the read, a store.
 */
#include <lull/fence.h>

#include "flavor.h"

#define FLAVOR_NAME "store-fence-store"
#define FLAVOR_WHAT "store, full fence, store: the limit where readers fence; protects nothing"

static __thread struct {
	uintptr_t word;
} flavor_own __attribute__((aligned(64)));

static inline void flavor_thread_enter(void) {}
static inline void flavor_thread_leave(void) {}
static inline void flavor_quiescent(void) {}

static inline void flavor_name(const void *object)
{
	lull_store_release(&flavor_own.word, (uintptr_t)object);
	lull_fence_full();
}

#define READ_STATE __attribute__((unused)) int read_nothing
#define READ_BEGIN(p) (flavor_name(lull_load_relaxed(&(p))), lull_load_acquire(&(p)))
#define READ_END() lull_store_release(&flavor_own.word, (uintptr_t)0)

#define REF_BODY bench_ref_store_fence_store
#include "ref_body.h"
