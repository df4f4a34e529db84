/* SPDX-License-Identifier: MIT */
/*
 * kernel_count.h - refcount_t, kref and percpu_ref (part of kernel.h).
 *
 * refcount.h and percpu_ref.h say what each function does.
 */
#ifndef LULL_KERNEL_COUNT_H
#define LULL_KERNEL_COUNT_H

#include <lull/compat/kernel_part.h>
#include <lull/percpu_ref.h>
#include <lull/refcount.h>

/* ---- refcount_t ----------------------------------------------------------------------------------- */

typedef struct lull_refcount refcount_t;

#define REFCOUNT_INIT(n)   LULL_REFCOUNT_INIT(n)
#define REFCOUNT_SATURATED LULL_REFCOUNT_SATURATED
#define REFCOUNT_MAX	   INT_MAX

#define refcount_set	      lull_refcount_set
#define refcount_set_release  lull_refcount_set_release
#define refcount_read	      lull_refcount_read
#define refcount_inc	      lull_refcount_inc
#define refcount_dec	      lull_refcount_dec
#define refcount_dec_and_test lull_refcount_dec_and_test
#define refcount_inc_not_zero lull_refcount_inc_not_zero
#define refcount_inc_not_zero_acquire lull_refcount_inc_not_zero_acquire
#define refcount_dec_if_one   lull_refcount_dec_if_one
#define refcount_dec_not_one  lull_refcount_dec_not_one

/* These have the count behind the number. */
static inline void refcount_add(int i, refcount_t *r)
{
	lull_refcount_add(r, i);
}

static inline bool refcount_sub_and_test(int i, refcount_t *r)
{
	return lull_refcount_sub_and_test(r, i);
}

static inline bool refcount_add_not_zero(int i, refcount_t *r)
{
	return lull_refcount_add_not_zero(r, i);
}

/* ---- kref ------------------------------------------------------------------------------------------- */

struct kref {
	refcount_t refcount;
};

#define KREF_INIT(n)                                                                               \
	{                                                                                          \
		REFCOUNT_INIT(n)                                                                   \
	}

static inline void kref_init(struct kref *kref)
{
	lull_refcount_set(&kref->refcount, 1);
}

static inline unsigned kref_read(const struct kref *kref)
{
	return lull_refcount_read(&kref->refcount);
}

static inline void kref_get(struct kref *kref)
{
	lull_refcount_inc(&kref->refcount);
}

static inline bool kref_get_unless_zero(struct kref *kref)
{
	return lull_refcount_inc_not_zero(&kref->refcount);
}

/* Drop a reference. If it is the last, call @release and return 1, else return 0. */
static inline int kref_put(struct kref *kref, void (*release)(struct kref *kref))
{
	if (!lull_refcount_dec_and_test(&kref->refcount))
		return 0;
	release(kref);
	return 1;
}

/* ---- percpu_ref ------------------------------------------------------------------------------------- */

#define percpu_ref lull_percpu_ref
typedef lull_percpu_ref_func percpu_ref_func_t;

enum {
	PERCPU_REF_INIT_ATOMIC = LULL_PERCPU_REF_INIT_ATOMIC,
	PERCPU_REF_INIT_DEAD = LULL_PERCPU_REF_INIT_DEAD,
	PERCPU_REF_ALLOW_REINIT = LULL_PERCPU_REF_ALLOW_REINIT,
};

/* @gfp, how the kernel is to allocate, means nothing here. */
#define percpu_ref_init(ref, release, flags, gfp) lull_percpu_ref_init(ref, release, flags)
#define percpu_ref_exit		    lull_percpu_ref_exit
#define percpu_ref_kill		    lull_percpu_ref_kill
#define percpu_ref_kill_and_confirm lull_percpu_ref_kill_and_confirm
#define percpu_ref_switch_to_atomic lull_percpu_ref_switch_to_atomic
#define percpu_ref_switch_to_atomic_sync lull_percpu_ref_switch_to_atomic_sync
#define percpu_ref_switch_to_percpu lull_percpu_ref_switch_to_percpu
#define percpu_ref_resurrect	    lull_percpu_ref_resurrect
#define percpu_ref_reinit	    lull_percpu_ref_reinit
#define percpu_ref_get		    lull_percpu_ref_get
#define percpu_ref_get_many	    lull_percpu_ref_get_many
#define percpu_ref_tryget	    lull_percpu_ref_tryget
#define percpu_ref_tryget_many	    lull_percpu_ref_tryget_many
#define percpu_ref_tryget_live	    lull_percpu_ref_tryget_live
#define percpu_ref_tryget_live_rcu  lull_percpu_ref_tryget_live
#define percpu_ref_put		    lull_percpu_ref_put
#define percpu_ref_put_many	    lull_percpu_ref_put_many
#define percpu_ref_is_dying	    lull_percpu_ref_is_dying
#define percpu_ref_is_zero	    lull_percpu_ref_is_zero

#endif /* LULL_KERNEL_COUNT_H */
