/* SPDX-License-Identifier: MIT */
/*
 * abi.h - which library the inline code of these headers belongs to.
 *
 * Read sides are inline. They are compiled into programs, with the layout of a thread's record and the bits of its
 * words; a library that has these otherwise would corrupt memory. LULL_INLINE_ABI is the number of all that, and the
 * soname ends with it. `scripts/abi` finds what has changed without it; `scripts/abi --raise` raises it everywhere.
 *
 * Each object file that includes this header refers to a name that only the right library defines. With another number,
 * or with LULL_DEBUG on one side only, the program does not link or does not start, or dlopen() fails; the line that
 * says so has the name, and the name says which library is needed. It is the name of data, not of a function: the
 * dynamic linker looks for data at once, and perhaps for a function only when it is called first. The reference costs
 * eight bytes in each object file.
 */
#ifndef LULL_ABI_H
#define LULL_ABI_H

#include <lull/detail/base.h>

#define LULL_INLINE_ABI 6

/* Kept by ld --gc-sections, too. */
#ifdef __has_attribute
#if __has_attribute(retain)
#define LULL__KEPT __attribute__((used, retain))
#endif
#endif
#ifndef LULL__KEPT
#define LULL__KEPT __attribute__((used))
#endif

LULL_BEGIN_DECLS

#ifdef LULL_DEBUG
extern LULL_API const char lull__library_of_abi_6_with_LULL_DEBUG;
#define LULL__LIBRARY lull__library_of_abi_6_with_LULL_DEBUG
#else
extern LULL_API const char lull__library_of_abi_6_without_LULL_DEBUG;
#define LULL__LIBRARY lull__library_of_abi_6_without_LULL_DEBUG
#endif

#ifndef LULL__INSIDE /* one of the library's own files */
static const char *const lull__my_library LULL__KEPT = &LULL__LIBRARY;
#endif

LULL_END_DECLS

#endif /* LULL_ABI_H */
