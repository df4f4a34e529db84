/* SPDX-License-Identifier: MIT */
/* lull's lock for many readers, which each CPU counts. No writer comes here. */
#include <lull/percpu_rwsem.h>

#include "flavor.h"

#define FLAVOR_NAME "percpu_rwsem"
#define FLAVOR_WHAT "lull percpu_rwsem, held for reading"

static struct {
	struct lull_percpu_rwsem sem;
} __attribute__((aligned(128))) flavor_shared;

static inline void flavor_thread_enter(void) {}
static inline void flavor_thread_leave(void) {}
static inline void flavor_read_lock(void) { lull_percpu_rwsem_read_lock(&flavor_shared.sem); }
static inline void flavor_read_unlock(void) { lull_percpu_rwsem_read_unlock(&flavor_shared.sem); }
static inline void flavor_quiescent(void) {}

#define flavor_dereference(p) lull_load_relaxed(&(p))

#include "ref_scheme.h"

static const char *rwsem_setup(const struct bench_ref_scheme *scheme, struct bench_ref_data *data)
{
	(void)scheme;
	(void)data;
	if (!flavor_shared.sem.chunk)
		lull_percpu_rwsem_init(&flavor_shared.sem);
	return flavor_shared.sem.chunk ? NULL : "there is no memory for counters";
}

/* Does not nest: a writer may come between two locks of one reader. */
#define REF_SETUP rwsem_setup
#define REF_BODY bench_ref_percpu_rwsem
#include "ref_body.h"
