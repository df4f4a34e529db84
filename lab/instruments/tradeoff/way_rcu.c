/* SPDX-License-Identifier: MIT */
/* lull tradeoff: RCU. All that a read section finds stays until it ends. */
#include <lull/rcu.h>

#include "instruments/tradeoff/bare_object.h"
#include "instruments/tradeoff/ways.h"

struct found {
	struct keep *object;
};

static void seen_and_free(struct lull_rcu_head *head)
{
	tradeoff_seen((uint64_t *)(void *)head);
	free(head);
}

static inline void find(struct found *found, struct tradeoff_cell *cell)
{
	lull_rcu_read_lock();
	found->object = lull_rcu_dereference(cell->object);
}

static inline void drop(struct found *found)
{
	(void)found;
	lull_rcu_read_unlock();
}

static inline uint64_t once(struct tradeoff_cell *cell, struct keep *object)
{
	uint64_t value;

	(void)object;
	lull_rcu_read_lock();
	value = lull_rcu_dereference(cell->object)->body[0];
	lull_rcu_read_unlock();
	return value;
}

static inline struct keep *publish(struct tradeoff_cell *cell, struct keep *object)
{
	return lull_xchg_acq_rel(&cell->object, object);
}

static inline void let_go(struct keep *object, size_t size)
{
	if (lull_unlikely(tradeoff_seen != NULL))
		lull_rcu_call_sized((struct lull_rcu_head *)(void *)object, seen_and_free, size);
	else
		lull_rcu_free_sized(object, size);
}

#include "instruments/tradeoff/way_body.h"

static struct keep *list_next(struct keep *node)
{
	return links_of(node)->next;
}

static void list_replace(struct keep *before, struct keep *victim)
{
	lull_rcu_assign(links_of(before)->next, list_make(list_next(victim)));
	let_go(victim, sizeof(struct links));
}

/* An object that is deleted meanwhile still leads on to the rest of the list, so no step is tried again. */
static void walk(struct keep *first, struct tradeoff_walk *counts)
{
	struct keep *at;

	lull_rcu_read_lock();
	for (at = lull_rcu_dereference(links_of(first)->next); at;
	     at = lull_rcu_dereference(links_of(at)->next))
		counts->steps++;
	lull_rcu_read_unlock();
}

const struct tradeoff_scheme tradeoff_rcu = {
	.name = "rcu",
	.title = "RCU",
	.said = "RCU",
	.header = "lull/rcu.h",
	.unbounded = true,
	.what = "a read section around the use; freed after a grace period",
	.may_not_block = "no deferred memory is freed until they wake",
	.effort = 2,
	SCHEME_FUNCTIONS,
};
