/* SPDX-License-Identifier: MIT */
/*
 * rcu.h - read-copy update: readers that cost two stores, updaters that wait for them.
 *
 * A reader brackets its accesses with lull_rcu_read_lock() and lull_rcu_read_unlock(). An updater unlinks an
 * object, so that no new reader can find it, and waits for a *grace period*: the time until every read
 * section that was going on has ended. Then no reader has the object any more, and the updater may free it.
 * Sections never wait and never fail; they nest, and signal handlers may use them.
 *
 * How it works. Each thread has one 64-bit word: 0 outside a section, else the number of the newest grace
 * period that the thread knew when it entered, shifted left, with the nesting depth (less one) in the low
 * bits, up to 512. A grace period makes one heavy fence, then stores its number for new sections to carry, and reads
 * every thread's word once. It need not wait for a thread whose word is 0, or carries the new number or a
 * later one. Any other thread may hold an object from before, so the grace period waits until that thread's
 * word changes.
 *
 *	reader					grace period n+1
 *	word = n	(light fence)		unlink A
 *	p = load pointer to A			heavy fence
 *						number = n+1
 *	use *p					sees word == n: waits
 *	word = 0	(store-release)		sees word == 0 (load-acquire): free A
 *
 * After the heavy fence either the updater sees the word, or the reader's loads come so late that they see
 * the unlinking. One pass is enough because numbers never wrap (52 bits: 14 years of one grace period each
 * 100 ns): nobody can mistake an old word for a newer one. A scan may miss the 0 and see the entry of the
 * *next* section; so every store to the word is a release, not only the one that leaves. docs/ORDERING.md has
 * the whole argument, and model/ has the proofs.
 *
 * The heavy fence is for readers that make light ones. So a grace period makes none if no thread is registered but
 * the one that begins it, or if all the others are online, as below. (To sleep for a reader takes one more.) lull's
 * own threads are among the others while they run, and not while they sleep. Threads that only update are not registered.
 * So where no thread is registered, any number of them may wait at once, and none makes a heavy fence, or sleeps.
 *
 * Quiescent-state threads. A thread that runs an event loop can go *online*. It then counts as being in one
 * endless section, and its read sections cost no instruction. Now and then, when it holds no pointer, it
 * calls lull_rcu_quiescent(). It goes offline around calls that block. Both kinds of threads may read the
 * same data at the same time.
 *
 * Sources: P. McKenney and J. Slingwine, "Read-Copy Update" (1998); Linux kernel/rcu; M. Desnoyers
 * et al., "User-Level Implementations of Read-Copy Update" (2012), whose two-phase counter this
 * replaces.
 */
#ifndef LULL_RCU_H
#define LULL_RCU_H

#include <lull/check.h>
#include <lull/fence.h>
#include <lull/thread.h>

LULL_BEGIN_DECLS

/* The word: number | flags | depth - 1. */
#define LULL__RCU_DEPTH 0x3ffu /* nesting depth - 1 */
#define LULL__RCU_FAR	0x200u /* from this depth on the lock goes out of line, and the depth is in rcu_deep */
#define LULL__RCU_SLOW	0x400u /* the outermost unlock must go out of line */
#define LULL__RCU_REST	0x800u /* outside, or not inside for sure yet: the next lock must go out of line */
#define LULL__RCU_LOW	0xfffu
#define LULL__RCU_STEP	0x1000u /* one grace period */

/* Number of the newest grace period whose fence is done. Written by its leader alone. */
extern LULL_API uint64_t lull__rcu_gp;

LULL_API void lull__rcu_read_lock_slow(void) LULL_NOEXCEPT;
LULL_API void lull__rcu_read_unlock_slow(void) LULL_NOEXCEPT;
LULL_API void lull__rcu_wake(void) LULL_NOEXCEPT;
LULL_API void lull__rcu_misuse(const char *what) __attribute__((noreturn, cold));

