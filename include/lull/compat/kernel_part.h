/* SPDX-License-Identifier: MIT */
/*
 * kernel_part.h - what each part of kernel.h stands on, and no name of the kernel's.
 */
#ifndef LULL_KERNEL_PART_H
#define LULL_KERNEL_PART_H

#ifdef __cplusplus
#error "lull/compat/kernel.h is for C: the kernel's names are no C++. Use lull/lull.hpp, or lull/lull.h."
#endif
#ifdef LULL_COMPAT_URCU_H
#error "lull/compat/kernel.h and lull/compat/urcu.h have the same names for different things: include one of them."
#endif

#include <lull/fence.h>

/* For the parts: a tree may have its own smp_load_acquire() and smp_mb(). */
#define lull__kernel_load(p) lull_load_acquire(p)
#define lull__kernel_fence   lull_fence_full

/* The first of some arguments. */
#define LULL__KERNEL_FIRST(first, ...) first

#endif /* LULL_KERNEL_PART_H */
