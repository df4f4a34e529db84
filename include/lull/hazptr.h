/* SPDX-License-Identifier: MIT */
/*
 * hazptr.h - hazard pointers: a reader names the object it uses, an updater frees none that is named.
 *
 * A reader writes the address of the object into a slot that all updaters can see, and checks whether the object can
 * still be found. If so, nobody frees it until the slot's address changes: as long as the reader likes, over blocking
 * calls too. An updater unlinks an object and retires it; lull reclaims it when no slot has its address. The slot holds
 * up no other object, so a reader that sleeps costs one object per slot and no more.
 *
 *	reader					updater
 *	p = load pointer to A			unlink A
 *	slot = A		(light fence)	heavy fence
 *	load pointer again: still A?		scan all slots:
 *	use *A					  A is there: keep A
 *	slot = 0		(release)	  A is not (acquire): free A
 *
 * After the heavy fence either the updater sees the slot, or the reader's second load sees the unlinking and
 * the reader tries again. The second load is an acquire: the compiler may take the object's address from
 * either load, and A may have been freed and come back in between.
 *
 * Reader and updater must use the same address of an object. There are two: that of the struct lull_head in
 * the object, which the updater gives to lull_hazptr_call() (`member` below); and the object's own address,
 * for the _ptr forms, holds, lull_hazptr_retire() and lull_hazptr_synchronize(). lull cannot detect a mix-up.
 * Make the head the first member of the object: then both addresses are the same. To wait for a whole object,
 * wherever in it slots may point, use lull_hazptr_synchronize_range().
 *
 * Slots come in contexts of eight. Each thread has a context of its own. A program may have more contexts,
 * any number, on the stack and on the heap. Or it uses holds: a struct lull_hazptr_hold takes one of the
 * thread's slots or, when all of them are in use, the slot inside it, so that it cannot fail.
 *
 * One thread at a time. A context, its slots, and a hold belong to the thread that set them up. To hand one to another
 * thread, detach it first, then hand it over (by a lock, a queue: any release and acquire). Debug builds check this.
 * When a thread exits, the slots that it has not detached stop protecting: if one did protect something, a line says
 * so, and a later use of the slot aborts. Clean up a context on a stack, and release a hold on a stack, before its
 * frame ends, also when the frame ends by pthread_exit() or a cancellation; else the thread's exit aborts. (If a hold
 * has one of the thread's own slots, only its protection ends, with a line that says so.)
 *
 * How much waits. A thread that retires (lull_hazptr_retire) also reclaims. Whatever readers do, and however long they
 * stall, at most 4096 + 128 * threads + 3 * slots retired objects wait, of all threads together; `slots` is the number
 * of slots of all threads and contexts. (When more than 4096 wait, and more than twice the slots, each thread that
 * retires scans what it has retired. If that is not enough, one thread frees for all; the others wait for it, for a
 * second at most if it does not run.) Of the objects given to lull_hazptr_call(), at most one per slot waits, and those
 * that came in while the reclaimer was busy (reclaim.h).
 *
 * Objects that callbacks retire are reclaimed after the callbacks have returned, and count from then on.
 *
 * Updaters scan slots one after the other, so a protection must not be copied from slot to slot: let the second slot
 * protect for itself. (lull_hazptr_detach() does move a protection, in the order of the scan.)
 *
 * Signal handlers may use their thread's context and holds, in threads that have used lull before, if they
 * give back all that they took. A forked child keeps the protections of the forking thread and the detached
 * ones; the slots of other threads are gone. So a detached hold or context must not be on another thread's
 * stack when a program forks: the child may use that stack again.
 *
 * Sources: M. Michael, "Hazard Pointers" (2004); B. Feng's contexts and call (Linux RFC 2024); M.
 * Desnoyers' acquire, release, detach and backup slot (Linux 2026); folly's asymmetric fences.
 */
#ifndef LULL_HAZPTR_H
#define LULL_HAZPTR_H

#include <lull/rcu.h>

LULL_BEGIN_DECLS

/* Bits of a slot's state; a stamp of synchronize's clock is above them. */
#define LULL__HAZPTR_WAITED 1u /* a thread sleeps until this slot's address changes */
#define LULL__HAZPTR_PARKED   2u /* the reclaimer has parked an object because of this slot */
#define LULL__HAZPTR_FULL   4u /* light fences are real ones */
#define LULL__HAZPTR_DEAD   8u /* no scan visits it any more: its thread has exited or unregistered */
#define LULL__HAZPTR_LOW    15u
#define LULL__HAZPTR_STAMP  16u

