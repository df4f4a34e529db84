/* SPDX-License-Identifier: MIT */
/*
 * refcount.h - one count of references in the object: it saturates instead of wrapping.
 *
 * A holder of a reference may use the object and take further references for others. The last put frees the
 * object. A thread that holds no reference calls lull_refcount_inc_not_zero(), which takes none if the count
 * is zero. Something else must keep the object allocated during that call (RCU, a hazard pointer:
 * ref_handoff.h).
 *
 * With a plain counter one put too many, or four billion gets too many, free an object that is in use. This
 * counter stops instead: an increment from zero, a decrement below zero and a count past INT_MAX set it to
 * LULL_REFCOUNT_SATURATED, in the middle of the negative numbers. There it stays, however many gets and puts
 * follow. The object is never freed: that is a leak, but no use after free. One line through the message hook
 * (debug.h) names the call and the counter's address. Wrong gets and puts at the same moment cannot bring the
 * counter back to zero: that would take 2^30 of them. No counter can detect one put too many while others
 * still hold references, or a put without a reference right after a get from zero.
 *
 * A count has two limits. Every get and put writes to the counter's cache line, so threads that share an
 * object slow each other down; with percpu_ref.h and hazptr.h they do not. And a get orders nothing: the
 * thread must have got the pointer in a way that shows it the object's contents (lull_rcu_dereference(), a
 * lock). If memory is reused for another object of the same type, that is not enough: use
 * lull_refcount_inc_not_zero_acquire().
 *
 * All calls: any context, signal handlers and callbacks included; never block; no allocation.
 * Source: refcount_t of the Linux kernel; the saturation scheme is that of its lib/refcount.c.
 */
#ifndef LULL_REFCOUNT_H
#define LULL_REFCOUNT_H

#include <limits.h>

#include <lull/atomic.h>
#include <lull/detail/abi.h>

LULL_BEGIN_DECLS

struct lull_refcount {
	int count; /* > 0: references; 0: none left; < 0: saturated */
};

#define LULL_REFCOUNT_SATURATED (INT_MIN / 2)
#define LULL_REFCOUNT_INIT(n)	{ (n) }

/* Saturate @r, which @call changed by @change when it was @old, and report it, once for each counter. */
LULL_API void lull__refcount_misuse(struct lull_refcount *r, const char *call, int old, int change)
	LULL_NOEXCEPT __attribute__((cold));

/* Set the count to @n > 0. No other thread may use @r yet. */
LULL_INLINE void lull_refcount_set(struct lull_refcount *r, int n)
{
	lull_store_relaxed(&r->count, n);
}

/*
 * Set the count of an object in reused memory: other threads may still take it for the previous
 * object of the same type. A thread that takes a reference with
 * lull_refcount_inc_not_zero_acquire() sees all that was written to the object before this call.
 */
LULL_INLINE void lull_refcount_set_release(struct lull_refcount *r, int n)
{
	/*
	 * ORDER REF-2: the new object's fields before its count; pairs with REF-2 in
	 * lull_refcount_inc_not_zero_acquire(); without it a thread that gets a reference reads
	 * fields of the object that was there before; model/count/refcount-reuse.litmus
	 */
	lull_store_release(&r->count, n);
}

/* Return the count at some moment. For people and assertions, not for decisions. */
LULL_INLINE unsigned lull_refcount_read(const struct lull_refcount *r)
{
	return (unsigned)lull_load_relaxed(&r->count);
}

/* Check that @n > 0 may be added to @old, the count before. */
LULL_INLINE void lull__refcount_check_add(struct lull_refcount *r, const char *call, int old, int n)
{
	if (lull_unlikely(old <= 0 || old > INT_MAX - n))
		lull__refcount_misuse(r, call, old, n);
}

/* Take @n > 0 more references; the caller already holds one. */
LULL_INLINE void lull_refcount_add(struct lull_refcount *r, int n)
{
	lull__refcount_check_add(r, "lull_refcount_add", lull_add_relaxed(&r->count, n), n);
}

/* Take one more reference; the caller already holds one. */
LULL_INLINE void lull_refcount_inc(struct lull_refcount *r)
{
	lull__refcount_check_add(r, "lull_refcount_inc", lull_add_relaxed(&r->count, 1), 1);
}

/* Check that @n may be subtracted from @old, the count before. Returns whether they were the last. */
LULL_INLINE bool lull__refcount_check_sub(struct lull_refcount *r, const char *call, int old, int n)
{
	if (lull_likely(old > n))
		return false;
	if (lull_unlikely(old != n || old <= 0)) {
		lull__refcount_misuse(r, call, old, -n);
		return false;
	}
	return true;
}

