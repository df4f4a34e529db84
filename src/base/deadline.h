/* SPDX-License-Identifier: MIT */
/*
 * deadline.h - points in time until which something waits, LULL__NEVER among them.
 */
#ifndef LULL_DEADLINE_H
#define LULL_DEADLINE_H

#include "../os/os.h"

/* Return the time @timeout_ms from now; LULL__NEVER if it is too large for the clock. */
static inline uint64_t lull__deadline_in_ms(uint64_t timeout_ms)
{
	uint64_t now_ns = lull__now_ns();

	return timeout_ms < (LULL__NEVER - now_ns) / 1000000u ? now_ns + timeout_ms * 1000000u : LULL__NEVER;
}

/* Is @deadline_ns past? Reads the clock only if there is a deadline. */
static inline bool lull__is_past(uint64_t deadline_ns)
{
	return deadline_ns != LULL__NEVER && lull__now_ns() >= deadline_ns;
}

static inline uint64_t lull__earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

#endif /* LULL_DEADLINE_H */
