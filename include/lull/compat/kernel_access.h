/* SPDX-License-Identifier: MIT */
/*
 * kernel_access.h - the kernel's names for accesses, fences and hints (part of kernel.h).
 *
 * An access is to a scalar of up to eight bytes.
 */
#ifndef LULL_KERNEL_ACCESS_H
#define LULL_KERNEL_ACCESS_H

#ifdef __cplusplus
#error "lull/compat/kernel.h is for C: the kernel's names are no C++. Use lull/lull.hpp, or lull/lull.h."
#endif
#ifdef LULL_COMPAT_URCU_H
#error "lull/compat/kernel.h and lull/compat/urcu.h have the same names for different things: include one of them."
#endif

#include <lull/fence.h>

#define READ_ONCE(x)	 lull_load_relaxed(&(x))
#define WRITE_ONCE(x, v) lull_store_relaxed(&(x), (v))

#define smp_load_acquire(p)	lull_load_acquire(p)
#define smp_store_release(p, v) lull_store_release(p, v)

/* Order as full fences. The last two order more than they promise: lull has no weaker fence. */
#define smp_mb	lull_fence_full
#define smp_rmb lull_fence_full
#define smp_wmb lull_fence_full
/* Order the read-modify-write next to it; those below are ordered already. */
#define smp_mb__before_atomic lull_fence_full
#define smp_mb__after_atomic  lull_fence_full
#define barrier()	      lull__kernel_barrier()
#define lull__kernel_barrier  lull_compiler_barrier
#define cpu_relax	      lull_cpu_relax

/* Exchange, and compare and exchange; each returns the previous value. They order as full fences do. */
#define xchg(p, v)                                                                                 \
	__extension__({                                                                            \
		__typeof__(p) lull__at = (p);                                                      \
		__typeof__(lull_load_relaxed(lull__at)) lull__was;                                 \
		smp_mb();                                                                          \
		lull__was = lull_xchg_relaxed(lull__at, (v));                                      \
		smp_mb();                                                                          \
		lull__was;                                                                         \
	})
#define cmpxchg(p, old, v)                                                                         \
	__extension__({                                                                            \
		__typeof__(p) lull__at = (p);                                                      \
		__typeof__(lull_load_relaxed(lull__at)) lull__was = (old);                         \
		smp_mb();                                                                          \
		(void)lull_cas_relaxed(lull__at, &lull__was, (v));                                 \
		smp_mb();                                                                          \
		lull__was;                                                                         \
	})

#ifndef likely
#define likely(x) lull_likely(x)
#endif
#ifndef unlikely
#define unlikely(x) lull_unlikely(x)
#endif
#ifndef container_of
#define container_of(ptr, type, member) lull_container_of(ptr, type, member)
#endif

/* The kernel's checker reads this; compilers do not. */
#ifndef __rcu
#define __rcu
#endif

/* The first of some arguments. */
#define LULL__KERNEL_FIRST(first, ...) first

#endif /* LULL_KERNEL_ACCESS_H */
