/* SPDX-License-Identifier: MIT */
/* tsan_shazptr.h - what the calls of shazptr.h say to ThreadSanitizer: see tsan.h. */
#ifndef LULL_TSAN_SHAZPTR_H
#define LULL_TSAN_SHAZPTR_H

#include <lull/detail/tsan.h>

#ifdef LULL__TSAN_APART

LULL_BEGIN_DECLS

LULL__TSAN_CALL(lull_shazptr_synchronize, (const void *ptr), (ptr),
		(void)0, LULL__TSAN_SEES_READERS)
#define lull_shazptr_synchronize lull__tsan_lull_shazptr_synchronize
LULL__TSAN_RESULT(int, lull_shazptr_synchronize_timeout, (const void *ptr, uint64_t timeout_ms),
		(ptr, timeout_ms),
		(void)0, result == 0, LULL__TSAN_SEES_READERS)
#define lull_shazptr_synchronize_timeout lull__tsan_lull_shazptr_synchronize_timeout

LULL_END_DECLS

#endif

#endif /* LULL_TSAN_SHAZPTR_H */
