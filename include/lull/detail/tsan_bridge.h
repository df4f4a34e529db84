/* SPDX-License-Identifier: MIT */
/* tsan_bridge.h - what the calls of bridge.h say to ThreadSanitizer: see tsan.h. */
#ifndef LULL_TSAN_BRIDGE_H
#define LULL_TSAN_BRIDGE_H

#include <lull/detail/tsan.h>

#ifdef LULL__TSAN_APART

LULL_BEGIN_DECLS

LULL__TSAN_CALL(lull_rcu_call_hazptr, (struct lull_head *head, lull_rcu_func func), (head, func),
		LULL__TSAN_DEFERS, (void)0)
#define lull_rcu_call_hazptr lull__tsan_lull_rcu_call_hazptr
LULL__TSAN_CALL(lull_rcu_call_hazptr_sized, (struct lull_head *head, lull_rcu_func func, size_t bytes),
		(head, func, bytes),
		LULL__TSAN_DEFERS, (void)0)
#define lull_rcu_call_hazptr_sized lull__tsan_lull_rcu_call_hazptr_sized
LULL__TSAN_CALL(lull_rcu_free_hazptr, (void *ptr), (ptr), LULL__TSAN_DEFERS, (void)0)
#define lull_rcu_free_hazptr lull__tsan_lull_rcu_free_hazptr
LULL__ENDS_IN_FREE(lull_rcu_free_hazptr);

LULL_END_DECLS

#endif

#endif /* LULL_TSAN_BRIDGE_H */
