/* SPDX-License-Identifier: MIT */
/*
 * One lock over all objects, which a reader has while it holds an object. Include it after READ_LOCK(), READ_UNLOCK(),
 * WRITE_LOCK() and WRITE_UNLOCK(); it brings way_body.h along.
 */
#include <stdlib.h>

#include "instruments/tradeoff/bare_object.h"
#include "instruments/tradeoff/ways.h"

struct found {
	struct keep *object;
};

static inline void find(struct found *found, struct tradeoff_cell *cell)
{
	READ_LOCK();
	found->object = cell->object;
}

static inline void drop(struct found *found)
{
	(void)found;
	READ_UNLOCK();
}

static inline uint64_t once(struct tradeoff_cell *cell, struct keep *object)
{
	uint64_t value;

	(void)object;
	READ_LOCK();
	value = cell->object->body[0];
	READ_UNLOCK();
	return value;
}

static inline struct keep *publish(struct tradeoff_cell *cell, struct keep *object)
{
	struct keep *old;

	WRITE_LOCK();
	old = cell->object;
	cell->object = object;
	WRITE_UNLOCK();
	return old;
}

static inline void let_go(struct keep *object, size_t size)
{
	(void)size;
	free(object);
}

#define WAY_IS_LOCK
#include "instruments/tradeoff/way_body.h"
