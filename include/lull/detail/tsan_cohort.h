/* SPDX-License-Identifier: MIT */
/* tsan_cohort.h - what the calls of cohort.h say to ThreadSanitizer: see tsan.h. */
#ifndef LULL_TSAN_COHORT_H
#define LULL_TSAN_COHORT_H

#include <lull/detail/tsan.h>

#ifdef LULL__TSAN_APART

LULL_BEGIN_DECLS

LULL__TSAN_CALL(lull_cohort_call_rcu,
		(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func),
		(c, head, func),
		LULL__TSAN_DEFERS, (void)0)
#define lull_cohort_call_rcu lull__tsan_lull_cohort_call_rcu
LULL__TSAN_CALL(lull_cohort_call_rcu_sized,
		(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func, size_t bytes),
		(c, head, func, bytes),
		LULL__TSAN_DEFERS, (void)0)
#define lull_cohort_call_rcu_sized lull__tsan_lull_cohort_call_rcu_sized
LULL__TSAN_CALL(lull_cohort_call_hazptr,
		(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func),
		(c, head, func),
		LULL__TSAN_DEFERS, (void)0)
#define lull_cohort_call_hazptr lull__tsan_lull_cohort_call_hazptr
LULL__TSAN_CALL(lull_cohort_call_hazptr_sized,
		(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func, size_t bytes),
		(c, head, func, bytes),
		LULL__TSAN_DEFERS, (void)0)
#define lull_cohort_call_hazptr_sized lull__tsan_lull_cohort_call_hazptr_sized
LULL__TSAN_CALL(lull_cohort_call_rcu_hazptr,
		(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func),
		(c, head, func),
		LULL__TSAN_DEFERS, (void)0)
#define lull_cohort_call_rcu_hazptr lull__tsan_lull_cohort_call_rcu_hazptr
LULL__TSAN_CALL(lull_cohort_call_rcu_hazptr_sized,
		(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func, size_t bytes),
		(c, head, func, bytes),
		LULL__TSAN_DEFERS, (void)0)
#define lull_cohort_call_rcu_hazptr_sized lull__tsan_lull_cohort_call_rcu_hazptr_sized
LULL__TSAN_CALL(lull_cohort_wait, (struct lull_cohort *c), (c),
		LULL__TSAN_LEAVES, LULL__TSAN_SEES_CALLS)
#define lull_cohort_wait lull__tsan_lull_cohort_wait
LULL__TSAN_RESULT(int, lull_cohort_wait_timeout, (struct lull_cohort *c, uint64_t timeout_ms),
		(c, timeout_ms),
		LULL__TSAN_LEAVES, result == 0, LULL__TSAN_SEES_CALLS)
#define lull_cohort_wait_timeout lull__tsan_lull_cohort_wait_timeout
LULL__TSAN_CALL(lull_cohort_destroy, (struct lull_cohort *c), (c),
		LULL__TSAN_LEAVES, LULL__TSAN_SEES_CALLS)
#define lull_cohort_destroy lull__tsan_lull_cohort_destroy
LULL__TSAN_RESULT(bool, lull_cohort_is_empty, (const struct lull_cohort *c), (c),
		(void)0, result, LULL__TSAN_SEES_CALLS)
#define lull_cohort_is_empty lull__tsan_lull_cohort_is_empty

LULL_END_DECLS

#endif

#endif /* LULL_TSAN_COHORT_H */
