/* SPDX-License-Identifier: MIT */
/*
 * percpu_ref.h - a reference count that scales: each CPU counts for itself until the end is near.
 *
 * Many counted objects are used by all threads all the time and go away once: a configuration, a mount, a
 * queue. As long as the owner keeps its own reference the count cannot reach zero, so nobody needs to know
 * the sum. Gets and puts may then go to a counter of the CPU they run on: no shared cache line, no locked
 * instruction. A thread may take a reference on one CPU and put it on another: only the sum of all counters
 * means something.
 *
 *	init		one reference, the owner's; counts per CPU
 *	get, put	any number, anywhere
 *	kill		puts the owner's reference; from now on there is one shared count, and
 *			lull_percpu_ref_tryget_live() fails
 *	last put	calls @release
 *	exit		gives back the counters
 *
 * kill marks the ref and makes all CPUs see the mark. Then it adds the per-CPU counters to the shared count,
 * and from there on the shared count shows when it reaches zero:
 *
 *	get or put				kill
 *	[ no mark: add to my CPU's counter ]	set the mark
 *						end all sequences that are under way, a fence for all
 *						sum up the counters
 *
 * The bracket is a restartable sequence (rseq.h), all or nothing on one CPU. A sequence that ended before the
 * fence is in the sum; a sequence that comes later sees the mark and uses the shared count. Some processes
 * have no restartable sequences: with musl, with glibc before 2.35 or with
 * GLIBC_TUNABLES=glibc.pthread.rseq=0, on other processors, with LULL_FENCE=full, under ThreadSanitizer.
 * There each thread is assigned one of the counters, the bracket is an RCU read section with an atomic
 * addition in it, and kill waits for a grace period, in the background. lull chooses one of the two forms
 * once for a process: lull_percpu_ref_per_cpu().
 *
 * Memory: 16 bytes for each CPU that the machine can have, until the ref is killed (with
 * LULL_PERCPU_REF_ALLOW_REINIT until exit), in pages that each belong to one CPU; 24 bytes in the object;
 * some 80 bytes more until exit.
 *
 * A ref that is made with LULL_PERCPU_REF_ALLOW_REINIT may rest at zero: its owner puts the first reference
 * without a kill and asks now and then whether the ref is in use.
 *
 *	init, put		none is left; the ref rests
 *	get, put		any number, anywhere, also from zero
 *	switch_to_atomic_sync	one shared count: is_zero tells whether all that was got is put
 *	switch_to_percpu	counts per CPU again, also from zero
 *
 * Counts per CPU do not see zero. While the ref lives and counts in one place, @release runs each time the count
 * reaches zero: in a put, or at the end of a switch. So the @release of a ref that rests must not end it. When
 * is_zero returns, a get may have followed. A kill drops the owner's reference, so who kills a ref at rest gets
 * one first.
 *
 * A get needs a reference that lasts during the call: the caller's own, or the owner's, if nobody can kill the
 * ref meanwhile. It needs none if the ref may rest at zero and nobody can kill it meanwhile. Callers of tryget
 * and tryget_live need none, but something else has to keep the object allocated during the call (RCU, a hazard
 * pointer: ref_handoff.h). When the ref has been confirmed dead, these calls touch only the struct
 * lull_percpu_ref itself. So a program that frees the object after a grace period, or when no hazard pointer
 * names it, may call exit at once.
 *
 * lull reports misuse in one line through the message hook (debug.h). After a count below zero, or a get from
 * zero of a ref that may not rest there, the count never reaches zero again: that is a leak, but no use after
 * free. Misuse after which nothing can go on aborts: a second kill, reinit of a ref in use, use after exit.
 *
 * Contexts: get, put, tryget and tryget_live may be called everywhere and never block. That includes signal
 * handlers, but @release runs in the last put, and most functions that it may want to call are not allowed in
 * a handler. It does not include a vfork child, where the kernel does not know the parent thread's
 * restartable sequences. All other calls: not in signal handlers. A handler that leaves by longjmp loses no
 * count, but without restartable sequences it may leave the read section of a get or put open. @release and
 * @confirm must not throw. fork: the child has its own copy with all references, also those of threads that
 * it does not have. It must not change a ref that another thread was killing or switching at the fork.
 *
 * Source: percpu_ref of the Linux kernel (names, semantics, the bias); folly's TLRefCount.
 */
#ifndef LULL_PERCPU_REF_H
#define LULL_PERCPU_REF_H

#include <lull/detail/abi.h>
#include <lull/detail/rseq.h>
#include <lull/detail/tsan.h>

LULL_BEGIN_DECLS

struct lull__percpu_data;

