/* SPDX-License-Identifier: MIT */
/* tsan_rcu_sync.h - what the calls of rcu_sync.h say to ThreadSanitizer: see tsan.h. */
#ifndef LULL_TSAN_RCU_SYNC_H
#define LULL_TSAN_RCU_SYNC_H

#include <lull/detail/tsan.h>

#ifdef LULL__TSAN_APART

LULL_BEGIN_DECLS

LULL__TSAN_CALL(lull_rcu_sync_enter, (struct lull_rcu_sync *rs), (rs),
		LULL__TSAN_LEAVES, LULL__TSAN_SEES_READERS)
#define lull_rcu_sync_enter lull__tsan_lull_rcu_sync_enter
LULL__TSAN_CALL(lull_rcu_sync_exit, (struct lull_rcu_sync *rs), (rs),
		LULL__TSAN_RELEASE(rs), (void)0)
#define lull_rcu_sync_exit lull__tsan_lull_rcu_sync_exit

LULL_END_DECLS

#endif

#endif /* LULL_TSAN_RCU_SYNC_H */
