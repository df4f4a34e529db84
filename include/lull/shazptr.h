/* SPDX-License-Identifier: MIT */
/*
 * shazptr.h - simple hazard pointers: a reader says from where it walks, an updater waits for that.
 *
 * Each thread has one slot. A reader writes an address into it, makes a full fence, and then walks;
 * when it is done it writes 0. The address need not be that of an object: it is a name on which
 * readers and updaters agree, as a rule the place where the walk begins, say a hash bucket's. An
 * updater unlinks an object and waits until no slot has the name: readers elsewhere do not matter.
 *
 *	reader					updater
 *	slot = bucket		(full fence)	unlink A from bucket
 *	p = load pointer to A			full fence
 *	use *p					look at all slots: bucket is there, wait
 *	slot = 0		(release)	bucket is not (acquire): free A
 *
 * After the updater's fence the slot is seen, or the reader's loads see the unlinking. Nothing is
 * looked at twice by the reader: the walk itself, after the fence, is the validation.
 *
 * What for. Both sides pay for their own fence, so nobody is interrupted, and an updater that finds
 * nobody goes on after a fraction of a microsecond: less than RCU and hazptr.h ask from an updater,
 * for a dearer read side. Good for data that are read now and then and changed as often. Where
 * reading is what counts use rcu.h; to keep one object for long, hazptr.h.
 *
 * A second acquisition inside the first, with any address, turns the slot into the *wildcard*,
 * which holds up all updaters; it stays that until the last of them is cleared, in whatever order
 * they are. So signal handlers may use what they like, and nesting is for short sections.
 *
 * Waiting. An updater who finds its name in a slot sleeps, and a thread of lull's ("lull-scan",
 * started when first needed) looks for all who wait at once. A slot counts as passed once it has
 * been seen to say something else or, should that never happen to be seen, once it has been
 * cleared: readers that come again and again hold nobody up for ever.
 *
 * A forked child keeps what the forking thread had acquired. What a thread has acquired when it
 * exits is cleared, with a line that says so.
 *
 * Source: B. Feng's simple hazard pointers for lockdep (Linux patches, 2025).
 */
#ifndef LULL_SHAZPTR_H
#define LULL_SHAZPTR_H

#include <lull/rcu.h>

LULL_BEGIN_DECLS

/* What a slot says that is no address. */
#define LULL__SHAZPTR_WILDCARD (~(uintptr_t)0)
#define LULL__SHAZPTR_REST     (~(uintptr_t)1) /* nothing, and the next must go out of line */

/* Bits of a slot's state; a stamp of the updaters' clock is above them. */
#define LULL__SHAZPTR_WAITED 1u /* somebody sleeps until this slot is cleared */
#define LULL__SHAZPTR_LATE   2u /* the record is linked in until this slot is cleared; thread.h */
#define LULL__SHAZPTR_LOW    3u
#define LULL__SHAZPTR_STAMP  4u

LULL_API void lull__shazptr_acquire_slow(uintptr_t addr);
LULL_API void lull__shazptr_clear_slow(void);

/* What an acquisition gives and its end takes. */
struct lull_shazptr_guard {
	const struct lull__thread *owner;
};

#ifdef LULL_DEBUG
LULL_API void lull__shazptr_check_addr(uintptr_t addr);
LULL_API void lull__shazptr_check_owner(const struct lull__thread *owner);
#define LULL__SHAZPTR_CHECK_ADDR(addr)	 lull__shazptr_check_addr(addr)
#define LULL__SHAZPTR_CHECK_OWNER(owner) lull__shazptr_check_owner(owner)
#else
#define LULL__SHAZPTR_CHECK_ADDR(addr)	 ((void)0)
#define LULL__SHAZPTR_CHECK_OWNER(owner) ((void)(owner))
#endif

LULL_INLINE struct lull_shazptr_guard lull__shazptr_acquire(uintptr_t addr)
{
	struct lull_shazptr_guard guard = { &lull__self };

	if (lull_likely(lull__self.shazptr == 0)) {
		/*
		 * ORDER SHAZ-1: the slot before the caller's loads; pairs with SHAZ-1 in
		 * synchronize_until(); without it the scan misses a reader that found the object;
		 * model/hazptr/shazptr-enter.litmus
		 */
		lull_store_fence(&lull__self.shazptr, addr);
	} else {
		lull__shazptr_acquire_slow(addr);
	}
	return guard;
}

