/* SPDX-License-Identifier: MIT */
/*
 * lull tradeoff: one atomic count in the object, and nothing else. The pointer to the object has a lock in its lowest
 * bit, so that a reader can count the object before it is gone.
 */
#include <lull/refcount.h>

#include "instruments/tradeoff/pointer_lock.h"
#include "instruments/tradeoff/ways.h"

struct keep {
	struct lull_refcount count;
	uint64_t body[1];
};

struct found {
	struct keep *object;
};

static inline void begin(struct keep *object)
{
	lull_refcount_set(&object->count, 1);
}

static inline void end(struct keep *object)
{
	(void)object;
}

static inline void put(struct keep *object)
{
	if (!lull_refcount_dec_and_test(&object->count))
		return;
	if (lull_unlikely(tradeoff_seen != NULL))
		tradeoff_seen(object->body);
	free(object);
}

static inline void find(struct found *found, struct tradeoff_cell *cell)
{
	struct keep *object = lock(&cell->object);

	lull_refcount_inc(&object->count);
	unlock(&cell->object, object);
	found->object = object;
}

static inline void drop(struct found *found)
{
	put(found->object);
}

static inline uint64_t once(struct tradeoff_cell *cell, struct keep *object)
{
	uint64_t value;

	(void)cell;
	lull_refcount_inc(&object->count);
	value = object->body[0];
	put(object);
	return value;
}

static inline void let_go(struct keep *object, size_t size)
{
	(void)size;
	put(object);
}

#include "instruments/tradeoff/way_body.h"

static struct keep *list_next(struct keep *node)
{
	return (struct keep *)((uintptr_t)lull_load_relaxed(&links_of(node)->next) & ~LOCKED);
}

/* A node has a reference to the next one, unless it was deleted: then its successor has it. */
static void list_replace(struct keep *before, struct keep *victim)
{
	struct links *from = links_of(before), *gone = links_of(victim);
	struct keep *next, *fresh;

	lock(&from->next);
	next = lock(&gone->next);
	fresh = list_make(next);
	gone->deleted = 1;
	unlock(&gone->next, next);
	unlock(&from->next, fresh);
	put(victim);
}

static void walk(struct keep *first, struct tradeoff_walk *counts)
{
	struct keep *at = first, *next;

	lull_refcount_inc(&at->count);
	for (;;) {
		struct links *links = links_of(at);
		bool deleted;

		next = lock(&links->next);
		deleted = links->deleted;
		if (next && !deleted)
			lull_refcount_inc(&next->count);
		unlock(&links->next, next);
		counts->restarts += deleted;
		if (deleted) {
			next = first;
			lull_refcount_inc(&next->count);
		}
		put(at);
		if (!next)
			return;
		at = next;
		counts->steps++;
	}
}

const struct tradeoff_scheme tradeoff_refcount = {
	.name = "refcount",
	.title = "atomic count",
	.said = "a reference count",
	.header = "lull/refcount.h",
	.what = "one count in the object; the pointer to it has a lock, for who finds it there",
	.effort = 1,
	SCHEME_FUNCTIONS,
};
