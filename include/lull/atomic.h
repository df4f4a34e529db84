/* SPDX-License-Identifier: MIT */
/*
 * atomic.h - the one vocabulary for concurrent accesses, on plain C objects.
 *
 * The order is part of the name, so that a reader of the code sees it and grep finds it. The
 * builtins work on ordinary fields in C and C++ alike (there is no _Atomic / std::atomic mismatch
 * in a header that both include), and ThreadSanitizer understands them. Nothing else in lull
 * writes a builtin or an asm statement, except fence.h and arch/.
 *
 * If only one thread writes a word, that thread may read the word with a plain load: no other thread changes
 * it, and the compiler may then fold the load into a compare.
 */
#ifndef LULL_ATOMIC_H
#define LULL_ATOMIC_H

#include <lull/detail/base.h>

#if defined(__SANITIZE_THREAD__)
#define LULL__TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LULL__TSAN 1
#endif
#endif

#define lull_load_relaxed(p)	 __atomic_load_n((p), __ATOMIC_RELAXED)
#define lull_load_acquire(p)	 __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define lull_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define lull_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* Read-modify-writes; each returns the previous value. */
#define lull_xchg_relaxed(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELAXED)
#define lull_xchg_acquire(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
#define lull_xchg_release(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELEASE)
#define lull_xchg_acq_rel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
#define lull_add_relaxed(p, v)	__atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define lull_add_acquire(p, v)	__atomic_fetch_add((p), (v), __ATOMIC_ACQUIRE)
#define lull_add_release(p, v)	__atomic_fetch_add((p), (v), __ATOMIC_RELEASE)
#define lull_add_acq_rel(p, v)	__atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define lull_sub_relaxed(p, v)	__atomic_fetch_sub((p), (v), __ATOMIC_RELAXED)
#define lull_sub_release(p, v)	__atomic_fetch_sub((p), (v), __ATOMIC_RELEASE)
#define lull_or_relaxed(p, v)	__atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define lull_or_release(p, v)	__atomic_fetch_or((p), (v), __ATOMIC_RELEASE)
#define lull_and_relaxed(p, v)	__atomic_fetch_and((p), (v), __ATOMIC_RELAXED)

/* Strong compare-and-swap: true if *(p) was *(old) and is now v; else *(old) is the value found. */
#define lull_cas_relaxed(p, old, v)                                                                \
	__atomic_compare_exchange_n((p), (old), (v), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define lull_cas_acquire(p, old, v)                                                                \
	__atomic_compare_exchange_n((p), (old), (v), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
#define lull_cas_release(p, old, v)                                                                \
	__atomic_compare_exchange_n((p), (old), (v), false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
#define lull_cas_acq_rel(p, old, v)                                                                \
	__atomic_compare_exchange_n((p), (old), (v), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* Keep the compiler from moving a memory access across this; the processor may still do it. */
#define lull_compiler_barrier() __asm__ __volatile__("" ::: "memory")

LULL_BEGIN_DECLS

/* Hint inside a spin loop: let the sibling hyper-thread run, do not speculate ahead. */
LULL_INLINE void lull_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("isb" ::: "memory");
#else
	lull_compiler_barrier();
#endif
}

/*
 * Store in @p the address of the instruction that this compiles to, so that debug builds can say where
 * something began.
 */
#if defined(__x86_64__)
#define lull__instruction_pointer(p) __asm__ __volatile__("lea 0(%%rip), %0" : "=r"(p))
#elif defined(__aarch64__)
#define lull__instruction_pointer(p) __asm__ __volatile__("adr %0, ." : "=r"(p))
#else
#define lull__instruction_pointer(p) ((p) = __builtin_return_address(0))
#endif

/*
 * Five tests of fast paths, in one instruction each on x86. Compilers never fold an atomic load
 * into the compare, and a plain one only when its value has no other use.
 *
 * For words that other threads write, by a relaxed load: lull_nonzero_relaxed: is the word not 0?
 * lull_low_nonzero_relaxed: has it a bit of @mask, which is less than 128? lull_at_least_relaxed: is it @least or
 * more? For words that only this thread writes: lull_own_is_zero: is the word 0? lull_own_low_is_zero: has it no bit of @mask?
 */
LULL_INLINE bool lull_nonzero_relaxed(const uint32_t *p)
{
#if defined(__x86_64__) && !defined(LULL__TSAN)
	bool nonzero;

	__asm__ __volatile__("cmpl $0, %1" : "=@ccne"(nonzero) : "m"(*p));
	return nonzero;
#else
	return lull_load_relaxed(p) != 0;
#endif
}

LULL_INLINE bool lull_low_nonzero_relaxed(const uint64_t *p, uint8_t mask)
{
#if defined(__x86_64__) && !defined(LULL__TSAN)
	bool nonzero;

	__asm__ __volatile__("testb %2, %1" : "=@ccne"(nonzero) : "m"(*(const uint8_t *)p), "qi"(mask));
	return nonzero;
#else
	return (lull_load_relaxed(p) & mask) != 0;
#endif
}

LULL_INLINE bool lull_at_least_relaxed(const uint32_t *p, uint32_t least)
{
#if defined(__x86_64__) && !defined(LULL__TSAN)
	bool is;

	__asm__ __volatile__("cmpl %2, %1" : "=@ccae"(is) : "m"(*p), "ri"(least));
	return is;
#else
	return lull_load_relaxed(p) >= least;
#endif
}

LULL_INLINE bool lull_own_is_zero(const uint64_t *p)
{
#if defined(__x86_64__)
	bool zero;

	__asm__("cmpq $0, %1" : "=@cce"(zero) : "m"(*p));
	return zero;
#else
	return *p == 0;
#endif
}

LULL_INLINE bool lull_own_low_is_zero(const uint64_t *p, uint32_t mask)
{
#if defined(__x86_64__)
	bool zero;

	__asm__("testl %2, %1" : "=@cce"(zero) : "m"(*p), "ri"(mask));
	return zero;
#else
	return (*p & mask) == 0;
#endif
}

/*
 * Add @v to a word that only this thread writes, and that others may read: a load and a store, in one instruction on
 * x86. Not for counts of several threads. The store is relaxed, or a release.
 */
LULL_INLINE void lull_own_add_relaxed(uint64_t *p, uint64_t v)
{
#if defined(__x86_64__) && !defined(LULL__TSAN)
	__asm__ __volatile__("addq %1, %0" : "+m"(*p) : "er"(v) : "cc");
#else
	lull_store_relaxed(p, *p + v);
#endif
}

LULL_INLINE void lull_own_add_release(uint64_t *p, uint64_t v)
{
#if defined(__x86_64__) && !defined(LULL__TSAN)
	__asm__ __volatile__("addq %1, %0" : "+m"(*p) : "er"(v) : "memory", "cc");
#else
	lull_store_release(p, *p + v);
#endif
}
LULL_END_DECLS

#endif /* LULL_ATOMIC_H */