struct lull_percpu_ref {
	uintptr_t word; /* where CPU 0's counter is, and LULL__PERCPU_REF_* */
	intptr_t count; /* the shared count: all of it, or the rest and a bias that keeps it from zero */
	struct lull__percpu_data *data; /* NULL after exit */
};

typedef void (*lull_percpu_ref_func)(struct lull_percpu_ref *ref) LULL__NOEXCEPT_TYPE;

/* Bits of the word. If it has none of them, get and put may use restartable sequences. */
#define LULL__PERCPU_REF_ATOMIC	 ((uintptr_t)1) /* the shared count is in use */
#define LULL__PERCPU_REF_DEAD	 ((uintptr_t)2) /* killed */
#define LULL__PERCPU_REF_THREADS ((uintptr_t)4) /* counters are shared out among threads */

/*
 * A CPU counts gets and puts apart: a put right behind a get then need not wait for the get's addition to the
 * same word.
 */
#define LULL__PERCPU_REF_GETS 0
#define LULL__PERCPU_REF_PUTS 8

enum lull_percpu_ref_flags {
	LULL_PERCPU_REF_INIT_ATOMIC = 1,  /* begin with the shared count; includes ALLOW_REINIT */
	LULL_PERCPU_REF_INIT_DEAD = 2,	  /* begin killed, with no reference; includes ALLOW_REINIT */
	LULL_PERCPU_REF_ALLOW_REINIT = 4, /* keep the counters for reinit, resurrect, switch_to_percpu; may rest at zero */
};

LULL_API void lull__percpu_ref_get_slow(struct lull_percpu_ref *ref, intptr_t n) LULL_NOEXCEPT;
LULL_API void lull__percpu_ref_put_slow(struct lull_percpu_ref *ref, intptr_t n) LULL_NOEXCEPT;
LULL_API bool lull__percpu_ref_tryget_slow(struct lull_percpu_ref *ref, intptr_t n) LULL_NOEXCEPT;
LULL_API bool lull__percpu_ref_tryget_live_slow(struct lull_percpu_ref *ref, intptr_t n) LULL_NOEXCEPT;

/* ---- references ------------------------------------------------------------------------------ */

/* Take @n (> 0) more references; one must last during the call, or the ref may rest at zero: see above. */
LULL_INLINE void lull_percpu_ref_get_many(struct lull_percpu_ref *ref, unsigned n)
{
	if (lull_unlikely(!lull__rseq_add(&ref->word, (intptr_t)n, LULL__PERCPU_REF_GETS)))
		lull__percpu_ref_get_slow(ref, (intptr_t)n);
}

LULL_INLINE void lull_percpu_ref_get(struct lull_percpu_ref *ref)
{
	lull_percpu_ref_get_many(ref, 1);
}

/*
 * Take @n (> 0) references, unless none are left: then returns false, and nothing has changed. Where a ref rests at
 * zero, this finds out only in one place: counts per CPU give a reference.
 */
LULL_INLINE bool lull_percpu_ref_tryget_many(struct lull_percpu_ref *ref, unsigned n)
{
	return lull_likely(lull__rseq_add(&ref->word, (intptr_t)n, LULL__PERCPU_REF_GETS)) ||
	       lull__percpu_ref_tryget_slow(ref, (intptr_t)n);
}

LULL_INLINE bool lull_percpu_ref_tryget(struct lull_percpu_ref *ref)
{
	return lull_percpu_ref_tryget_many(ref, 1);
}

/*
 * Take a reference. Returns false, and takes none, if the ref was killed or no reference is left. A call that
 * begins after lull_percpu_ref_kill_and_confirm() has called @confirm fails.
 */
LULL_INLINE bool lull_percpu_ref_tryget_live(struct lull_percpu_ref *ref)
{
	return lull_likely(lull__rseq_add(&ref->word, 1, LULL__PERCPU_REF_GETS)) || lull__percpu_ref_tryget_live_slow(ref, 1);
}

/*
 * Drop @n (> 0) references. If they are the last of a ref that was killed, this call runs @release, which
 * sees everything that any thread did to the object under a reference.
 */
LULL_INLINE void lull_percpu_ref_put_many(struct lull_percpu_ref *ref, unsigned n)
{
	LULL__TSAN_RELEASE(ref);
	if (lull_unlikely(!lull__rseq_add(&ref->word, (intptr_t)n, LULL__PERCPU_REF_PUTS)))
		lull__percpu_ref_put_slow(ref, (intptr_t)n);
}

LULL_INLINE void lull_percpu_ref_put(struct lull_percpu_ref *ref)
{
	lull_percpu_ref_put_many(ref, 1);
}

/* ---- its life -------------------------------------------------------------------------------- */