#ifdef LULL_DEBUG
/* Return an address in the function that this is inlined into: where the section was entered. */
LULL_INLINE const void *lull__here(void)
{
	const void *here;

	lull__instruction_pointer(here);
	return here;
}

/* Tell tracers that the outermost section begins, and that it ends. */
LULL_API void lull__rcu_probe_enter(const void *site);
LULL_API void lull__rcu_probe_exit(void);
#endif

/*
 * Enter a read section. Every object that was reachable at any time in the section stays allocated until the
 * outermost unlock. Cannot fail, never blocks (except to link a new thread's record in). May be nested 2^32
 * deep; past 512 each lock is a call with a full fence, until the outermost section ends. Debug builds say once, at a
 * depth of 1000, that an unlock may be missing, and go on. May be called with any lock held, and in signal handlers
 * (of threads that have used lull before: thread.h). A forked child keeps the section that the forking thread was in.
 */
LULL_INLINE void lull_rcu_read_lock(void)
{
	if (lull_likely(lull_own_is_zero(&lull__self.rcu))) {
		/*
		 * Relaxed: the number is stored after the heavy fence of its grace period, so a
		 * thread that reads it comes after that fence (RCU-7), and so do its loads.
		 */
		uint64_t number = lull_load_relaxed(&lull__rcu_gp);

		/*
		 * ORDER RCU-4: the previous section's loads before this section's word; pairs with
		 * RCU-3 in gp_scan(), which may see this store and never the 0 in between; without
		 * it an object is freed under the previous section; model/rcu/reentry.litmus
		 */
		lull_store_release(&lull__self.rcu, number);
		/*
		 * ORDER RCU-2: the word before the section's loads; pairs with RCU-2 in gp_begin()
		 * (heavy). A light fence: where that is a real one, the word rests at
		 * LULL__RCU_REST and we are not here; without it the scan misses a reader that
		 * found the object; model/rcu/enter.tpl
		 */
		lull_compiler_barrier();
	} else if (lull_likely(lull_own_low_is_zero(&lull__self.rcu, LULL__RCU_REST | LULL__RCU_FAR) &&
			       !lull_own_is_zero(&lull__self.rcu) /* a handler has just registered the thread */)) {
		/*
		 * ORDER RCU-6: an earlier section's loads before this word; pairs with RCU-3 in
		 * gp_scan(), which may see this store and not the entry before it; without it as
		 * RCU-4; model/rcu/nested.litmus
		 */
		lull_own_add_release(&lull__self.rcu, 1);
	} else {
		lull__rcu_read_lock_slow();
	}
#ifdef LULL_DEBUG
	if (!lull__self.rcu_site) {
		lull_store_relaxed(&lull__self.rcu_site, lull__here());
		lull__rcu_probe_enter(lull__self.rcu_site);
	}
#endif
}

/*
 * Leave a read section. After the outermost unlock do not use any pointer that was read in the section. Wakes
 * a grace period that sleeps for this thread. If the thread has deferred past a limit in the section, it pays here, and
 * may wait for a moment (reclaim.h). Only then, and to wake, it makes a system call. Same contexts as the lock.
 */
