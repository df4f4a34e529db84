/* SPDX-License-Identifier: MIT */
/* lull tradeoff: a lock for each object, as in a table with a lock for each bucket. A reader has it while it holds. */
#include "instruments/tradeoff/bare_object.h"
#include "instruments/tradeoff/pointer_lock.h"
#include "instruments/tradeoff/ways.h"

struct found {
	struct keep *object;
	struct tradeoff_cell *cell;
};

static inline void find(struct found *found, struct tradeoff_cell *cell)
{
	found->cell = cell;
	found->object = lock(&cell->object);
}

static inline void drop(struct found *found)
{
	unlock(&found->cell->object, found->object);
}

static inline uint64_t once(struct tradeoff_cell *cell, struct keep *object)
{
	uint64_t value;

	(void)object;
	object = lock(&cell->object);
	value = object->body[0];
	unlock(&cell->object, object);
	return value;
}

static inline void let_go(struct keep *object, size_t size)
{
	(void)size;
	free(object);
}

#define WAY_IS_LOCK
#include "instruments/tradeoff/way_body.h"

const struct tradeoff_scheme tradeoff_spinlock = {
	.name = "spinlock",
	.title = "spin lock each",
	.said = "a spin lock for each object",
	.what = "a spin lock for each object; a reader has it while it holds the object",
	.may_not_block = "other threads that want the object spin until they wake",
	.is_lock = true,
	.effort = 3,
	MIX_FUNCTIONS,
};
