/* SPDX-License-Identifier: MIT */
/*
 * percpu_ref.h - a reference count that scales: each CPU counts for itself until the end is near.
 *
 * Most counted objects are used by all threads all the time and go away once: a configuration, a
 * mount, a queue. As long as the owner keeps its own reference the count cannot reach zero, so
 * nobody needs to know the sum, and gets and puts may go to a counter of the CPU they run on: no
 * shared line, no locked instruction. A reference may be taken on one CPU and put on another: a
 * single CPU's counters mean nothing.
 *
 *	init		one reference, the owner's; counts per CPU
 *	get, put	any number, anywhere
 *	kill		puts the owner's reference; from now on there is one shared count, and
 *			lull_percpu_ref_tryget_live() fails
 *	last put	calls @release
 *	exit		gives back the counters
 *
 * kill marks the ref and makes all CPUs see the mark; it then adds the per-CPU counters to the shared
 * count, which from there on can be seen to reach zero:
 *
 *	get or put				kill
 *	[ no mark: add to my CPU's counter ]	set the mark
 *						end all sequences that are under way, a fence for all
 *						sum up the counters
 *
 * The bracket is a restartable sequence (rseq.h), all or nothing on one CPU. One that was over
 * before the fence is in the sum; one that comes later sees the mark and uses the shared count.
 * Where there are no restartable sequences (musl, glibc before 2.35 or told not to by
 * GLIBC_TUNABLES=glibc.pthread.rseq=0, other processors, LULL_FENCE=full, ThreadSanitizer)
 * the counters are shared out among threads instead, the bracket is an RCU read section with an
 * atomic addition in it, and kill waits for a grace period, in the background. Which one it is
 * is decided once for a process: lull_percpu_ref_per_cpu().
 *
 * Memory: 16 bytes for each CPU that the machine can have, until the ref is killed (with
 * LULL_PERCPU_REF_ALLOW_REINIT until exit), in pages that belong to one CPU each; 24 bytes in the object;
 * some 80 bytes more until exit.
 *
 * A get needs a reference that is held already, or the owner's. Callers of tryget and tryget_live need
 * none, but something else has to keep the object allocated meanwhile (RCU, a hazard pointer:
 * ref_handoff.h). Once the ref is confirmed dead they touch only the struct lull_percpu_ref itself, so
 * an object that is freed after a grace period, or when no hazard pointer names it, may call exit at
 * once.
 *
 * Misuse is named in one line through the message hook (debug.h). A count that is seen below zero, or
 * a get from zero, makes the count never reach zero again: a leak and not a hole. Misuse after which
 * nothing can go on aborts: a second kill, reinit of a ref in use, use after exit.
 *
 * Contexts: get, put, tryget and tryget_live everywhere; they never block. Signal handlers included,
 * but @release runs in the last put, and most functions that it may want to call are not allowed
 * there. Not in a vfork child, which the kernel does not know by its parent's thread. All other calls
 * not in signal handlers. A handler that leaves by longjmp loses no count, but where there are no
 * restartable sequences it may not end the read section of a get or put. @release and @confirm must
 * not throw. fork: the child has its own copy with all references, also those of threads that it does
 * not have. It must not change a ref that another thread was killing or switching at the fork.
 *
 * Source: percpu_ref of the Linux kernel (names, semantics, the bias); folly's TLRefCount.
 */
#ifndef LULL_PERCPU_REF_H
#define LULL_PERCPU_REF_H

#include <lull/detail/rseq.h>

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
 * A CPU counts gets and puts apart: a put right behind a get then need not wait for the other's
 * addition to the same word.
 */
#define LULL__PERCPU_REF_GETS 0
#define LULL__PERCPU_REF_PUTS 8

enum lull_percpu_ref_flags {
	LULL_PERCPU_REF_INIT_ATOMIC = 1,  /* begin with the shared count; includes ALLOW_REINIT */
	LULL_PERCPU_REF_INIT_DEAD = 2,	  /* begin killed, with no reference; includes ALLOW_REINIT */
	LULL_PERCPU_REF_ALLOW_REINIT = 4, /* keep the counters for reinit, resurrect, switch_to_percpu */
};