/*
 * Set up @ref with one reference, the caller's. The last put calls @release, which may exit and free
 * the ref, or have that done later. @flags: LULL_PERCPU_REF_*. Returns 0, -EINVAL for unknown flags
 * or a @release of NULL, or -ENOMEM. No other thread may use the ref yet.
 */
LULL_API int lull_percpu_ref_init(struct lull_percpu_ref *ref, lull_percpu_ref_func release, unsigned flags);

/*
 * Free the memory that init allocated. No thread may use the ref any more, except for trygets and
 * tryget_lives that find it dead. May also be called for a ref that was never killed, or never used. A second
 * exit is harmless; so is exit of a zeroed struct. After exit tryget and tryget_live return false, and get
 * and put abort.
 */
LULL_API void lull_percpu_ref_exit(struct lull_percpu_ref *ref);

/*
 * Drop the owner's reference, and let tryget_live give no new ones. Call it once; again only after reinit or
 * resurrect. @release may run here. Takes one membarrier(2); or, without restartable sequences
 * (lull_percpu_ref_per_cpu()), returns at once, and the reclaimer confirms the kill. May be called in a read
 * section and in callbacks. While another switch of the same ref is not confirmed yet, this call and all
 * those below wait for that switch as lull_rcu_barrier() would, and abort where lull_rcu_barrier() would.
 */
LULL_API void lull_percpu_ref_kill(struct lull_percpu_ref *ref);

/*
 * Kill the @n refs in @refs, each as lull_percpu_ref_kill() does, with one membarrier(2) for up to 512 of
 * them instead of one for each. Refs that count in one place may be among them. Needs no memory. Without
 * restartable sequences this is no cheaper than single calls. Contexts as for kill. Each @release may run
 * here, in any order. It may exit and free its own ref. So no ref may be in @refs twice: its second kill
 * aborts, unless @release has given the ref back by then. Until this call returns, nobody may kill or exit
 * a ref in @refs that has not been released, nor change the array.
 */
LULL_API void lull_percpu_ref_kill_many(struct lull_percpu_ref *const *refs, size_t n);

/*
 * Kill @ref, and call @confirm as soon as every new tryget_live fails: here or on the reclaimer's thread, in
 * any case before @release. NULL: as kill. @confirm must not itself kill, revive or switch the ref.
 */
LULL_API void lull_percpu_ref_kill_and_confirm(struct lull_percpu_ref *ref, lull_percpu_ref_func confirm);

/*
 * Bring @ref back to life with one reference, the caller's, as after init. The ref must have been killed. For
 * reinit its count must be zero. resurrect brings back a ref that still has references, and they go on
 * counting. Needs LULL_PERCPU_REF_ALLOW_REINIT; aborts otherwise.
 */
LULL_API void lull_percpu_ref_reinit(struct lull_percpu_ref *ref);
LULL_API void lull_percpu_ref_resurrect(struct lull_percpu_ref *ref);

/*
 * Count in one place while the ref lives, for an owner that wants to see zero: it has put its reference without
 * a kill, or does now. The ref stays so, over reinit and resurrect as well, until switch_to_percpu. @confirm as
 * for kill. If none is left, @release runs at the end of the switch. The sync form returns when @confirm would
 * have been called; so do not call it in a read section or callback. switch_to_percpu undoes the switch; for a
 * dead ref, from its reinit or resurrect on. It needs LULL_PERCPU_REF_ALLOW_REINIT.
 */
LULL_API void lull_percpu_ref_switch_to_atomic(struct lull_percpu_ref *ref, lull_percpu_ref_func confirm);
LULL_API void lull_percpu_ref_switch_to_atomic_sync(struct lull_percpu_ref *ref);
LULL_API void lull_percpu_ref_switch_to_percpu(struct lull_percpu_ref *ref);

/* Was @ref killed, and not brought back since? Any context. */
LULL_INLINE bool lull_percpu_ref_is_dying(const struct lull_percpu_ref *ref)
{
	return (lull_load_relaxed(&ref->word) & LULL__PERCPU_REF_DEAD) != 0;
}

/*
 * Has the count reached zero? Always false while the ref counts per CPU. True stays true until reinit,
 * resurrect, switch_to_percpu, or a get of a ref that may rest at zero. It does not mean that @release has
 * returned, so it is too early for exit, unless no other thread can be in a put and no switch is under way. It
 * orders nothing. Any context.
 */
LULL_API bool lull_percpu_ref_is_zero(const struct lull_percpu_ref *ref);

/* Do refs of this process use restartable sequences? Else each thread is assigned one of the counters. */
LULL_API bool lull_percpu_ref_per_cpu(void);

LULL_END_DECLS

#include <lull/detail/tsan_percpu_ref.h>

#endif /* LULL_PERCPU_REF_H */
