/* SPDX-License-Identifier: MIT */
/*
 * urcu_helpers.h - the small helpers that programs expect of <urcu.h>: liburcu's, where it is installed (part of urcu.h).
 *
 * LULL_URCU_ALONE, defined for a file, makes it do without liburcu's headers.
 */
#ifndef LULL_COMPAT_URCU_HELPERS_H
#define LULL_COMPAT_URCU_HELPERS_H

#include <lull/atomic.h>
#include <lull/fence.h>

#if !defined(LULL_URCU_ALONE) && defined(__has_include)
#if __has_include(<urcu/uatomic.h>)
#define LULL__URCU_BESIDE 1
#endif
#endif

#ifdef LULL__URCU_BESIDE
#include <urcu/compiler.h>

#include <urcu/arch.h>
#include <urcu/system.h>
#include <urcu/uatomic.h>
#else
#define caa_likely(x)			     lull_likely(x)
#define caa_unlikely(x)			     lull_unlikely(x)
#define caa_container_of(ptr, type, member) lull_container_of(ptr, type, member)
#define caa_cpu_relax			     lull_cpu_relax
#define cmm_barrier			     lull_compiler_barrier
#define cmm_smp_mb			     lull_fence_full
#define cmm_smp_rmb			     lull_fence_full
#define cmm_smp_wmb			     lull_fence_full
#define CMM_LOAD_SHARED(x)		     lull_load_relaxed(&(x))
#define CMM_STORE_SHARED(x, v)		     lull_store_relaxed(&(x), (v))
#define CMM_ACCESS_ONCE(x)		     (*(__volatile__ __typeof__(x) *)&(x))
#endif

#endif /* LULL_COMPAT_URCU_HELPERS_H */
