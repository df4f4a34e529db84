/* SPDX-License-Identifier: MIT */
/* tsan_rcu_domain.h - what the calls of rcu_domain.h say to ThreadSanitizer: see tsan.h. */
#ifndef LULL_TSAN_RCU_DOMAIN_H
#define LULL_TSAN_RCU_DOMAIN_H

#include <lull/detail/tsan.h>

#ifdef LULL__TSAN_APART

LULL_BEGIN_DECLS

LULL__TSAN_CALL(lull_rcu_domain_synchronize, (struct lull_rcu_domain *d), (d),
		LULL__TSAN_LEAVES, LULL__TSAN_ACQUIRE(d))
#define lull_rcu_domain_synchronize lull__tsan_lull_rcu_domain_synchronize
LULL__TSAN_RESULT(bool, lull_rcu_domain_gp_poll, (struct lull_rcu_domain *d, lull_rcu_cookie cookie),
		(d, cookie),
		(void)0, result, LULL__TSAN_ACQUIRE(d))
#define lull_rcu_domain_gp_poll lull__tsan_lull_rcu_domain_gp_poll
LULL__TSAN_CALL(lull_rcu_domain_gp_wait, (struct lull_rcu_domain *d, lull_rcu_cookie cookie), (d, cookie),
		LULL__TSAN_LEAVES, LULL__TSAN_ACQUIRE(d))
#define lull_rcu_domain_gp_wait lull__tsan_lull_rcu_domain_gp_wait
LULL__TSAN_CALL(lull_rcu_domain_call, (struct lull_rcu_domain *d, struct lull_head *head, lull_rcu_func func),
		(d, head, func),
		LULL__TSAN_DEFERS, (void)0)
#define lull_rcu_domain_call lull__tsan_lull_rcu_domain_call
LULL__TSAN_CALL(lull_rcu_domain_barrier, (struct lull_rcu_domain *d), (d),
		LULL__TSAN_LEAVES, LULL__TSAN_ACQUIRE(d); LULL__TSAN_SEES_CALLS)
#define lull_rcu_domain_barrier lull__tsan_lull_rcu_domain_barrier
LULL__TSAN_CALL(lull_rcu_domain_destroy, (struct lull_rcu_domain *d), (d),
		LULL__TSAN_LEAVES, LULL__TSAN_ACQUIRE(d); LULL__TSAN_SEES_CALLS)
#define lull_rcu_domain_destroy lull__tsan_lull_rcu_domain_destroy

LULL_END_DECLS

#endif

#endif /* LULL_TSAN_RCU_DOMAIN_H */
