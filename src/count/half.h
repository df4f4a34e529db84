/* SPDX-License-Identifier: MIT */
/*
 * half.h - where the kernel finds the halves of a word: a futex has 32 bits.
 */
#ifndef LULL_HALF_H
#define LULL_HALF_H

#include <stdint.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LULL__LOW_HALF(size)  0
#define LULL__HIGH_HALF	      1
#else
#define LULL__LOW_HALF(size)  ((size) / sizeof(uint32_t) - 1)
#define LULL__HIGH_HALF	      0
#endif

#define lull__low_half(word)  ((uint32_t *)(void *)(word) + LULL__LOW_HALF(sizeof(*(word))))
#define lull__high_half(word) ((uint32_t *)(void *)(word) + LULL__HIGH_HALF)

#endif /* LULL_HALF_H */
