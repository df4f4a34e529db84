/* SPDX-License-Identifier: MIT */
/*
 * hazptr_fenced.h - hazard pointers with full fences, for threads that must not be interrupted.
 *
 * The heavy fence of hazptr.h interrupts every processor that runs a thread of the process. Here readers make
 * a full fence themselves, one locked instruction per protection, and updaters make only a fence of their
 * own. The slots are those of hazptr.h, but the two families must not be mixed freely. If updaters retire an
 * object, or wait for it, by the functions below, readers must protect it by the functions below. Debug builds
 * say so once if a synchronize of below finds a reader that has protected the object by hazptr.h. (Readers may
 * use these functions also for objects that updaters retire by hazptr.h, which does more than they need.)
 *
 * Other parts of lull still make heavy fences: the reclaimer, when it sleeps and when it takes over the objects
 * that an idle or exited thread has not reclaimed; grace periods; updates and resizes of a lull_hash that sleep
 * for a bucket; kills and switches of a percpu_ref. LULL_FENCE=full (fence.h) stops them all.
 *
 * Errors and contexts are those of the functions of the same name in hazptr.h.
 */
#ifndef LULL_HAZPTR_FENCED_H
#define LULL_HAZPTR_FENCED_H

#include <lull/hazptr.h>

LULL_BEGIN_DECLS

LULL_API void *lull__hazptr_fenced_protect_again(struct lull_hazptr *h, const void *src, uintptr_t seen,
					       uintptr_t offset);

LULL_INLINE void lull__hazptr_fenced_set(struct lull_hazptr *h, uintptr_t addr)
{
	LULL__HAZPTR_NOTE_LIGHT(h, 0);
	/*
	 * ORDER HAZ-6: the slot before the second load of the pointer, by a full fence; pairs with
	 * HAZ-6 in lull__hazptr_fence(); without it the scan misses a reader that found the object;
	 * model/hazptr/fenced.litmus
	 */
	lull_store_fence(&h->addr, addr); /* HAZ-2: release */
	if (lull_unlikely(lull_low_nonzero_relaxed(&h->state, LULL__HAZPTR_LOW & ~LULL__HAZPTR_FULL)))
		lull__hazptr_slow(h);
}

/*
 * Stop protecting what @h protects. This makes no fence: a thread that goes to sleep for this slot at this
 * very moment may miss the change, but after a while it looks again by itself.
 */
LULL_INLINE void lull_hazptr_fenced_clear(struct lull_hazptr *h)
{
	lull_store_release(&h->addr, (uintptr_t)0); /* HAZ-2 */
	lull_compiler_barrier();
	if (lull_unlikely(lull_low_nonzero_relaxed(&h->state, LULL__HAZPTR_LOW & ~LULL__HAZPTR_FULL)))
		lull__hazptr_slow(h);
}

/* HAZ-3 as in lull__hazptr_tryprotect(). */
#define lull__hazptr_fenced_tryprotect(h, gp, offset)                                                \
	__extension__({                                                                            \
		struct lull_hazptr *lull__h = (h);                                                 \
		__typeof__(lull_load_relaxed(&(gp))) lull__first = lull_load_relaxed(&(gp));       \
		__typeof__(lull__first) lull__second;                                              \
		lull__hazptr_fenced_set(lull__h, LULL__CAST(uintptr_t, lull__first) + (offset));   \
		lull__second = lull_load_acquire(&(gp));                                           \
		if (lull_unlikely(LULL__CAST(uintptr_t, lull__first) != LULL__CAST(uintptr_t, lull__second))) { \
			lull_hazptr_fenced_clear(lull__h);                                           \
			lull__second = NULL;                                                       \
		}                                                                                  \
		lull__second;                                                                      \
	})
#define lull_hazptr_fenced_tryprotect(h, gp, member)                                                 \
	lull__hazptr_fenced_tryprotect(h, gp, lull__member_offset(gp, member))
#define lull_hazptr_fenced_tryprotect_ptr(h, gp) lull__hazptr_fenced_tryprotect(h, gp, 0)

/* HAZ-3 as in lull__hazptr_protect(). */
#define lull__hazptr_fenced_protect(h, gp, offset)                                                   \
	__extension__({                                                                            \
		struct lull_hazptr *lull__h = (h);                                                 \
		__typeof__(lull_load_relaxed(&(gp))) lull__first = lull_load_relaxed(&(gp));       \
		__typeof__(lull__first) lull__second;                                              \
		lull__hazptr_fenced_set(lull__h, LULL__CAST(uintptr_t, lull__first) + (offset));   \
		lull__second = lull_load_acquire(&(gp));                                           \
		if (lull_unlikely(LULL__CAST(uintptr_t, lull__first) != LULL__CAST(uintptr_t, lull__second))) \
			lull__second = LULL__CAST(__typeof__(lull__first), lull__hazptr_fenced_protect_again( \
				lull__h, LULL__ANY(&(gp)), LULL__CAST(uintptr_t, lull__second), (offset))); \
		lull__second;                                                                      \
	})
#define lull_hazptr_fenced_protect(h, gp, member)                                                    \
	lull__hazptr_fenced_protect(h, gp, lull__member_offset(gp, member))
#define lull_hazptr_fenced_protect_ptr(h, gp) lull__hazptr_fenced_protect(h, gp, 0)

LULL_API void lull_hazptr_fenced_call(struct lull_head *head, lull_rcu_func func);
LULL_API void lull_hazptr_fenced_retire(void *ptr);
LULL__ENDS_IN_FREE(lull_hazptr_fenced_retire);
LULL_API void lull_hazptr_fenced_synchronize(const void *addr);
LULL_API int lull_hazptr_fenced_synchronize_range_timeout(const void *addr, size_t len, uint64_t timeout_ms);

LULL_END_DECLS

#include <lull/detail/tsan_hazptr_fenced.h>

#endif /* LULL_HAZPTR_FENCED_H */
