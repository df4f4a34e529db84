/* SPDX-License-Identifier: MIT */
/*
 * library.h - how a test sets up the library, and hears what it says.
 */
#ifndef LULL_TEST_LIBRARY_H
#define LULL_TEST_LIBRARY_H

#include "test.h"

#include <lull/debug.h>
#include <lull/rcu.h>
#include <lull/reclaim.h>

/* Report a wait every @ms milliseconds, 0: never. The core alone (tests/core) never does. */
static inline void set_stall_ms(uint32_t ms)
{
#ifndef LULL_TEST_CORE
	lull_debug_set_stall_ms(ms);
#else
	(void)ms;
#endif
}

/* Say who reclaims from here on; all else as it is by default. */
static inline void set_mode(enum lull_reclaim_mode mode)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.mode = mode;
	assert_int_equal(lull_reclaim_configure(&config), 0);
}

/* How much has been deferred and not reclaimed. */
static inline size_t waiting(void)
{
	struct lull_reclaim_counts stats;

	lull_reclaim_stats(&stats);
	return stats.items;
}

/* The library's words: the last line, and how many there were. */
static char heard[512];
static int heard_lines;

static inline void hear(const char *line)
{
	snprintf(heard, sizeof(heard), "%s", line);
	lull_add_relaxed(&heard_lines, 1);
}

static inline void start_hearing(void)
{
	heard[0] = '\0';
	heard_lines = 0;
	lull_debug_set_message_hook(hear);
}

static inline void stop_hearing(void)
{
	lull_debug_set_message_hook(NULL);
}

static inline void check_silence(void)
{
	if (heard_lines)
		print_error("heard: %s\n", heard);
	assert_int_equal(heard_lines, 0);
}

#endif /* LULL_TEST_LIBRARY_H */
