/* SPDX-License-Identifier: MIT */
/*
 * random.h - chance that can be repeated: each random test says its seed, which is the same each time, or that of
 * LULL_TEST_SEED=N in the environment.
 */
#ifndef LULL_TEST_RANDOM_H
#define LULL_TEST_RANDOM_H

#include <inttypes.h>

#include "test.h"

static inline uint64_t test_seed(void)
{
	const char *given = getenv("LULL_TEST_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : 20260711;

	print_message("LULL_TEST_SEED=%" PRIu64 "\n", seed);
	return seed;
}

/* A number below @sides. */
static inline unsigned dice(uint64_t *random, unsigned sides)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(*random >> 33) % sides;
}

#endif /* LULL_TEST_RANDOM_H */
