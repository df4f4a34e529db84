/* SPDX-License-Identifier: MIT */
/*
 * base.h - what every lull header needs: linkage, inlining, branch hints, version.
 */
#ifndef LULL_BASE_H
#define LULL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LULL_VERSION_MAJOR 0
#define LULL_VERSION_MINOR 1
#define LULL_VERSION_PATCH 0

#ifdef __cplusplus
#define LULL_BEGIN_DECLS extern "C" {
#define LULL_END_DECLS	 }
/* C++20 modules refuse `static inline` in a header unit; `inline` means the same there. */
#define LULL_INLINE inline __attribute__((always_inline))
#else
#define LULL_BEGIN_DECLS
#define LULL_END_DECLS
#define LULL_INLINE static inline __attribute__((always_inline))
#endif

/* The library is built with hidden visibility; the symbols that carry LULL_API are the ABI. */
#define LULL_API __attribute__((visibility("default")))

#define lull_likely(x)	 (__builtin_expect(!!(x), 1))
#define lull_unlikely(x) (__builtin_expect(!!(x), 0))

/* Return the structure of @type whose @member is at @ptr. @ptr must not be NULL. */
#define lull_container_of(ptr, type, member)                                                       \
	((type *)(void *)((char *)(uintptr_t)(ptr)-offsetof(type, member)))

#define LULL__CAT2(a, b) a##b
#define LULL__CAT(a, b)	 LULL__CAT2(a, b)

LULL_BEGIN_DECLS

/* Return the version of the loaded library, "major.minor.patch". Any context. */
LULL_API const char *lull_version(void);

LULL_END_DECLS

#endif /* LULL_BASE_H */
