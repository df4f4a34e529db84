/* SPDX-License-Identifier: MIT */
/*
 * page.h - what the tests of the page of stats.h share: a field, while others count, and comparisons that say both numbers.
 */
#ifndef LULL_TEST_PAGE_H
#define LULL_TEST_PAGE_H

#include <lull/stats.h>

#include "watch/stalls.h"

#define READ(field) lull_load_relaxed(&lull_stats_page()->field)

/* In a child, too. */
#define EQUAL(a, b)                                                                                \
	do {                                                                                       \
		unsigned long long a_ = (a), b_ = (b);                                             \
		if (a_ != b_)                                                                      \
			fprintf(stderr, "%s is %llu, and not %llu\n", #a, a_, b_);                 \
		must(a_ == b_);                                                                    \
	} while (0)

static inline uint64_t in_histogram(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < LULL_STATS_BUCKETS; i++)
		sum += READ(gp_ns[i]);
	return sum;
}

#endif /* LULL_TEST_PAGE_H */
