/* SPDX-License-Identifier: MIT */
/* The backlog as lull counts it itself, for gp_body.h. */
#include <lull/reclaim.h>

static inline uint64_t gp_peak(void)
{
	struct lull_reclaim_stats stats;

	lull_reclaim_stats(&stats);
	return stats.peak_items;
}

#define GP_PEAK_RESET() lull_reclaim_reset_peak()
#define GP_PEAK() gp_peak()
