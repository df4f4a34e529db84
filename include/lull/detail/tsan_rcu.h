/* SPDX-License-Identifier: MIT */
/* tsan_rcu.h - what the calls of rcu.h say to ThreadSanitizer: see tsan.h. */
#ifndef LULL_TSAN_RCU_H
#define LULL_TSAN_RCU_H

#include <lull/detail/tsan.h>

#ifdef LULL__TSAN_APART

LULL_BEGIN_DECLS

LULL__TSAN_CALL(lull_rcu_synchronize, (void), (), LULL__TSAN_LEAVES, LULL__TSAN_SEES_READERS)
#define lull_rcu_synchronize lull__tsan_lull_rcu_synchronize
LULL__TSAN_RESULT(bool, lull_rcu_gp_poll, (lull_rcu_cookie cookie), (cookie),
		(void)0, result, LULL__TSAN_SEES_READERS)
#define lull_rcu_gp_poll lull__tsan_lull_rcu_gp_poll
LULL__TSAN_CALL(lull_rcu_gp_wait, (lull_rcu_cookie cookie), (cookie),
		LULL__TSAN_LEAVES, LULL__TSAN_SEES_READERS)
#define lull_rcu_gp_wait lull__tsan_lull_rcu_gp_wait
LULL__TSAN_CALL(lull_rcu_offline, (void), (), LULL__TSAN_LEAVES, (void)0)
#define lull_rcu_offline lull__tsan_lull_rcu_offline
LULL__TSAN_CALL(lull_rcu_barrier, (void), (), LULL__TSAN_LEAVES, LULL__TSAN_SEES_CALLS)
#define lull_rcu_barrier lull__tsan_lull_rcu_barrier
LULL__TSAN_CALL(lull_rcu_call, (struct lull_head *head, lull_rcu_func func), (head, func),
		LULL__TSAN_DEFERS, (void)0)
#define lull_rcu_call lull__tsan_lull_rcu_call
LULL__TSAN_CALL(lull_rcu_call_sized, (struct lull_head *head, lull_rcu_func func, size_t bytes),
		(head, func, bytes),
		LULL__TSAN_DEFERS, (void)0)
#define lull_rcu_call_sized lull__tsan_lull_rcu_call_sized
LULL__TSAN_CALL(lull_rcu_call_pure, (struct lull_head *head, lull_rcu_func func), (head, func),
		LULL__TSAN_DEFERS, (void)0)
#define lull_rcu_call_pure lull__tsan_lull_rcu_call_pure
LULL__TSAN_CALL(lull_rcu_call_pure_sized, (struct lull_head *head, lull_rcu_func func, size_t bytes),
		(head, func, bytes),
		LULL__TSAN_DEFERS, (void)0)
#define lull_rcu_call_pure_sized lull__tsan_lull_rcu_call_pure_sized
LULL__TSAN_CALL(lull_rcu_free, (void *ptr), (ptr), LULL__TSAN_DEFERS, (void)0)
#define lull_rcu_free lull__tsan_lull_rcu_free
LULL__ENDS_IN_FREE(lull_rcu_free);
LULL__TSAN_CALL(lull_rcu_free_sized, (void *ptr, size_t bytes), (ptr, bytes),
		LULL__TSAN_DEFERS, (void)0)
#define lull_rcu_free_sized lull__tsan_lull_rcu_free_sized
LULL__ENDS_IN_FREE(lull_rcu_free_sized);

LULL_END_DECLS

#endif

#endif /* LULL_TSAN_RCU_H */
