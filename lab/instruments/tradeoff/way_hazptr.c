/* SPDX-License-Identifier: MIT */
/* lull tradeoff: hazard pointers. A reader names what it uses. */
#include <lull/hazptr.h>

#include "instruments/tradeoff/bare_object.h"
#include "instruments/tradeoff/ways.h"

struct found {
	struct keep *object;
	struct lull_hazptr *slot;
};

static void seen_and_free(struct lull_rcu_head *head)
{
	tradeoff_seen((uint64_t *)(void *)head);
	free(head);
}

/* Take one of the thread's eight slots; no caller holds more than two. */
static inline struct lull_hazptr *slot(void)
{
	return lull_hazptr_alloc(lull_hazptr_thread_context());
}

static inline void give_back(struct lull_hazptr *h)
{
	lull_hazptr_free(lull_hazptr_thread_context(), h);
}

static inline void find(struct found *found, struct tradeoff_cell *cell)
{
	found->slot = slot();
	found->object = lull_hazptr_protect_ptr(found->slot, cell->object);
}

static inline void drop(struct found *found)
{
	give_back(found->slot);
}

static inline uint64_t once(struct tradeoff_cell *cell, struct keep *object)
{
	struct found found;
	uint64_t value;

	(void)object;
	find(&found, cell);
	value = found.object->body[0];
	drop(&found);
	return value;
}

static inline struct keep *publish(struct tradeoff_cell *cell, struct keep *object)
{
	return lull_xchg_acq_rel(&cell->object, object);
}

/* The head that the call takes is at the object's own address, which the slots name. */
static inline void let_go(struct keep *object, size_t size)
{
	if (lull_unlikely(tradeoff_seen != NULL))
		lull_hazptr_call_sized((struct lull_rcu_head *)(void *)object, seen_and_free, size);
	else
		lull_hazptr_retire_sized(object, size);
}

#include "instruments/tradeoff/way_body.h"

static struct keep *list_next(struct keep *node)
{
	return links_of(node)->next;
}

static void list_replace(struct keep *before, struct keep *victim)
{
	lull_store_relaxed(&links_of(victim)->deleted, 1);
	lull_hazptr_publish(links_of(before)->next, list_make(list_next(victim)));
	let_go(victim, sizeof(struct links));
}

/*
 * The next node, protected by @h; NULL at the end of the list. It may be freed nevertheless if `at` was deleted before:
 * a deleted node keeps its pointer to the next one.
 */
static struct keep *step(struct lull_hazptr *h, struct keep *at, struct tradeoff_walk *counts,
			 bool *deleted)
{
	struct links *links = links_of(at);
	struct keep *next;

	while (!(next = lull_hazptr_tryprotect_ptr(h, links->next)) &&
	       lull_load_acquire(&links->next))
		counts->again++;
	*deleted = lull_load_relaxed(&links->deleted);
	return next;
}

static void walk(struct keep *first, struct tradeoff_walk *counts)
{
	struct lull_hazptr *here = slot(), *there = slot(), *other;
	struct keep *at = first, *next;
	bool deleted;

	while ((next = step(there, at, counts, &deleted)) != NULL || deleted) {
		if (deleted) {
			counts->restarts++;
			at = first;
			continue;
		}
		at = next;
		other = here;
		here = there;
		there = other;
		counts->steps++;
	}
	give_back(here > there ? here : there);
	give_back(here > there ? there : here);
}

const struct tradeoff_scheme tradeoff_hazptr = {
	.name = "hazptr",
	.title = "hazard pointer",
	.said = "hazard pointers",
	.header = "lull/hazptr.h",
	.what = "the reader names the object in a slot; freed when no slot names it",
	.effort = 4,
	SCHEME_FUNCTIONS,
};