LULL_API void lull__hazptr_slow(struct lull_hazptr *h) LULL_NOEXCEPT;
LULL_API void *lull__hazptr_protect_again(struct lull_hazptr *h, const void *src, uintptr_t seen, uintptr_t offset) LULL_NOEXCEPT;
LULL_API struct lull_hazptr *lull__hazptr_alloc_slow(struct lull_hazptr_context *ctx);
LULL_API void lull__hazptr_free_slow(struct lull_hazptr_context *ctx, struct lull_hazptr *h);

#ifdef LULL_DEBUG
LULL_API void lull__hazptr_check_owner(const char *call, const struct lull_hazptr_context *ctx);
#define LULL__HAZPTR_CHECK(call, ctx) lull__hazptr_check_owner(call, ctx)
/* Note that the slot @h protects @addr, by a light fence; 0: it is about to have another address. */
LULL_API void lull__check_light(const struct lull_hazptr *h, uintptr_t addr) LULL_NOEXCEPT;
#define LULL__HAZPTR_NOTE_LIGHT(h, addr) lull__check_light(h, addr)
#else
#define LULL__HAZPTR_CHECK(call, ctx) ((void)0)
#define LULL__HAZPTR_NOTE_LIGHT(h, addr) ((void)0)
#endif

/* Let the slot @h have @addr, or 0. Readers change slots in no other way. */
LULL_INLINE void lull__hazptr_set(struct lull_hazptr *h, uintptr_t addr)
{
	LULL__HAZPTR_NOTE_LIGHT(h, 0);
	/*
	 * ORDER HAZ-2: all use of the object that the slot named before the slot's new address (0,
	 * or the next object's); pairs with HAZ-2 in visit_slot(); without it an object is freed
	 * while its last reader still reads; model/hazptr/clear.litmus
	 */
	lull_store_release(&h->addr, addr);
	/*
	 * ORDER HAZ-1: the slot before the second load of the pointer; pairs with HAZ-1 in
	 * lull__hazptr_fence() (heavy). A light fence: where that is a real one, the state says so
	 * and the slow path makes it; without it the scan misses a reader that found the object;
	 * model/hazptr/protect.tpl
	 *
	 * ORDER HAZ-5: the slot before the load of its state; pairs with HAZ-5 in sleep_until_seen()
	 * (WAITED, heavy, load the slot again). The same light fence; without it a thread that
	 * sleeps for this slot is never woken; model/hazptr/wake.tpl
	 */
	lull_compiler_barrier();
	if (lull_unlikely(lull_low_nonzero_relaxed(&h->state, LULL__HAZPTR_LOW)))
		lull__hazptr_slow(h);
}

/* ---- contexts and their slots --------------------------------------------------------------- */

/*
 * Make @ctx a context: eight free slots that updaters scan. Takes a lock for a moment; cannot
 * fail. Not in signal handlers. The memory must stay in place until cleanup.
 */
LULL_API void lull_hazptr_context_init(struct lull_hazptr_context *ctx);

/*
 * End @ctx; the caller is its owner. Its slots stop protecting. Not in signal handlers.
 */
LULL_API void lull_hazptr_context_cleanup(struct lull_hazptr_context *ctx);

/*
 * Give up the ownership of @ctx: from here on any thread may use it and clean it up, one thread at a time. Any context.
 */
LULL_API void lull_hazptr_context_detach(struct lull_hazptr_context *ctx);

/* Return the calling thread's own context. It exists as long as the thread; nothing to set up. */
LULL_INLINE struct lull_hazptr_context *lull_hazptr_thread_context(void)
{
	return &lull__self.hazptr;
}

/*
 * Take a free slot of @ctx. Returns NULL when all eight are in use. For the thread's own context it also returns NULL
 * in destructors that run after the thread's exit handling: use a hold there. No locked instruction. In signal
 * handlers: only slots of the thread's own context, which the handler frees before it returns; there NULL may come
 * before all eight are in use.
 */