LULL_INLINE void lull_rcu_read_unlock(void)
{
#ifdef LULL_DEBUG
	uint64_t word = lull__self.rcu;

	if (lull_unlikely(word < LULL__RCU_STEP))
		lull__rcu_misuse("lull_rcu_read_unlock: not in a read section");
	if ((word & LULL__RCU_DEPTH) + lull__self.rcu_deep == (lull__self.state & LULL__STATE_ONLINE ? 1u : 0u)) {
		lull__rcu_probe_exit();
		lull_store_relaxed(&lull__self.rcu_site, (const void *)NULL);
	}
#endif
	if (lull_likely(lull_own_low_is_zero(&lull__self.rcu, LULL__RCU_LOW))) {
		/*
		 * ORDER RCU-3: the section's loads before the 0; pairs with RCU-3 in gp_scan()
		 * (acquire); without it an object is freed while its last reader still reads;
		 * model/rcu/exit.litmus
		 */
		lull_store_release(&lull__self.rcu, (uint64_t)0);
		/*
		 * ORDER RCU-5: the 0 before the load of the flag; pairs with RCU-5 in
		 * gp_wait_holdouts() (flag, heavy, load the word again). A light fence, see
		 * RCU-2; without it the grace period sleeps for ever; model/rcu/wake.tpl
		 */
		lull_compiler_barrier();
		if (lull_unlikely(lull_nonzero_relaxed(&lull__self.flags)))
			lull__rcu_wake();
	} else if (lull_likely(!lull_own_low_is_zero(&lull__self.rcu, LULL__RCU_DEPTH))) {
		/* RCU-6 again, on the way out: the word keeps its number. */
		lull_own_add_release(&lull__self.rcu, -(uint64_t)1);
	} else {
		LULL__TSAN_RELEASE(&lull__self.rcu);
		lull__rcu_read_unlock_slow();
	}
}

/* Is the calling thread in a read section, or online? For assertions. Any context. */
LULL_INLINE bool lull_rcu_read_lock_held(void)
{
	return lull__self.rcu >= LULL__RCU_STEP;
}

/* Is the calling thread in a section that it has entered by a lock? */
LULL_INLINE bool lull__rcu_in_section(void)
{
	if (lull__self.state & LULL__STATE_ONLINE)
		return (lull__self.rcu & LULL__RCU_DEPTH) || lull__self.rcu_deep;
	return lull__self.rcu >= LULL__RCU_STEP;
}

#ifdef LULL_DEBUG
LULL_API void lull__rcu_check_section(const char *what);
#define LULL__RCU_CHECK(what) lull__rcu_check_section(what)

/* Check that a reader may fetch what is at @at, of @size, in the call @what. */
LULL_INLINE void *lull__rcu_check_fetch(const char *what, const void *at, size_t size)
{
	lull__rcu_check_section(what);
	if (size == sizeof(void *))
		lull__check_found(what, at);
	return (void *)(uintptr_t)at;
}

#define LULL__RCU_CHECK_FETCH(what, at)                                                            \
	LULL__CAST(__typeof__(at), lull__rcu_check_fetch(what, LULL__ANY(at), sizeof(*(at))))
#else
#define LULL__RCU_CHECK(what)		((void)0)
#define LULL__RCU_CHECK_FETCH(what, at) (at)
#endif

/*
 * Enter a read section that ends with the enclosing block, however the block ends:
 *	{ LULL_RCU_GUARD(); use(lull_rcu_dereference(config)); }
 */
struct lull_rcu_guard {
	int held;
};

LULL_INLINE struct lull_rcu_guard lull__rcu_guard_enter(void)
{
	struct lull_rcu_guard guard = { 1 };

	lull_rcu_read_lock();
	return guard;
}

LULL_INLINE void lull__rcu_guard_leave(struct lull_rcu_guard *guard)
{
	(void)guard;
	lull_rcu_read_unlock();
}

#define LULL_RCU_GUARD() LULL__GUARD(lull_rcu_guard, lull__rcu_guard_leave, lull__rcu_guard_enter())

/*
 * Fetch a pointer that updaters change; @p is the pointer variable itself. The reader sees everything that
 * the updater stored in the object before it published the object. Call it only in a read section. Debug
 * builds check that, and also that nobody retired the object before the section began. They evaluate @p
 * twice.
 *
 * ORDER RCU-9: load the pointer before what is read through it; pairs with RCU-9 in
 * lull_rcu_assign(); without it a reader sees an object before its contents;
 * model/rcu/publish.litmus (Acquire, not a plain load that hopes for the data dependency: compilers
 * may break that.)
 */
#define lull_rcu_dereference(p) lull_load_acquire(LULL__RCU_CHECK_FETCH("lull_rcu_dereference", &(p)))

