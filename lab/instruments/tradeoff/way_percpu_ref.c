/* SPDX-License-Identifier: MIT */
/* lull tradeoff: a count for each CPU. Objects are found in RCU read sections (ref_handoff.h). */
#include <lull/ref_handoff.h>

#include "instruments/tradeoff/ways.h"

struct keep {
	struct lull_percpu_ref ref;
	uint64_t body[1];
};

struct found {
	struct keep *object;
};

static void seen_and_free(struct lull_rcu_head *head)
{
	uint64_t *body = (uint64_t *)(void *)head;

	tradeoff_seen(body);
	free((char *)body - offsetof(struct keep, body));
}

static void release(struct lull_percpu_ref *ref)
{
	struct keep *object = (struct keep *)(void *)((char *)ref - offsetof(struct keep, ref));

	lull_percpu_ref_exit(ref);
	/* A reader that has just found the object may still look whether it is dead. */
	if (tradeoff_seen)
		lull_rcu_call((struct lull_rcu_head *)(void *)object->body, seen_and_free);
	else
		lull_rcu_free(object);
}

static inline void begin(struct keep *object)
{
	if (lull_percpu_ref_init(&object->ref, release, 0) != 0)
		options_fail("out of memory");
}

static inline void end(struct keep *object)
{
	lull_percpu_ref_exit(&object->ref);
}

static inline void find(struct found *found, struct tradeoff_cell *cell)
{
	found->object = lull_ref_handoff_rcu_percpu(&cell->object, ref);
}

static inline void drop(struct found *found)
{
	lull_percpu_ref_put(&found->object->ref);
}

static inline uint64_t once(struct tradeoff_cell *cell, struct keep *object)
{
	uint64_t value;

	(void)cell;
	lull_percpu_ref_get(&object->ref);
	value = object->body[0];
	lull_percpu_ref_put(&object->ref);
	return value;
}

static inline struct keep *publish(struct tradeoff_cell *cell, struct keep *object)
{
	return lull_xchg_acq_rel(&cell->object, object);
}

static inline void let_go(struct keep *object, size_t size)
{
	(void)size;
	lull_percpu_ref_kill(&object->ref);
}

#include "instruments/tradeoff/way_body.h"

static struct keep *list_next(struct keep *node)
{
	return links_of(node)->next;
}

static void list_replace(struct keep *before, struct keep *victim)
{
	lull_store_relaxed(&links_of(victim)->deleted, 1);
	lull_rcu_assign(links_of(before)->next, list_make(list_next(victim)));
	let_go(victim, sizeof(struct links));
}

/*
 * The next node, with a reference; NULL at the end of the list. Where `at` is not deleted, its next
 * node was in the list when the section began, and so is still there for a try.
 */
static struct keep *step(struct keep *at, struct tradeoff_walk *counts, bool *deleted)
{
	struct links *links = links_of(at);
	struct keep *next;
	bool got;

	do {
		got = true;
		lull_rcu_read_lock();
		next = lull_load_acquire(&links->next);
		*deleted = lull_load_relaxed(&links->deleted);
		if (next && !*deleted)
			got = lull_percpu_ref_tryget_live(&next->ref);
		lull_rcu_read_unlock();
		counts->again += !got;
	} while (!got && !*deleted);
	return next;
}

static void walk(struct keep *first, struct tradeoff_walk *counts)
{
	struct keep *at = first, *next;
	bool deleted;

	lull_percpu_ref_get(&at->ref);
	for (;;) {
		next = step(at, counts, &deleted);
		counts->restarts += deleted;
		if (deleted) {
			next = first;
			lull_percpu_ref_get(&next->ref);
		}
		lull_percpu_ref_put(&at->ref);
		if (!next)
			return;
		at = next;
		counts->steps++;
	}
}

const struct tradeoff_scheme tradeoff_percpu_ref = {
	.name = "percpu_ref",
	.title = "per-CPU count",
	.said = "a count per CPU",
	.header = "lull/percpu_ref.h",
	.what = "a count for each CPU; the object is found in an RCU read section",
	.effort = 3,
	SCHEME_FUNCTIONS,
};