LULL_INLINE struct lull_hazptr *lull_hazptr_alloc(struct lull_hazptr_context *ctx)
{
	struct lull_hazptr *h = ctx->top;

	LULL__HAZPTR_CHECK("lull_hazptr_alloc", ctx);
	if (lull_unlikely(h >= ctx->end || !h /* a handler has just registered the thread */))
		return lull__hazptr_alloc_slow(ctx);
	/* Off the stack before it has an address: a signal handler takes the next one. HAZ-2. */
	lull_store_relaxed(&ctx->top, h + 1);
	return h;
}

/* Stop protecting what @h protects, if anything. */
LULL_INLINE void lull_hazptr_clear(struct lull_hazptr *h)
{
	lull__hazptr_set(h, 0);
}

/* Clear @h and give it back to @ctx, from which it came. */
LULL_INLINE void lull_hazptr_free(struct lull_hazptr_context *ctx, struct lull_hazptr *h)
{
	LULL__HAZPTR_CHECK("lull_hazptr_free", ctx);
	lull_hazptr_clear(h);
	if (lull_likely(h + 1 == ctx->top))
		lull_store_relaxed(&ctx->top, h);
	else
		lull__hazptr_free_slow(ctx, h);
}

/* ---- protect -------------------------------------------------------------------------------- */

/*
 * Protect the object that @gp points to; @gp is a pointer variable that updaters change. Returns the object,
 * or NULL when @gp is NULL or was changed meanwhile. @member is the struct lull_head in the object by which
 * an updater will retire it; the _ptr forms are for objects that updaters retire or wait for by the object's
 * own address. The object stays until the slot is cleared, freed, or protects another object. The reader sees
 * everything that the updater stored in the object before it published it. Cannot fail otherwise, takes a
 * bounded number of steps, does not block. @gp is evaluated several times.
 */
#define lull_hazptr_tryprotect(h, gp, member)                                                      \
	lull__hazptr_tryprotect(h, gp, lull__member_offset(gp, member))
#define lull_hazptr_tryprotect_ptr(h, gp) lull__hazptr_tryprotect(h, gp, 0)

/*
 * ORDER HAZ-3: the second load of the pointer before the object's contents; pairs with HAZ-3 in
 * lull_hazptr_publish(); without it a reader sees an object before its contents, or what was at its
 * address earlier; model/hazptr/aba.litmus
 */
#define lull__hazptr_tryprotect(h, gp, offset)                                                     \
	__extension__({                                                                            \
		struct lull_hazptr *lull__h = (h);                                                 \
		__typeof__(lull_load_relaxed(&(gp))) lull__first = lull_load_relaxed(&(gp));       \
		__typeof__(lull__first) lull__second;                                              \
		lull__hazptr_set(lull__h, LULL__CAST(uintptr_t, lull__first) + (offset));          \
		lull__second = lull_load_acquire(&(gp));                                           \
		if (lull_unlikely(LULL__CAST(uintptr_t, lull__first) != LULL__CAST(uintptr_t, lull__second))) { \
			lull_hazptr_clear(lull__h);                                                \
			lull__second = NULL;                                                       \
		} else {                                                                           \
			LULL__HAZPTR_NOTE_LIGHT(lull__h, LULL__CAST(uintptr_t, lull__second) + (offset)); \
		}                                                                                  \
		lull__second;                                                                      \
	})

/*
 * Protect as tryprotect does, again and again until @gp has not changed meanwhile. So NULL means that @gp is NULL.
 */
#define lull_hazptr_protect(h, gp, member)                                                         \
	lull__hazptr_protect(h, gp, lull__member_offset(gp, member))
#define lull_hazptr_protect_ptr(h, gp) lull__hazptr_protect(h, gp, 0)

/* HAZ-3 as above. */
#define lull__hazptr_protect(h, gp, offset)                                                        \
	__extension__({                                                                            \
		struct lull_hazptr *lull__h = (h);                                                 \
		__typeof__(lull_load_relaxed(&(gp))) lull__first = lull_load_relaxed(&(gp));       \
		__typeof__(lull__first) lull__second;                                              \
		lull__hazptr_set(lull__h, LULL__CAST(uintptr_t, lull__first) + (offset));          \
		lull__second = lull_load_acquire(&(gp));                                           \
		if (lull_unlikely(LULL__CAST(uintptr_t, lull__first) != LULL__CAST(uintptr_t, lull__second))) \
			lull__second = LULL__CAST(__typeof__(lull__first), lull__hazptr_protect_again( \
				lull__h, LULL__ANY(&(gp)), LULL__CAST(uintptr_t, lull__second), (offset))); \
		LULL__HAZPTR_NOTE_LIGHT(lull__h, LULL__CAST(uintptr_t, lull__second) + (offset));  \
		lull__second;                                                                      \
	})

