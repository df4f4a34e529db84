/* SPDX-License-Identifier: MIT */
/* tsan_hazptr_fenced.h - what the calls of hazptr_fenced.h say to ThreadSanitizer: see tsan.h. */
#ifndef LULL_TSAN_HAZPTR_FENCED_H
#define LULL_TSAN_HAZPTR_FENCED_H

#include <lull/detail/tsan.h>

#ifdef LULL__TSAN_APART

LULL_BEGIN_DECLS

LULL__TSAN_RESULT(void *, lull__hazptr_fenced_protect_again,
		(struct lull_hazptr *h, const void *src, uintptr_t seen, uintptr_t offset),
		(h, src, seen, offset),
		(void)0, true, LULL__TSAN_ACQUIRE(src))
#define lull__hazptr_fenced_protect_again lull__tsan_lull__hazptr_fenced_protect_again
LULL__TSAN_CALL(lull_hazptr_fenced_call, (struct lull_head *head, lull_rcu_func func), (head, func),
		LULL__TSAN_DEFERS, (void)0)
#define lull_hazptr_fenced_call lull__tsan_lull_hazptr_fenced_call
LULL__TSAN_CALL(lull_hazptr_fenced_retire, (void *ptr), (ptr), LULL__TSAN_DEFERS, (void)0)
#define lull_hazptr_fenced_retire lull__tsan_lull_hazptr_fenced_retire
LULL__ENDS_IN_FREE(lull_hazptr_fenced_retire);
LULL__TSAN_CALL(lull_hazptr_fenced_synchronize, (const void *addr), (addr),
		(void)0, LULL__TSAN_SEES_READERS)
#define lull_hazptr_fenced_synchronize lull__tsan_lull_hazptr_fenced_synchronize
LULL__TSAN_RESULT(int, lull_hazptr_fenced_synchronize_range_timeout,
		(const void *addr, size_t len, uint64_t timeout_ms),
		(addr, len, timeout_ms),
		(void)0, result == 0, LULL__TSAN_SEES_READERS)
#define lull_hazptr_fenced_synchronize_range_timeout lull__tsan_lull_hazptr_fenced_synchronize_range_timeout

LULL_END_DECLS

#endif

#endif /* LULL_TSAN_HAZPTR_FENCED_H */
