/* SPDX-License-Identifier: MIT */
/*
 * soft.c - twice the soft limit, which may be more than there are numbers.
 */
#include "library.h"

#include "../src/reclaim/backlog.h"

TEST(largest)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	config.soft_items = SIZE_MAX / 2 + 2; /* twice that is 2 */
	config.soft_bytes = config.hard_items = config.hard_bytes = 0;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	lull_store_relaxed(&lull__reclaimer.items, (size_t)100);
	assert_false(lull__over_soft(false));
	assert_false(lull__over_soft(true));
	config.soft_items = 49;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	assert_true(lull__over_soft(true));
	config.soft_items = 50;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	assert_false(lull__over_soft(true));
	lull_store_relaxed(&lull__reclaimer.items, (size_t)0);
}