/*
 * Let @h have the address @name, by which updaters retire an object or wait for it; NULL: clear @h. For pointers that do
 * not have this address themselves, because they have a mark or point into the object. The object is protected if it is
 * still linked after this call: so load the pointer once more, by lull_load_acquire(), and compare.
 * examples/marked_list.c does so.
 */
LULL_INLINE void lull_hazptr_set(struct lull_hazptr *h, const void *name)
{
	lull__hazptr_set(h, LULL__CAST(uintptr_t, name));
}

/* Return the offset of @member in what @gp points to. @gp is not evaluated. */
#define lull__member_offset(gp, member) offsetof(__typeof__(*(gp)), member)

/* ---- holds: one protected object, and it cannot fail ------------------------------------------ */

/* Needs no initialisation. Must stay in place while it holds something. */
struct lull_hazptr_hold {
	struct lull_hazptr *slot;
	struct lull_hazptr backup; /* when the thread's slots are in use, and after detach */
	struct lull__hazptr_links links;
	uint32_t shard;
	uint32_t owner;
};

LULL_API struct lull_hazptr *lull__hazptr_hold_slow(struct lull_hazptr_hold *hold);
LULL_API void lull__hazptr_release_slow(struct lull_hazptr_hold *hold);

LULL_INLINE struct lull_hazptr *lull__hazptr_hold_slot(struct lull_hazptr_hold *hold)
{
	struct lull_hazptr_context *ctx = &lull__self.hazptr;
	struct lull_hazptr *h = ctx->top;

	if (lull_unlikely(h >= ctx->end || !h))
		return lull__hazptr_hold_slow(hold);
	lull_store_relaxed(&ctx->top, h + 1);
	hold->slot = h;
	return h;
}

/*
 * Release @hold. @p is what acquire returned; if it is NULL, release does nothing. The thread that acquired
 * calls this, or, after detach, any thread. Aborts if the hold is another thread's and was not detached.
 */
LULL_INLINE void lull_hazptr_release(struct lull_hazptr_hold *hold, const void *p)
{
	struct lull_hazptr_context *ctx = &lull__self.hazptr;
	struct lull_hazptr *h = hold->slot;

	if (!p)
		return;
#ifdef LULL_DEBUG
	if (lull_unlikely(!h))
		lull__hazptr_release_slow(hold);
	else
#endif
	if (lull_likely(h + 1 == ctx->top)) {
		lull_hazptr_clear(h);
		lull_store_relaxed(&ctx->top, h);
	} else {
		LULL__TSAN_RELEASE(LULL__TSAN_READERS);
		lull__hazptr_release_slow(hold);
	}
#ifdef LULL_DEBUG
	hold->slot = NULL; /* a second release aborts, whoever has the slot by then */
#endif
}

/* Give the slot of @hold back if @p is NULL: there is nothing to hold. */
LULL_INLINE void lull__hazptr_hold_end(struct lull_hazptr_hold *hold, const void *p)
{
	if (lull_unlikely(!p)) {
		lull_hazptr_release(hold, hold);
		hold->slot = NULL;
	}
}

/*
 * Protect the object that the pointer at @src points to, until @hold is released. It is protected by its own
 * address or, in the _member form, by the address of its struct lull_head @member. Returns the object. If the
 * pointer is NULL, returns NULL, and there is nothing to release. Does not block, but takes a lock for a
 * moment when all of the thread's slots are in use.
 */
#define lull_hazptr_acquire(hold, src) lull__hazptr_acquire(hold, src, 0)
#define lull_hazptr_acquire_member(hold, src, member)                                              \
	lull__hazptr_acquire(hold, src, lull__member_offset(*(src), member))
#define lull__hazptr_acquire(hold, src, offset)                                                    \
	__extension__({                                                                            \
		struct lull_hazptr_hold *lull__hold = (hold);                                      \
		__typeof__(src) lull__src = (src);                                                 \
		__typeof__(lull_load_relaxed(lull__src)) lull__held = lull__hazptr_protect(        \
			lull__hazptr_hold_slot(lull__hold), *lull__src, offset);                   \
		lull__hazptr_hold_end(lull__hold, lull__held);                                     \
		lull__held;                                                                        \
	})

