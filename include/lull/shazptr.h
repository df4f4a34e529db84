/* SPDX-License-Identifier: MIT */
/*
 * shazptr.h - simple hazard pointers: a reader says where its walk begins, an updater waits for that.
 *
 * Each thread has one slot. A reader writes an address into its slot, makes a full fence, and then walks;
 * when it is done it writes 0. The address need not be that of an object. It is a name on which readers and
 * updaters agree, as a rule the address of the place where the walk begins, for instance a hash bucket. An
 * updater unlinks an object and waits until no slot has the name; it does not wait for readers of other
 * places.
 *
 *	reader					updater
 *	slot = bucket		(full fence)	unlink A from bucket
 *	p = load pointer to A			full fence
 *	use *p					scan all slots: bucket is there, wait
 *	slot = 0		(release)	bucket is not (acquire): free A
 *
 * After the updater's fence either the updater sees the slot, or the reader's loads see the unlinking. The
 * reader loads nothing twice: its walk, after the fence, is itself the second look.
 *
 * When to use it. Each side makes its own fence, so nobody is interrupted. An updater that finds no reader
 * goes on after a fraction of a microsecond. This is cheaper for updaters than RCU and hazptr.h, and dearer
 * for readers. It is good for data that are read now and then and changed as often. If the speed of reading
 * counts, use rcu.h; to keep one object for long, use hazptr.h.
 *
 * A second acquisition inside the first, with any address, turns the slot into the *wildcard*, which holds up
 * all updaters. The slot stays the wildcard until all acquisitions are cleared, in any order. So signal
 * handlers may acquire any address, and nesting is for short sections.
 *
 * Waiting. An updater that finds its name in a slot sleeps. One of those that wait scans for all of them at
 * once: the first, and when it goes, the next. No thread is started for that. If the one that scans is not run,
 * or is in a signal handler, another one does it after a millisecond (after a long wait, 32). An updater no
 * longer waits for a slot that has been seen with another address or, if no scan happens to see that, has been
 * cleared. So readers that come again and again hold nobody up for ever.
 *
 * A forked child keeps what the forking thread had acquired. When a thread exits with something acquired,
 * lull clears it, with a line that says so.
 *
 * Source: B. Feng's simple hazard pointers for lockdep (Linux patches, 2025).
 */
#ifndef LULL_SHAZPTR_H
#define LULL_SHAZPTR_H

#include <lull/rcu.h>

LULL_BEGIN_DECLS

/* Values of a slot that are no address. */
#define LULL__SHAZPTR_WILDCARD (~(uintptr_t)0)
#define LULL__SHAZPTR_REST     (~(uintptr_t)1) /* nothing, and the next must go out of line */

/* Bits of a slot's state; a stamp of the updaters' clock is above them. */
#define LULL__SHAZPTR_WAITED 1u /* a thread sleeps until this slot is cleared */
#define LULL__SHAZPTR_LATE   2u /* the record is linked in until this slot is cleared; thread.h */
#define LULL__SHAZPTR_LOW    3u
#define LULL__SHAZPTR_STAMP  4u

LULL_API void lull__shazptr_acquire_slow(uintptr_t addr);
LULL_API void lull__shazptr_clear_slow(void);

/* Returned by an acquisition, passed to the clear that ends it. */
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
 * Acquire @ptr, the name of the place where the walk begins. Until this thread clears the guard, the objects
 * on the walk stay allocated, if updaters wait for @ptr before they free them. @ptr is never followed; any
 * address will do except NULL and the two highest addresses (debug builds check it). Cannot fail, never
 * blocks (except to link a new thread's record in). May be called with any lock held, in read sections, and
 * in signal handlers of threads that have used lull before; a handler clears the guard before it returns.
 */
LULL_INLINE struct lull_shazptr_guard lull_shazptr_acquire(const void *ptr)
{
	LULL__SHAZPTR_CHECK_ADDR((uintptr_t)ptr);
	return lull__shazptr_acquire((uintptr_t)ptr);
}

/* Acquire every name at once, for a reader that does not know beforehand where it will walk. */
LULL_INLINE struct lull_shazptr_guard lull_shazptr_acquire_wildcard(void)
{
	return lull__shazptr_acquire(LULL__SHAZPTR_WILDCARD);
}

/*
 * End the acquisition of @guard; do not use the objects that it protected any more. A thread that has several
 * guards may clear them in any order. Wakes a thread that sleeps for the slot (only then it makes a system
 * call). Same contexts.
 */
LULL_INLINE void lull_shazptr_clear(struct lull_shazptr_guard guard)
{
	LULL__SHAZPTR_CHECK_OWNER(guard.owner);
	if (lull_likely(lull__self.shazptr_nested == 0)) {
		/*
		 * ORDER SHAZ-2: all use of the objects before the 0; pairs with SHAZ-2 in
		 * lull__shazptr_visit() and look_for_all(); without it an object is freed while its last
		 * reader still reads; model/hazptr/shazptr-clear.litmus
		 */
		lull_store_release(&lull__self.shazptr, (uintptr_t)0);
		/* No fence: WAITED is not missed for long, see shazptr_nap_ns() in shazptr_scan.c. */
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
 * Acquire @ptr until the end of the enclosing block, however the block ends:
 *	{ LULL_SHAZPTR_GUARD(bucket); use(find(bucket, key)); }
 */
#define LULL_SHAZPTR_GUARD(ptr)                                                                    \
	LULL__GUARD(lull_shazptr_guard, lull__shazptr_guard_leave, lull_shazptr_acquire(ptr))

/*
 * Wait until each slot that has @ptr, or the wildcard, has once been seen with another value: then no reader
 * uses an object that was unlinked before the call. Sleeps while it waits; the reader that clears its slot
 * wakes the thread that scans for all that wait, which wakes the others. NULL: nothing to wait for. The timeout
 * form gives up after @timeout_ms and returns -ETIMEDOUT, else 0. Aborts when the calling thread's own slot has
 * @ptr or the wildcard, because that wait would never end. In read sections: yes, but they last as long as the
 * wait; an online thread stays online (rcu.h). In callbacks: yes. With locks held: not with locks that the
 * readers take. In signal handlers: no. After fork: yes.
 */
LULL_API void lull_shazptr_synchronize(const void *ptr);
LULL_API int lull_shazptr_synchronize_timeout(const void *ptr, uint64_t timeout_ms);

/*
 * Choose whether synchronize skips the caller's own scan and waits at once, until one for all is made; false at
 * the start. Skipping is slower when no reader is in the way, which is the rule; but then many threads that
 * wait at once share every scan. Holds for all threads, from the next call on. Any context.
 */
LULL_API void lull_shazptr_set_skip_self_scan(bool skip);
LULL_API bool lull_shazptr_skip_self_scan(void);

/* Count the scans of all slots since the start, without the first scan that each caller makes itself. Any context. */
LULL_API uint64_t lull_shazptr_scan_count(void);

LULL_END_DECLS

#include <lull/detail/tsan_shazptr.h>

#endif /* LULL_SHAZPTR_H */