/* Fetch @p as an updater that holds the update lock. No other thread changes it: no order is needed. */
#define lull_rcu_dereference_protected(p)                                                          \
	lull_load_relaxed(LULL__CHECK_UPDATE("lull_rcu_dereference_protected", &(p)))

/* Read the value of such a pointer without following it (to test for NULL, say). Any context. */
#define lull_rcu_access(p) lull_load_relaxed(&(p))

/*
 * Publish @v in the pointer variable @p: readers that fetch it also see everything that was stored before.
 * The caller holds the lock that orders updates (debug builds check this if they know the lock: check.h). Any
 * context.
 *
 * ORDER RCU-9: the object's contents before the pointer; pairs with RCU-9 in
 * lull_rcu_dereference(); without it a reader sees an object before its contents;
 * model/rcu/publish.litmus
 */
#define lull_rcu_assign(p, v) lull_store_release(LULL__CHECK_UPDATE("lull_rcu_assign", &(p)), (v))

/* Publish @v in @p and return the previous pointer, to be retired. The caller holds the update lock. */
#define lull_rcu_replace(p, v)                                                                     \
	__extension__({                                                                            \
		__typeof__(&(p)) lull__place = &(p);                                               \
		__typeof__(p) lull__old = lull_load_relaxed(lull__place);                          \
		lull_rcu_assign(*lull__place, v);                                                  \
		lull__old;                                                                         \
	})

/*
 * Wait for a grace period: when this returns, every read section that was going on at the call has ended.
 * Blocks; callers that wait at the same time share one grace period. An online thread counts as quiescent
 * while it waits here. Aborts in a read section (it would wait for itself). Not in signal handlers. Cannot
 * fail. lull reports a grace period that takes too long, see debug.h. There is no separate expedited form:
 * this one is expedited.
 */
LULL_API void lull_rcu_synchronize(void);

/*
 * Polled grace periods. gp_start() returns a cookie, which stands for "all read sections that are going on
 * now have ended". It starts that grace period, unless another one is still open. gp_poll() says, without
 * waiting, whether the cookie's grace period is over; it also pushes the open grace period along (one heavy
 * fence at most). gp_wait() blocks like synchronize. Only one grace period is open at a time. So a cookie is
 * over when all sections that began before the *next* grace period have ended, however many cookies were
 * taken meanwhile. A cookie never expires. Call gp_start and gp_poll also in read sections and with locks
 * held; none of the three in signal handlers.
 */
typedef uint64_t lull_rcu_cookie;
LULL_API lull_rcu_cookie lull_rcu_gp_start(void);
LULL_API bool lull_rcu_gp_poll(lull_rcu_cookie cookie);
LULL_API void lull_rcu_gp_wait(lull_rcu_cookie cookie);

/*
 * Call @func(@head) after a grace period, on the reclaimer's thread (see reclaim.h), with signals blocked and
 * no lock held. The head is embedded in the object. @func may defer calls, synchronize, and free; it must
 * return (no exception, no pthread_exit). Nothing is allocated per call. May be called in read sections, with
 * locks held, in callbacks; not in signal handlers. Cannot fail. call_sized() takes the number of @bytes that
 * wait with the object, for the limits on the backlog; call() counts the head alone.
 */
struct lull_head;
typedef void (*lull_rcu_func)(struct lull_head *head) LULL__NOEXCEPT_TYPE;
struct lull_head {
	struct lull_head *next;
	lull_rcu_func func;
};
/* The name that the kernel's users know, for the same type: one head serves RCU and hazard pointers. */
#define lull_rcu_head lull_head

LULL_API void lull_rcu_call(struct lull_head *head, lull_rcu_func func);
LULL_API void lull_rcu_call_sized(struct lull_head *head, lull_rcu_func func, size_t bytes) LULL_NOEXCEPT;