LULL_API void lull__percpu_ref_get_slow(struct lull_percpu_ref *ref, intptr_t n);
LULL_API void lull__percpu_ref_put_slow(struct lull_percpu_ref *ref, intptr_t n);
LULL_API bool lull__percpu_ref_tryget_slow(struct lull_percpu_ref *ref, intptr_t n);
LULL_API bool lull__percpu_ref_tryget_live_slow(struct lull_percpu_ref *ref, intptr_t n);

/* ---- references ------------------------------------------------------------------------------ */

/* Take @n (> 0) more references; the caller already holds one. */
LULL_INLINE void lull_percpu_ref_get_many(struct lull_percpu_ref *ref, unsigned n)
{
	if (lull_unlikely(!lull__rseq_add(&ref->word, (intptr_t)n, LULL__PERCPU_REF_GETS)))
		lull__percpu_ref_get_slow(ref, (intptr_t)n);
}

LULL_INLINE void lull_percpu_ref_get(struct lull_percpu_ref *ref)
{
	lull_percpu_ref_get_many(ref, 1);
}

/* Take @n (> 0) references, unless none are left: then returns false, and nothing has changed. */
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
 * Take a reference, unless the ref was killed or none are left: then returns false. A call that begins
 * after @confirm of lull_percpu_ref_kill_and_confirm() was called fails.
 */
LULL_INLINE bool lull_percpu_ref_tryget_live(struct lull_percpu_ref *ref)
{
	return lull_likely(lull__rseq_add(&ref->word, 1, LULL__PERCPU_REF_GETS)) || lull__percpu_ref_tryget_live_slow(ref, 1);
}

/*
 * Drop @n (> 0) references. If they are the last of a ref that was killed, @release runs here, and
 * sees all that was done to the object under any reference.
 */
LULL_INLINE void lull_percpu_ref_put_many(struct lull_percpu_ref *ref, unsigned n)
{
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
 * tryget_lives that find it dead. Also for a ref that was never killed, or never used. A second exit
 * is harmless; so is exit of a zeroed struct. After it tryget and tryget_live return false, and get
 * and put abort.
 */
LULL_API void lull_percpu_ref_exit(struct lull_percpu_ref *ref);

/*
 * Drop the owner's reference, and let tryget_live give no new ones. Once; again only after reinit or
 * resurrect. @release may run here. Takes one membarrier(2), or returns at once and is confirmed by the
 * reclaimer (lull_percpu_ref_per_cpu()). May be called in a read section and in callbacks. While
 * another switch of the same ref is not confirmed yet, this call and all those below wait for it as
 * lull_rcu_barrier() would, and abort where that would.
 */
LULL_API void lull_percpu_ref_kill(struct lull_percpu_ref *ref);

/*
 * Kill @ref, and call @confirm as soon as every tryget_live that begins from then on fails: here or
 * on the reclaimer's thread, in any case before @release. NULL: as kill. @confirm must not itself
 * kill, revive or switch the ref.
 */
LULL_API void lull_percpu_ref_kill_and_confirm(struct lull_percpu_ref *ref, lull_percpu_ref_func confirm);

/*
 * Bring @ref back to life with one reference, the caller's, as after init. The ref must have been
 * killed. For reinit its count must be zero; resurrect brings back one that still has references,
 * which go on counting. Needs LULL_PERCPU_REF_ALLOW_REINIT; aborts otherwise.
 */
LULL_API void lull_percpu_ref_reinit(struct lull_percpu_ref *ref);
LULL_API void lull_percpu_ref_resurrect(struct lull_percpu_ref *ref);

/*
 * Count in one place while the ref lives, so that zero can be seen: for an owner that puts its reference
 * without kill. It stays so, over reinit and resurrect as well, until switch_to_percpu. @confirm as for
 * kill; the sync form returns when @confirm would have been called, and so must not be called in a read
 * section or callback. switch_to_percpu undoes it; for a dead ref, from its reinit or resurrect on. It
 * needs LULL_PERCPU_REF_ALLOW_REINIT.
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
 * Has the count reached zero? Always false while it counts per CPU. True is final until reinit; it does
 * not mean that @release has returned. Any context.
 */
LULL_API bool lull_percpu_ref_is_zero(const struct lull_percpu_ref *ref);

/* Do refs of this process use restartable sequences? Else counters are shared out among threads. */
LULL_API bool lull_percpu_ref_per_cpu(void);

LULL_END_DECLS

#endif /* LULL_PERCPU_REF_H */
