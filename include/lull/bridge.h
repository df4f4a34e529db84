/* SPDX-License-Identifier: MIT */
/*
 * bridge.h - from RCU to hazard pointers: find it in a read section, keep it after the section.
 *
 * RCU is for finding: a reader walks over many objects and pays nothing for each. A hazard pointer
 * is for keeping: one object, over a blocking call, for as long as it takes. A reader that has found
 * an object in a read section may turn it into a hazard pointer by a plain store, provided the
 * object is reclaimed in this order: *first* a grace period, *then* a scan of all slots.
 *
 *	reader					updater
 *	read lock				unlink A
 *	p = find A				grace period: waits for the reader's section
 *	slot = A
 *	read unlock				scan all slots: A is there, keep A
 *	use *A, sleep, use *A
 *	slot = 0 (release)			(acquire) free A
 *
 * The section keeps A until the slot names it. The grace period ends after the section, so the scan of the
 * slots comes after the store: the reader needs no fence, no second load and no retry. Readers that only use
 * RCU, and readers that protect A by the functions of hazptr.h, are safe as well.
 *
 * In the opposite order (slots first, grace period second) a reader can name A after the scan of the slots.
 * lull_hazptr_call() with a callback that calls lull_rcu_call() has that order. There a reader must load the
 * pointer a second time: it uses lull_hazptr_tryprotect(), and not lull_hazptr_protect_rcu().
 */
#ifndef LULL_BRIDGE_H
#define LULL_BRIDGE_H

#include <lull/hazptr.h>
#include <lull/rcu.h>

LULL_BEGIN_DECLS

/*
 * Protect @p, an object that the caller found in this read section, and that updaters reclaim by
 * lull_rcu_call_hazptr() and lull_rcu_free_hazptr() only. @member is the struct lull_head in the object; the
 * _ptr form is for lull_rcu_free_hazptr(). Returns @p. NULL protects nothing. One store, cannot fail. Only in
 * a read section (debug builds check it), signal handlers included.
 */
#define lull_hazptr_protect_rcu(h, p, member)                                                      \
	__extension__({                                                                            \
		__typeof__(p) lull__found = (p);                                                   \
		lull__hazptr_set_rcu(h, LULL__CAST(uintptr_t, lull__found) + lull__member_offset(lull__found, member)); \
		lull__found;                                                                       \
	})
#define lull_hazptr_protect_rcu_ptr(h, p)                                                          \
	__extension__({                                                                            \
		__typeof__(p) lull__found = (p);                                                   \
		lull__hazptr_set_rcu(h, LULL__CAST(uintptr_t, lull__found));                       \
		lull__found;                                                                       \
	})

LULL_INLINE void lull__hazptr_set_rcu(struct lull_hazptr *h, uintptr_t addr)
{
	LULL__RCU_CHECK("lull_hazptr_protect_rcu");
	/*
	 * ORDER BRI-1: the slot before the end of the section (RCU-3 is a release); pairs with
	 * BRI-1 in scan_queue(), after the grace period; without it the scan misses
	 * a reader that kept the object; model/reclaim/bridge.litmus
	 */
	lull__hazptr_set(h, addr);
	LULL__HAZPTR_NOTE_LIGHT(h, addr);
}

/*
 * Protect @p in the same way, with a hold. Returns @p; if that is NULL, there is nothing to release.
 * Protects by the object's own address, or, in the _member form, by the address of @member.
 */
#define lull_hazptr_acquire_rcu(hold, p) lull__hazptr_acquire_rcu(hold, p, 0)
#define lull_hazptr_acquire_rcu_member(hold, p, member)                                            \
	lull__hazptr_acquire_rcu(hold, p, lull__member_offset(p, member))
#define lull__hazptr_acquire_rcu(hold, p, offset)                                                  \
	__extension__({                                                                            \
		struct lull_hazptr_hold *lull__hold = (hold);                                      \
		__typeof__(p) lull__found = (p);                                                   \
		lull__hazptr_set_rcu(lull__hazptr_hold_slot(lull__hold), LULL__CAST(uintptr_t, lull__found) + (offset)); \
		lull__hazptr_hold_end(lull__hold, lull__found);                                    \
		lull__found;                                                                       \
	})

/*
 * Wait for a grace period, then until no slot names the object, and then call @func(@head), or free(3) @ptr.
 * Contexts as for lull_hazptr_call() and lull_hazptr_retire(). The limits on what waits are those of
 * lull_rcu_call() and lull_rcu_free() (reclaim.h), because a section that stalls holds these objects up.
 * lull_hazptr_barrier() waits for them too.
 */
LULL_API void lull_rcu_call_hazptr(struct lull_head *head, lull_rcu_func func);
LULL_API void lull_rcu_call_hazptr_sized(struct lull_head *head, lull_rcu_func func, size_t bytes) LULL_NOEXCEPT;
LULL_API void lull_rcu_free_hazptr(void *ptr);
LULL__ENDS_IN_FREE(lull_rcu_free_hazptr);

LULL_END_DECLS

#include <lull/detail/tsan_bridge.h>

#endif /* LULL_BRIDGE_H */