/*
 * What is reached from now on from what @ptr stands for, and is freed by updaters who wait for
 * @ptr, stays until the guard is cleared by this thread. @ptr is never followed; any address will
 * do but NULL and the last two of all (debug builds check it). Cannot fail, never blocks (but for
 * linking a new thread's record in). With any lock held, in read sections, in signal handlers (of
 * threads that have used lull before, and cleared again before the handler returns).
 */
LULL_INLINE struct lull_shazptr_guard lull_shazptr_acquire(const void *ptr)
{
	LULL__SHAZPTR_CHECK_ADDR((uintptr_t)ptr);
	return lull__shazptr_acquire((uintptr_t)ptr);
}

/* The same for whatever anybody waits for: the reader cannot tell beforehand where it will walk. */
LULL_INLINE struct lull_shazptr_guard lull_shazptr_acquire_wildcard(void)
{
	return lull__shazptr_acquire(LULL__SHAZPTR_WILDCARD);
}

/*
 * The end of an acquisition; nothing that it protected may be used any more. Of several that this
 * thread has, in any order. Wakes who sleeps for it (a system call, then only). Same contexts.
 */
LULL_INLINE void lull_shazptr_clear(struct lull_shazptr_guard guard)
{
	LULL__SHAZPTR_CHECK_OWNER(guard.owner);
	if (lull_likely(lull__self.shazptr_nested == 0)) {
		/*
		 * ORDER SHAZ-2: all use of the objects before the 0; pairs with SHAZ-2 in
		 * lull__shazptr_look() and copy_slots(); without it an object is freed while its last
		 * reader still reads; model/hazptr/shazptr-clear.litmus
		 */
		lull_store_release(&lull__self.shazptr, (uintptr_t)0);
		/* No fence: see nap_ns() in src/hazptr/shazptr.c for why WAITED is not missed for long. */
		if (lull_unlikely(
			    lull_low_nonzero_relaxed(&lull__self.shazptr_state, LULL__SHAZPTR_LOW)))
			lull__shazptr_clear_slow();
	} else {
		/* The slot stays a wildcard, whichever of the acquisitions this is. */
		lull_store_relaxed(&lull__self.shazptr_nested, lull__self.shazptr_nested - 1);
	}
}

LULL_INLINE void lull__shazptr_guard_leave(struct lull_shazptr_guard *guard)
{
	lull_shazptr_clear(*guard);
}

/*
 * An acquisition until the end of the enclosing block, however that is left:
 *	{ LULL_SHAZPTR_GUARD(bucket); use(find(bucket, key)); }
 */
#define LULL_SHAZPTR_GUARD(ptr)                                                                    \
	struct lull_shazptr_guard LULL__CAT(lull__shazptr_guard, __LINE__)                         \
		__attribute__((cleanup(lull__shazptr_guard_leave), unused)) =                      \
			lull_shazptr_acquire(ptr)

/*
 * Wait until each slot that says @ptr, or is a wildcard, has once been seen to say something else:
 * who could find what was unlinked before the call is done with it. Sleeps while it waits; the
 * reader that clears its slot wakes lull-scan, and that the caller. NULL: nothing to wait for. The
 * timeout form gives up after @timeout_ms and returns -ETIMEDOUT, else 0. Aborts when the calling
 * thread's own slot says @ptr or is a wildcard, which would never end. In read sections: yes, but
 * they last as long; an online thread stays online (rcu.h). In callbacks: yes. With locks held: not
 * such as the readers take. In signal handlers: no. After fork: yes. Where no thread can be
 * started, each who waits looks for itself.
 */
LULL_API void lull_shazptr_synchronize(const void *ptr);
LULL_API int lull_shazptr_synchronize_timeout(const void *ptr, uint64_t timeout_ms);

/*
 * Whether synchronize leaves out the look by the caller, and leaves it all to lull-scan; false at
 * the start. Slower where nobody is in the way, which is the rule; but many who wait at once then
 * share every look at the slots. For all threads, from the next call on. Any context.
 */
LULL_API void lull_shazptr_set_skip_self_scan(bool skip);
LULL_API bool lull_shazptr_skip_self_scan(void);

/* Looks at all slots for who waits, after the first by the caller, since the start. Any context. */
LULL_API uint64_t lull_shazptr_scan_count(void);

LULL_END_DECLS

#endif /* LULL_SHAZPTR_H */