/*
 * Move the protection of @hold to the slot inside it, so that another thread may release it and this
 * thread gets its own slot back. A second call does nothing, nor does a call after acquire returned
 * NULL. Takes a lock for a moment. Not in signal handlers.
 */
LULL_API void lull_hazptr_detach(struct lull_hazptr_hold *hold);

/* ---- updaters ------------------------------------------------------------------------------- */

/*
 * Call @func(@head) when no slot names @head any more, on the reclaimer's thread (reclaim.h), with no lock held. The
 * object was unlinked before this call. @func may retire, protect, synchronize, free. Nothing is allocated but one page
 * per 256 calls that wait. In read sections, with locks held, in callbacks, while the caller itself protects the
 * object: yes (debug builds report a caller that still protects it at a later deferral, stall_ms on); in signal
 * handlers: no. Cannot fail. call_sized() takes the number of @bytes that wait with the object, see reclaim.h.
 */
LULL_API void lull_hazptr_call(struct lull_head *head, lull_rcu_func func);
LULL_API void lull_hazptr_call_sized(struct lull_head *head, lull_rcu_func func, size_t bytes) LULL_NOEXCEPT;

/*
 * Do the same for a callback that is pure, as lull_rcu_call_pure_sized() does: @func only frees memory. So the thread that
 * defers runs it, in its later calls outside of read sections; the reclaimer runs the rest. How many wait has the limits of
 * memory (reclaim.h).
 */
LULL_API void lull_hazptr_call_pure_sized(struct lull_head *head, lull_rcu_func func, size_t bytes) LULL_NOEXCEPT;

/*
 * free(3) @ptr when no slot names it any more; NULL is ignored. No user code runs, so the calling thread frees it
 * itself, in later calls; the reclaimer frees the rest. Contexts as for lull_hazptr_call(). retire_sized() takes the
 * size, as lull_rcu_free_sized() does. In C++ they refuse the same objects as lull_rcu_free() does.
 */
LULL_API void lull_hazptr_retire(void *ptr);
LULL_API void lull_hazptr_retire_sized(void *ptr, size_t bytes);
LULL__ENDS_IN_FREE(lull_hazptr_retire);
LULL__ENDS_IN_FREE(lull_hazptr_retire_sized);

/*
 * Wait until each slot that names @addr, or an address in [@addr, @addr + @len), has once been seen with another
 * address: then no reader that found the object before it was unlinked uses it any more. A slot counts once, so readers
 * that come back to an object that is still linked cannot make this last for ever. Sleeps while it waits; the reader
 * that clears its slot wakes the caller. The _timeout forms give up after @timeout_ms and return -ETIMEDOUT, else 0.
 * Aborts when the calling thread's own context protects the object, because that wait would never end. In read
 * sections: yes, but they last as long as the wait; an online thread stays online (rcu.h). In callbacks: yes. With
 * locks held: not with locks that the readers take. In signal handlers: no.
 */
LULL_API void lull_hazptr_synchronize(const void *addr);
LULL_API void lull_hazptr_synchronize_range(const void *addr, size_t len);
LULL_API int lull_hazptr_synchronize_timeout(const void *addr, uint64_t timeout_ms);
LULL_API int lull_hazptr_synchronize_range_timeout(const void *addr, size_t len, uint64_t timeout_ms);

/*
 * Wait until everything that any thread retired before the call, with hazptr.h or bridge.h, has been
 * reclaimed, and everything that callbacks retired meanwhile, 16 generations deep. So it waits as long as a
 * reader protects one of those objects; if the calling thread itself protects one, it waits for ever (debug
 * builds abort). The timeout form returns -ETIMEDOUT after @timeout_ms (UINT64_MAX: no limit), else 0. Aborts
 * in a read section and in callbacks. Not in signal handlers.
 */
LULL_API void lull_hazptr_barrier(void);
LULL_API int lull_hazptr_barrier_timeout(uint64_t timeout_ms);

/*
 * Publish @v in the pointer variable @p, for tryprotect, protect and acquire to find.
 *
 * ORDER HAZ-3: the object's contents before the pointer; pairs with HAZ-3 in
 * lull__hazptr_tryprotect(); without it as there; model/hazptr/aba.litmus
 */
#define lull_hazptr_publish(p, v) lull_store_release(&(p), (v))

LULL_END_DECLS

#include <lull/detail/tsan_hazptr.h>

#endif /* LULL_HAZPTR_H */