/*
 * Do the same for a callback that is pure: @func only frees memory. It takes no lock that a thread may hold while it
 * defers, waits for nothing, and may run in any thread. In return the thread that defers runs it, a few in its later
 * calls, while the memory is still in its cache: as fast as lull_rcu_free(). So @func may run inside call_pure(),
 * under the locks that are held there, and with signals not blocked. No deferral runs it in a read section or in an
 * online thread, nor in a callback; what a thread defers only there, and what it leaves behind, is up to the
 * reclaimer, and past a limit to the thread when its section ends. Same contexts, and the limits are those of memory (reclaim.h).
 */
LULL_API void lull_rcu_call_pure(struct lull_head *head, lull_rcu_func func);
LULL_API void lull_rcu_call_pure_sized(struct lull_head *head, lull_rcu_func func, size_t bytes) LULL_NOEXCEPT;

/*
 * free(3) @ptr after a grace period; NULL is ignored. The object needs no head for that. No user code runs,
 * so the calling thread frees the memory itself, a few objects at a time in later calls, while they are still
 * in its cache; the reclaimer frees the rest. Same contexts as lull_rcu_call(). free_sized() takes the size
 * of the object; free() has to read that size beside the object, which is one more cache miss if another
 * processor wrote it. In C++ neither compiles for objects that have a destructor, or may have one (incomplete
 * types; a void * passes). Do not pass in an object that comes from new; if it has no destructor, only the
 * address sanitizer finds that mistake.
 */
LULL_API void lull_rcu_free(void *ptr);
LULL_API void lull_rcu_free_sized(void *ptr, size_t bytes);
LULL__ENDS_IN_FREE(lull_rcu_free);
LULL__ENDS_IN_FREE(lull_rcu_free_sized);

/*
 * Wait until everything that any thread deferred before the call has been called or freed. Wait also for what
 * those callbacks deferred, and so on, 16 generations deep. Takes about one wake-up and one grace period per
 * generation. Blocks. Aborts in a read section and in a callback. Not in signal handlers.
 */
LULL_API void lull_rcu_barrier(void);

/*
 * Quiescent-state threads. online(): from here on grace periods assume that this thread may hold pointers at
 * any time, except in quiescent() (and in synchronize, gp_wait and the barriers). offline() ends that; go
 * offline around everything that may block. They do not nest. Each aborts where it makes no sense: online
 * when online, the others when offline, quiescent and offline inside a nested section. A thread that exits
 * online goes offline first. While an online thread waits in synchronize, gp_wait or a barrier, or pays
 * in quiescent() for what it has deferred past a limit (reclaim.h), it is offline: its signal handlers must use the
 * ordinary read lock.
 */
LULL_API void lull_rcu_online(void);
LULL_API void lull_rcu_offline(void);
LULL_API void lull__rcu_quiescent_slow(uint64_t number);

LULL_INLINE void lull_rcu_quiescent(void)
{
	uint64_t number = lull_load_relaxed(&lull__rcu_gp);

	LULL__TSAN_RELEASE(&lull__self.rcu);
	if (lull_unlikely(lull__self.rcu != number))
		lull__rcu_quiescent_slow(number);
}

/*
 * Enter and leave a read section in code that only online threads run: no instruction at all. The
 * ordinary form works there too (it counts as nested); code that both kinds of threads run uses it.
 */
LULL_INLINE void lull_rcu_online_read_lock(void)
{
#ifdef LULL_DEBUG
	if (!(lull__self.state & LULL__STATE_ONLINE))
		lull__rcu_misuse("lull_rcu_online_read_lock: thread is not online");
#endif
}

LULL_INLINE void lull_rcu_online_read_unlock(void)
{
#ifdef LULL_DEBUG
	if (!(lull__self.state & LULL__STATE_ONLINE))
		lull__rcu_misuse("lull_rcu_online_read_unlock: thread is not online");
#endif
}

LULL_END_DECLS

#include <lull/detail/tsan_rcu.h>

#endif /* LULL_RCU_H */
