/* SPDX-License-Identifier: MIT */
/*
 * kernel_access.h - the kernel's names for accesses, fences and hints (part of kernel.h).
 *
 * An access is to a scalar of up to eight bytes. What the file has of these already, from headers of its own, stays.
 */
#ifndef LULL_KERNEL_ACCESS_H
#define LULL_KERNEL_ACCESS_H

#include <lull/compat/kernel_part.h>

#ifndef READ_ONCE
#define READ_ONCE(x) lull_load_relaxed(&(x))
#endif
#ifndef WRITE_ONCE
#define WRITE_ONCE(x, v) lull_store_relaxed(&(x), (v))
#endif

#ifndef smp_load_acquire
#define smp_load_acquire(p) lull_load_acquire(p)
#endif
#ifndef smp_store_release
#define smp_store_release(p, v) lull_store_release(p, v)
#endif

/* Order as full fences. The last two order more than they promise: lull has no weaker fence. */
#ifndef smp_mb
#define smp_mb lull_fence_full
#endif
#ifndef smp_rmb
#define smp_rmb lull_fence_full
#endif
#ifndef smp_wmb
#define smp_wmb lull_fence_full
#endif
/* Order the read-modify-write next to it; those below are ordered already. */
#ifndef smp_mb__before_atomic
#define smp_mb__before_atomic lull_fence_full
#endif
#ifndef smp_mb__after_atomic
#define smp_mb__after_atomic lull_fence_full
#endif
#ifndef barrier
#define barrier() lull__kernel_barrier()
#define lull__kernel_barrier lull_compiler_barrier
#endif
#ifndef cpu_relax
#define cpu_relax lull_cpu_relax
#endif

/* Exchange, and compare and exchange; each returns the previous value. They order as full fences do. */
#ifndef xchg
#define xchg(p, v)                                                                                 \
	__extension__({                                                                            \
		__typeof__(p) lull__at = (p);                                                      \
		__typeof__(lull_load_relaxed(lull__at)) lull__was;                                 \
		lull__kernel_fence();                                                              \
		lull__was = lull_xchg_relaxed(lull__at, (v));                                      \
		lull__kernel_fence();                                                              \
		lull__was;                                                                         \
	})
#endif
#ifndef cmpxchg
#define cmpxchg(p, old, v)                                                                         \
	__extension__({                                                                            \
		__typeof__(p) lull__at = (p);                                                      \
		__typeof__(lull_load_relaxed(lull__at)) lull__was = (old);                         \
		lull__kernel_fence();                                                              \
		(void)lull_cas_relaxed(lull__at, &lull__was, (v));                                 \
		lull__kernel_fence();                                                              \
		lull__was;                                                                         \
	})
#endif

#ifndef likely
#define likely(x) lull_likely(x)
#endif
#ifndef unlikely
#define unlikely(x) lull_unlikely(x)
#endif
#ifndef container_of
#define container_of(ptr, type, member) lull_container_of(ptr, type, member)
#endif

#endif /* LULL_KERNEL_ACCESS_H */
