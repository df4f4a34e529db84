/* SPDX-License-Identifier: MIT */
/*
 * Operation that `lull refscale` measures: one read section = enter, load a shared pointer, read a field of the object,
 * leave; with hazard pointers: protect, read a field of the object, clear; with counts: load the pointer, get a
 * reference, read a field, put it. Each scheme's loops come from the same text (ref_body.h), compiled around its own
 * calls.
 */
#ifndef BENCH_REF_SCHEME_H
#define BENCH_REF_SCHEME_H

#include <stdint.h>

#include <lull/percpu_ref.h>
#include <lull/rcu.h>
#include <lull/refcount.h>

#include "flavor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_REF_OBJECTS \
	16 /* a ring of cells and objects, small enough to stay in the first-level cache */

struct bench_ref_cell;

struct bench_ref_object {
	uint64_t value;
	struct bench_ref_cell *next; /* where the chain goes on */
	/*
	 * For schemes that count. One reference is the ring's own and is never put, so the object stays while others
	 * are got and put.
	 */
	struct lull_refcount count;
	struct lull_percpu_ref percpu;
	struct lull_rcu_head head; /* by which a hazard pointer names it on the way to a count */
} __attribute__((aligned(64)));

/* A shared pointer on a line of its own. */
struct bench_ref_cell {
	struct bench_ref_object *object;
	void *smart[2]; /* the same as the C++ library's */
} __attribute__((aligned(64)));

struct bench_ref_data {
	struct bench_ref_cell cell[BENCH_REF_OBJECTS];
	struct bench_ref_object object[BENCH_REF_OBJECTS];
};

/*
 * The loops return a sum over what they read. read: the same pointer each time, sections
 * independent of each other, so the processor overlaps them: throughput. chain: the pointer to load
 * is found in the object that was read before, so a section adds its latency. hold: stays inside
 * for about hold_ns. nested: n times `depth` sections, or references, inside each other; NULL where
 * a thread cannot have more than one.
 */
struct bench_ref_scheme {
	const char *name;
	const char *what;
	void (*thread_enter)(void);
	void (*thread_leave)(void);
	uint64_t (*read)(struct bench_ref_data *data, uint64_t n);
	uint64_t (*chain)(struct bench_ref_data *data, uint64_t n);
	uint64_t (*hold)(struct bench_ref_data *data, uint64_t n, uint64_t hold_ns);
	uint64_t (*nested)(struct bench_ref_data *data, uint64_t n, unsigned depth);
	/*
	 * A scheme that needs something at run time, once, before there are threads: returns NULL,
	 * or what is wrong. May itself be NULL.
	 */
	const char *(*setup)(const struct bench_ref_scheme *scheme, struct bench_ref_data *data);
};

/* The setup of all that use bench_ref_object.percpu. */
const char *bench_ref_percpu_setup(const struct bench_ref_scheme *scheme,
				   struct bench_ref_data *data);

/* Busy-waits; the same for all schemes and never inlined, so that it does not change their code. */
void bench_ref_delay(uint64_t ns);

extern const struct bench_ref_scheme bench_ref_none, bench_ref_spinlock, bench_ref_mutex,
	bench_ref_rwlock, bench_ref_brlock, bench_ref_refcount, bench_ref_refcount_lock,
	bench_ref_refcount_rcu, bench_ref_refcount_hazptr, bench_ref_percpu_ref,
	bench_ref_percpu_ref_rcu, bench_ref_percpu_ref_hazptr, bench_ref_c11_atomic,
	bench_ref_shared_ptr, bench_ref_seqlock, bench_ref_rcu,
	bench_ref_rcu_qsbr, bench_ref_liburcu_memb, bench_ref_liburcu_mb, bench_ref_liburcu_qsbr,
	bench_ref_liburcu_bp, bench_ref_liburcu_memb_call, bench_ref_ck_epoch, bench_ref_ck_brlock, bench_ref_hazptr,
	bench_ref_hazptr_alloc, bench_ref_hazptr_hold, bench_ref_hazptr_fenced, bench_ref_hazptr_rcu,
	bench_ref_shazptr, bench_ref_shazptr_wildcard, bench_ref_rcu_domain, bench_ref_percpu_rwsem,
	bench_ref_store_fence_store, bench_ref_ck_hp,
	bench_ref_libcds_hp, bench_ref_xenium_hp, bench_ref_cxx_hazard_pointer,
	bench_ref_cxx_hazard_pointer_make, bench_ref_cxx_rcu, bench_ref_atomic_shared_ptr;

#ifdef __cplusplus
}
#endif

#endif
