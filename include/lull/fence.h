/* SPDX-License-Identifier: MIT */
/*
 * fence.h - asymmetric fences: nearly free for the many, dear for the few.
 *
 * Suppose that two threads each store to a flag of their own and then look at the other's flag (Dekker's
 * handshake). Then both need a full fence between the store and the load. RCU and hazard pointers are such
 * handshakes, in which one side, the reader, runs a million times as often as the other. So the reader makes
 * a *light* fence and the updater a *heavy* fence, and a pair of them orders as two full fences would:
 *
 *	reader					updater
 *	store my word				unlink the object
 *	lull_fence_light()			lull_fence_heavy()
 *	load the pointer			load every reader's word
 *
 * After the heavy fence either the updater sees the word, or the reader's loads see the unlinking.
 *
 * With membarrier(2) the heavy fence interrupts every processor that runs a thread of this process and a
 * light fence only binds the compiler. Where membarrier is missing (ENOSYS: old kernel, gVisor) or forbidden
 * (EPERM: seccomp) both are full fences. The choice is made once, before the first reader;
 * LULL_FENCE=membarrier|full in the environment forces it, and compiling everything with
 * LULL_FENCE_FIXED_FULL fixes it. Membarrier may stop working later (by a seccomp filter that the program
 * puts on itself) or fail for a moment. Then it is too late for readers to make full fences. Instead the
 * heavy fence runs on each allowed processor in turn, which is as good and far slower, and later heavy fences
 * try membarrier again. For that it reads /proc/self/task. If both are forbidden, it says so and aborts.
 * Idea: membarrier(2), P1202, the folly and seize libraries.
 */
#ifndef LULL_FENCE_H
#define LULL_FENCE_H

#include <lull/atomic.h>
#include <lull/detail/abi.h>

enum lull_fence_strategy {
	LULL_FENCE_MEMBARRIER, /* light binds the compiler, heavy is membarrier(2) */
	LULL_FENCE_FULL,       /* both are full fences */
};

LULL_BEGIN_DECLS

/* 1 when light fences must be real ones. Written once, before the first reader. */
extern LULL_API uint32_t lull__fence_full_mode;

/*
 * Order all earlier accesses of this thread before all later accesses. On x86 this is a locked
 * read-modify-write of the thread's own stack, which, unlike mfence, does not hold up independent loads. Any
 * context.
 */
LULL_INLINE void lull_fence_full(void)
{
#if defined(__x86_64__)
	__asm__ __volatile__("lock; addl $0, -4(%%rsp)" ::: "memory", "cc");
#elif defined(__aarch64__)
	__asm__ __volatile__("dmb ish" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/*
 * Store @v in *@p, after all earlier accesses and before all later accesses: a release and a full fence, in
 * one locked instruction where the processor has one. Any context.
 */
LULL_INLINE void lull_store_fence(uintptr_t *p, uintptr_t v)
{
#if defined(__x86_64__) || defined(LULL__TSAN)
	(void)__atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);
#else
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
	lull_fence_full();
#endif
}

/* Make the reader's half of an asymmetric pair. Any context, signal handlers too. */
LULL_INLINE void lull_fence_light(void)
{
#if defined(LULL_FENCE_FIXED_FULL)
	lull_fence_full();
#else
	lull_compiler_barrier();
	if (lull_unlikely(lull_nonzero_relaxed(&lull__fence_full_mode)))
		lull_fence_full();
#endif
}

/*
 * Make the updater's half. Callers that wait at the same time share one system call. Costs a system
 * call, and an interrupt on each other processor that is running a thread of this process (`lull
 * doctor` measures both). Cannot fail. May block for the time of another caller's fence; not in
 * signal handlers. Does not wait for readers, so it may be called in a read section. After fork: yes.
 */
LULL_API void lull_fence_heavy(void);

/* Return the choice for this process, as a value and as a word ("membarrier", "full"). Any thread. */
LULL_API enum lull_fence_strategy lull_fence_strategy(void);
LULL_API const char *lull_fence_strategy_name(void);

/* Count the heavy fences that were made since the start (a shared fence once). Any context. */
LULL_API uint64_t lull_fence_heavy_count(void);

LULL_END_DECLS

#endif /* LULL_FENCE_H */
