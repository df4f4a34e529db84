/* SPDX-License-Identifier: MIT */
/* lull tradeoff: an object that has no count and no lock, only its body. Included by the ways that need no more. */
#ifndef LULL_LAB_BARE_OBJECT_H
#define LULL_LAB_BARE_OBJECT_H

#include <stdint.h>

struct keep {
	uint64_t body[1];
};

static inline void begin(struct keep *object)
{
	(void)object;
}

static inline void end(struct keep *object)
{
	(void)object;
}

#endif
