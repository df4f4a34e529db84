/* SPDX-License-Identifier: MIT */
/* tsan_hazptr.h - what the calls of hazptr.h say to ThreadSanitizer: see tsan.h. */
#ifndef LULL_TSAN_HAZPTR_H
#define LULL_TSAN_HAZPTR_H

#include <lull/detail/tsan.h>

#ifdef LULL__TSAN_APART

LULL_BEGIN_DECLS

LULL__TSAN_RESULT(void *, lull__hazptr_protect_again,
		(struct lull_hazptr *h, const void *src, uintptr_t seen, uintptr_t offset),
		(h, src, seen, offset),
		(void)0, true, LULL__TSAN_ACQUIRE(src))
#define lull__hazptr_protect_again lull__tsan_lull__hazptr_protect_again
LULL__TSAN_CALL(lull_hazptr_detach, (struct lull_hazptr_hold *hold), (hold),
		LULL__TSAN_RELEASE(LULL__TSAN_READERS), (void)0)
#define lull_hazptr_detach lull__tsan_lull_hazptr_detach
LULL__TSAN_CALL(lull_hazptr_context_cleanup, (struct lull_hazptr_context *ctx), (ctx),
		LULL__TSAN_RELEASE(LULL__TSAN_READERS), (void)0)
#define lull_hazptr_context_cleanup lull__tsan_lull_hazptr_context_cleanup
LULL__TSAN_CALL(lull_hazptr_call, (struct lull_head *head, lull_rcu_func func), (head, func),
		LULL__TSAN_DEFERS, (void)0)
#define lull_hazptr_call lull__tsan_lull_hazptr_call
LULL__TSAN_CALL(lull_hazptr_call_sized, (struct lull_head *head, lull_rcu_func func, size_t bytes),
		(head, func, bytes),
		LULL__TSAN_DEFERS, (void)0)
#define lull_hazptr_call_sized lull__tsan_lull_hazptr_call_sized
LULL__TSAN_CALL(lull_hazptr_call_pure_sized, (struct lull_head *head, lull_rcu_func func, size_t bytes),
		(head, func, bytes),
		LULL__TSAN_DEFERS, (void)0)
#define lull_hazptr_call_pure_sized lull__tsan_lull_hazptr_call_pure_sized
LULL__TSAN_CALL(lull_hazptr_retire, (void *ptr), (ptr), LULL__TSAN_DEFERS, (void)0)
#define lull_hazptr_retire lull__tsan_lull_hazptr_retire
LULL__ENDS_IN_FREE(lull_hazptr_retire);
LULL__TSAN_CALL(lull_hazptr_retire_sized, (void *ptr, size_t bytes), (ptr, bytes),
		LULL__TSAN_DEFERS, (void)0)
#define lull_hazptr_retire_sized lull__tsan_lull_hazptr_retire_sized
LULL__ENDS_IN_FREE(lull_hazptr_retire_sized);
LULL__TSAN_CALL(lull_hazptr_synchronize, (const void *addr), (addr),
		(void)0, LULL__TSAN_SEES_READERS)
#define lull_hazptr_synchronize lull__tsan_lull_hazptr_synchronize
LULL__TSAN_CALL(lull_hazptr_synchronize_range, (const void *addr, size_t len), (addr, len),
		(void)0, LULL__TSAN_SEES_READERS)
#define lull_hazptr_synchronize_range lull__tsan_lull_hazptr_synchronize_range
LULL__TSAN_RESULT(int, lull_hazptr_synchronize_timeout, (const void *addr, uint64_t timeout_ms),
		(addr, timeout_ms),
		(void)0, result == 0, LULL__TSAN_SEES_READERS)
#define lull_hazptr_synchronize_timeout lull__tsan_lull_hazptr_synchronize_timeout
LULL__TSAN_RESULT(int, lull_hazptr_synchronize_range_timeout, (const void *addr, size_t len, uint64_t timeout_ms),
		(addr, len, timeout_ms),
		(void)0, result == 0, LULL__TSAN_SEES_READERS)
#define lull_hazptr_synchronize_range_timeout lull__tsan_lull_hazptr_synchronize_range_timeout
LULL__TSAN_CALL(lull_hazptr_barrier, (void), (), LULL__TSAN_LEAVES, LULL__TSAN_SEES_CALLS)
#define lull_hazptr_barrier lull__tsan_lull_hazptr_barrier
LULL__TSAN_RESULT(int, lull_hazptr_barrier_timeout, (uint64_t timeout_ms), (timeout_ms),
		LULL__TSAN_LEAVES, result == 0, LULL__TSAN_SEES_CALLS)
#define lull_hazptr_barrier_timeout lull__tsan_lull_hazptr_barrier_timeout

LULL_END_DECLS

#endif

#endif /* LULL_TSAN_HAZPTR_H */
