/* SPDX-License-Identifier: MIT */
/* A spin lock in the lowest bit of a pointer to an object, and publish() under it (way_body.h). */
#ifndef LULL_LAB_POINTER_LOCK_H
#define LULL_LAB_POINTER_LOCK_H

#include <sched.h>
#include <stdint.h>

#include <lull/atomic.h>

#include "instruments/tradeoff/ways.h"

#define LOCKED ((uintptr_t)1)
#define SPINS 64 /* before the owner, which may not be running, gets the CPU */

/* Return the pointer without its lock bit. */
static inline struct keep *lock(struct keep **p)
{
	unsigned spins = 0;

	for (;;) {
		struct keep *old =
			(struct keep *)((uintptr_t)lull_load_relaxed(p) & ~LOCKED);

		if (lull_cas_acquire(p, &old, (struct keep *)((uintptr_t)old | LOCKED)))
			return old;
		if (++spins % SPINS == 0)
			sched_yield();
	}
}

static inline void unlock(struct keep **p, struct keep *value)
{
	lull_store_release(p, value);
}

static inline struct keep *publish(struct tradeoff_cell *cell, struct keep *object)
{
	struct keep *old = lock(&cell->object);

	unlock(&cell->object, object);
	return old;
}

#endif
