/* SPDX-License-Identifier: MIT */
/* tsan_reclaim.h - what the calls of reclaim.h say to ThreadSanitizer: see tsan.h. */
#ifndef LULL_TSAN_RECLAIM_H
#define LULL_TSAN_RECLAIM_H

#include <lull/detail/tsan.h>

#ifdef LULL__TSAN_APART

#include <lull/rcu.h>

LULL_BEGIN_DECLS

LULL__TSAN_RESULT(int, lull_reclaim_drain, (uint64_t timeout_ms), (timeout_ms),
		LULL__TSAN_LEAVES, result == 0, LULL__TSAN_SEES_CALLS)
#define lull_reclaim_drain lull__tsan_lull_reclaim_drain

LULL_END_DECLS

#endif

#endif /* LULL_TSAN_RECLAIM_H */
