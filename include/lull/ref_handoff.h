/* SPDX-License-Identifier: MIT */
/*
 * ref_handoff.h - lull_ref_handoff: find an object, and take a reference to it.
 *
 * A shared pointer has a reference of its own to the object that it points to. A reader that wants a
 * reference too has to change the count. So something must keep the object allocated during that change, and
 * the reader must give up if the count is zero. There are four ways, and in each the last put must free the
 * object in another way:
 *
 *	find by		then count with		the last put, or release, frees it
 *	RCU		refcount		after a grace period: lull_rcu_call(), lull_rcu_free()
 *	hazard pointer	refcount		when no slot names it: lull_hazptr_call()
 *	hazard pointer	percpu_ref		when no slot names it, lull_percpu_ref_exit() at any time
 *	RCU		percpu_ref		after a grace period, lull_percpu_ref_exit() at any time
 *
 *	reader					updater
 *	keep *p there: section or slot		unpublish: gp = another one
 *	p = gp					drop the pointer's reference (put, or kill)
 *	count of *p up, unless it is zero	... the thread that drops the last one:
 *	leave the section, or clear the slot	    wait for readers that keep it, then free
 *	use *p for as long as it takes
 *	put
 *
 * A count of zero, or a dead ref, means that the pointer's own reference is gone. So the pointer leads
 * elsewhere by now, or is about to: load it again. The macros do all of that. They return the object with a
 * reference, or NULL when the pointer is NULL.
 *
 * Unpublish the object before you drop the pointer's reference, never after. Otherwise the thread that drops
 * the last reference waits for readers while new readers still find the object. And readers that find a count
 * of zero or a dead ref spin until the object is unpublished.
 *
 * Source: the kernel's get_file_rcu(), kref_get_unless_zero(); "hazptr to reference count" in
 * M. Desnoyers's hpref; docs of percpu_ref_tryget_live().
 */
#ifndef LULL_REF_HANDOFF_H
#define LULL_REF_HANDOFF_H

#include <lull/hazptr.h>
#include <lull/percpu_ref.h>
#include <lull/rcu.h>
#include <lull/refcount.h>

LULL_BEGIN_DECLS

/*
 * Find by RCU, count with a refcount. @src: the address of the shared pointer; @member: the struct
 * lull_refcount in the object. The caller need not be in a read section. Any context, signal handlers and
 * callbacks too.
 */
#define lull_ref_handoff_rcu(src, member)                                                          \
	lull__ref_handoff_rcu(src, lull_refcount_inc_not_zero(&lull__object->member))

/* Find by RCU, count with a percpu_ref. @member: the struct lull_percpu_ref. */
#define lull_ref_handoff_rcu_percpu(src, member)                                                   \
	lull__ref_handoff_rcu(src, lull_percpu_ref_tryget_live(&lull__object->member))

/*
 * Find by hazard pointer, count with a refcount. @head: the struct lull_head in the object with which it is
 * retired (lull_hazptr_call()); @member: the struct lull_refcount. Takes one of the thread's slots during the
 * call; if no slot is free, it brings one of its own, so it cannot fail. Contexts as for
 * lull_hazptr_acquire().
 */
#define lull_ref_handoff_hazptr(src, head, member)                                                 \
	lull__ref_handoff_hazptr(src, head, lull_refcount_inc_not_zero(&lull__object->member))

/* Find by hazard pointer, count with a percpu_ref. @member: the struct lull_percpu_ref. */
#define lull_ref_handoff_hazptr_percpu(src, head, member)                                          \
	lull__ref_handoff_hazptr(src, head, lull_percpu_ref_tryget_live(&lull__object->member))

/*
 * ORDER REF-3: the increment before the end of the section (RCU-3 is a release); pairs with REF-3
 * in lull__ref_handoff_rcu() (the thread that drops the last reference waits for readers, and only then
 * frees); without it the object is freed between the load of the pointer and the increment;
 * model/count/handoff-rcu.tpl
 */
#define lull__ref_handoff_rcu(src, count)                                                          \
	__extension__({                                                                            \
		__typeof__(src) lull__from = (src);                                                \
		__typeof__(lull_load_relaxed(lull__from)) lull__object;                            \
		bool lull__again;                                                                  \
		do {                                                                               \
			lull_rcu_read_lock();                                                      \
			lull__object = lull_rcu_dereference(*lull__from);                          \
			lull__again = lull__object && !(count);                                    \
			lull_rcu_read_unlock();                                                    \
		} while (lull_unlikely(lull__again));                                              \
		lull__object;                                                                      \
	})

/*
 * ORDER REF-4: the increment before the slot is cleared (HAZ-2 is a release); pairs with REF-4 in
 * lull__ref_handoff_hazptr() (the thread that drops the last reference retires the object); without it
 * the object is freed between the load of the pointer and the increment; model/count/handoff-hazptr.tpl
 */
#define lull__ref_handoff_hazptr(src, head, count)                                                 \
	__extension__({                                                                            \
		__typeof__(src) lull__from = (src);                                                \
		__typeof__(lull_load_relaxed(lull__from)) lull__object;                            \
		struct lull_hazptr_hold lull__keep;                                                \
		bool lull__again;                                                                  \
		do {                                                                               \
			lull__object = lull_hazptr_acquire_member(&lull__keep, lull__from, head);  \
			lull__again = lull__object && !(count);                                    \
			lull_hazptr_release(&lull__keep, lull__object);                            \
		} while (lull_unlikely(lull__again));                                              \
		lull__object;                                                                      \
	})

LULL_END_DECLS

#endif /* LULL_REF_HANDOFF_H */
