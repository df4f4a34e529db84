/* SPDX-License-Identifier: MIT */
/* The backlog as lull counts it itself, and the limit on it, for gp_body.h. */
#include <stdlib.h>

#include <lull/reclaim.h>

static inline uint64_t gp_peak(void)
{
	struct lull_reclaim_counts stats;

	lull_reclaim_stats(&stats);
	return stats.peak_items;
}

#define GP_PEAK_RESET() lull_reclaim_reset_peak()
#define GP_PEAK() gp_peak()

/* Limit the backlog to @items; threads that defer help to keep it. 0: the limit as at the start. */
static inline void gp_limit(size_t items)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	if (items) {
		config.hard_items = items;
		config.on_hard = LULL_RECLAIM_HELP;
	}
	if (lull_reclaim_configure(&config) != 0)
		abort();
}

#define GP_LIMIT_ITEMS 8192u
