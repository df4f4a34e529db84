/* SPDX-License-Identifier: MIT */
/*
 * Hash table: found in an RCU section, counted per CPU in it, read after it. Each element has
 * counters of its own on each CPU, and ends with a membarrier: not what percpu_ref is for, and here
 * to show it.
 */
#include <lull/percpu_ref.h>

#include "flavor_lull_rcu.h"
#include "hash.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "percpu_ref"
#define FLAVOR_WHAT "lull RCU for the lookup, then a per-CPU reference count of the element"

static void hash_release(struct lull_percpu_ref *ref)
{
	struct bench_hash_element *element =
		lull_container_of(ref, struct bench_hash_element, percpu);

	lull_percpu_ref_exit(ref);
	flavor_free_sized(element, sizeof(*element));
}

static void hash_make(struct bench_hash_element *element)
{
	if (lull_percpu_ref_init(&element->percpu, hash_release, 0) != 0)
		bench_hash_no_memory();
}

#define HASH_BODY bench_hash_percpu_ref
#define HASH_SECTION "percpu_ref-rcu"
#define HASH_HOLDS_UP "its element"
#define HASH_READER_MAY_BLOCK true
#define HASH_OBJECT_BYTES sizeof(struct lull_percpu_ref)
/* What a ref takes from the heap is found in the heap; it may be much more than a lock. */
#define HASH_BUCKET_BYTES BENCH_HASH_MEASURED
#define HASH_CPU_BYTES (2 * sizeof(intptr_t))
#define HASH_THREAD_BYTES sizeof(struct lull__thread)
#define HASH_DEFERRED bench_hash_lull_deferred
#define HASH_MAKE(element) hash_make(element)
#define HASH_UNMAKE(element) lull_percpu_ref_exit(&(element)->percpu)
#define HASH_HOLD(element) lull_percpu_ref_tryget_live(&(element)->percpu)
#define HASH_DROP(element) lull_percpu_ref_put(&(element)->percpu)
#define HASH_RETIRE(element) lull_percpu_ref_kill(&(element)->percpu)
/* Counters shared out among threads are summed up in a callback, which frees by another. */
#define HASH_BARRIER() (flavor_barrier(), flavor_barrier())

#include "hash_body.h"
