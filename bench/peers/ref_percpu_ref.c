/* SPDX-License-Identifier: MIT */
/*
 * Read section: a reference of a percpu_ref is got and put. The object is there anyway, as with
 * "refcount". Where this process has no restartable sequences
 * (GLIBC_TUNABLES=glibc.pthread.rseq=0, say) the same row shows counters shared out among threads.
 */
#include "flavor_none.h"
#include "ref.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "percpu_ref"
#define FLAVOR_WHAT "lull percpu_ref: get and put of an object that is known to be there"

static void released(struct lull_percpu_ref *ref)
{
	(void)ref;
	abort(); /* the ring's own reference is never put */
}

const char *bench_ref_percpu_setup(const struct bench_ref_scheme *scheme,
				   struct bench_ref_data *data)
{
	size_t i;

	(void)scheme;
	for (i = 0; i < BENCH_REF_OBJECTS; i++)
		if (!data->object[i].percpu.data &&
		    lull_percpu_ref_init(&data->object[i].percpu, released, 0) != 0)
			return "there is no memory for counters";
	return NULL;
}

#define READ_STATE struct bench_ref_object *read_held
#define READ_BEGIN(p) \
	(read_held = flavor_dereference(p), lull_percpu_ref_get(&read_held->percpu), read_held)
#define READ_END() lull_percpu_ref_put(&read_held->percpu)

#define REF_SETUP bench_ref_percpu_setup
#define REF_BODY bench_ref_percpu_ref
#define REF_NESTS 1
#include "ref_body.h"