LULL_INLINE bool lull__refcount_sub(struct lull_refcount *r, const char *call, int n)
{
	/*
	 * ORDER REF-1: this thread's use of the object before its references are gone; pairs with
	 * REF-1 in lull__refcount_sub() (the last put); without it the object is freed under a
	 * use that is still on its way; model/count/refcount-put.litmus
	 */
	int old = lull_add_release(&r->count, -n);

	if (!lull__refcount_check_sub(r, call, old, n))
		return false;
	/*
	 * ORDER REF-1: the last put before the caller's free; pairs with REF-1 in
	 * lull__refcount_sub() (the puts before it); without it as there;
	 * model/count/refcount-put.litmus
	 */
	(void)lull_load_acquire(&r->count);
	return true;
}

/*
 * Drop @n > 0 references. Returns true if they were the last: then the caller alone owns the object, and sees
 * everything that other threads did to it.
 */
LULL_INLINE bool lull_refcount_sub_and_test(struct lull_refcount *r, int n)
{
	return lull__refcount_sub(r, "lull_refcount_sub_and_test", n);
}

LULL_INLINE bool lull_refcount_dec_and_test(struct lull_refcount *r)
{
	return lull__refcount_sub(r, "lull_refcount_dec_and_test", 1);
}

/* Drop a reference that the caller knows not to be the last; if it is the last, that is misuse. */
LULL_INLINE void lull_refcount_dec(struct lull_refcount *r)
{
	/* REF-1: the thread that drops the last one acquires. */
	int old = lull_add_release(&r->count, -1);

	if (lull_unlikely(old <= 1))
		lull__refcount_misuse(r, "lull_refcount_dec", old, -1);
}

LULL_INLINE bool lull__refcount_add_not_zero(struct lull_refcount *r, const char *call, int n)
{
	int old = lull_load_relaxed(&r->count);

	do {
		if (old == 0)
			return false;
	} while (!lull_cas_relaxed(&r->count, &old, (int)((unsigned)old + (unsigned)n)));
	if (lull_unlikely(old < 0 || old > INT_MAX - n))
		lull__refcount_misuse(r, call, old, n);
	return true;
}

/*
 * Take @n > 0 references. If the count is zero, returns false and changes nothing. Something else must keep
 * the object allocated during the call. Returns true for a saturated counter.
 */
LULL_INLINE bool lull_refcount_add_not_zero(struct lull_refcount *r, int n)
{
	return lull__refcount_add_not_zero(r, "lull_refcount_add_not_zero", n);
}

LULL_INLINE bool lull_refcount_inc_not_zero(struct lull_refcount *r)
{
	return lull__refcount_add_not_zero(r, "lull_refcount_inc_not_zero", 1);
}

/*
 * Take a reference to an object whose memory may meanwhile hold another object of the same type, with a count
 * that was set by lull_refcount_set_release(). Fields that the caller reads afterwards are those of the
 * object that it has counted, so it can check which object it got.
 */
LULL_INLINE bool lull_refcount_inc_not_zero_acquire(struct lull_refcount *r)
{
	bool got = lull__refcount_add_not_zero(r, "lull_refcount_inc_not_zero_acquire", 1);

	/*
	 * ORDER REF-2: the count before the object's fields; pairs with REF-2 in
	 * lull_refcount_set_release(); without it as there; model/count/refcount-reuse.litmus
	 */
	if (got)
		(void)lull_load_acquire(&r->count);
	return got;
}

/* Drop the last reference, or none. Returns true if there was exactly one: the object is the caller's. */
LULL_INLINE bool lull_refcount_dec_if_one(struct lull_refcount *r)
{
	int one = 1;

	/* REF-1: it is the last put, which acquires. */
	return lull_cas_acquire(&r->count, &one, 0);
}

/* Drop a reference, but not the last: returns false if it is the last. Returns true for a saturated counter. */
LULL_INLINE bool lull_refcount_dec_not_one(struct lull_refcount *r)
{
	int old = lull_load_relaxed(&r->count);

	do {
		if (old == 1)
			return false;
		if (old <= 0) {
			if (old == 0)
				lull__refcount_misuse(r, "lull_refcount_dec_not_one", old, -1);
			return true;
		}
		/* REF-1: the thread that drops the last one acquires. */
	} while (!lull_cas_release(&r->count, &old, old - 1));
	return true;
}

LULL_END_DECLS

#endif /* LULL_REFCOUNT_H */
