/* SPDX-License-Identifier: MIT */
/*
 * retired.h - what the tests of checks of what is retired share: an object, all ways to defer it, and the words of its
 * line.
 */
#ifndef LULL_TEST_RETIRED_SUPPORT_H
#define LULL_TEST_RETIRED_SUPPORT_H

#include "check/support.h"

#include <lull/bridge.h>
#include <lull/hazptr_fenced.h>

struct thing {
	int before; /* so that the head has an address of its own */
	struct lull_rcu_head rcu;
	int after;
};

static struct thing *thing;

static inline void make_thing(void)
{
	thing = (struct thing *)calloc(1, sizeof(*thing));
	must(thing);
}

static inline void thing_gone(struct lull_rcu_head *head)
{
	free(lull_container_of(head, struct thing, rcu));
}

/* The ways to defer. The address of each is where the line has to say that it was done. */
#define WAY(name, call)                                                                            \
	static __attribute__((noinline)) void name(void)                                           \
	{                                                                                          \
		call;                                                                              \
		lull_compiler_barrier(); /* no tail call, whose address would be of the caller */  \
	}
WAY(way_free, lull_rcu_free(thing))
WAY(way_free_sized, lull_rcu_free_sized(thing, sizeof(*thing)))
WAY(way_retire, lull_hazptr_retire(thing))
WAY(way_retire_sized, lull_hazptr_retire_sized(thing, sizeof(*thing)))
WAY(way_full_retire, lull_hazptr_fenced_retire(thing))
WAY(way_free_hazptr, lull_rcu_free_hazptr(thing))
WAY(way_call, lull_rcu_call(&thing->rcu, thing_gone))
WAY(way_call_sized, lull_rcu_call_sized(&thing->rcu, thing_gone, sizeof(*thing)))
WAY(way_hazptr_call, lull_hazptr_call(&thing->rcu, thing_gone))
WAY(way_hazptr_call_sized, lull_hazptr_call_sized(&thing->rcu, thing_gone, sizeof(*thing)))
WAY(way_full_call, lull_hazptr_fenced_call(&thing->rcu, thing_gone))
WAY(way_call_hazptr, lull_rcu_call_hazptr(&thing->rcu, thing_gone))
WAY(way_call_hazptr_sized, lull_rcu_call_hazptr_sized(&thing->rcu, thing_gone, sizeof(*thing)))

static const struct way {
	void (*defer)(void);
	const char *name;
	bool is_call;
} ways[] = {
	{ way_free, "lull_rcu_free", false },
	{ way_free_sized, "lull_rcu_free", false },
	{ way_retire, "lull_hazptr_retire", false },
	{ way_retire_sized, "lull_hazptr_retire", false },
	{ way_full_retire, "lull_hazptr_retire", false },
	{ way_free_hazptr, "lull_rcu_free_hazptr", false },
	{ way_call, "lull_rcu_call", true },
	{ way_call_sized, "lull_rcu_call", true },
	{ way_hazptr_call, "lull_hazptr_call", true },
	{ way_hazptr_call_sized, "lull_hazptr_call", true },
	{ way_full_call, "lull_hazptr_call", true },
	{ way_call_hazptr, "lull_rcu_call_hazptr", true },
	{ way_call_hazptr_sized, "lull_rcu_call_hazptr", true },
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static const struct way *first; /* in which the thing was deferred, to begin with */

static inline const void *named(const struct way *way)
{
	return way->is_call ? (const void *)&thing->rcu : (const void *)thing;
}

/* Deferred in the first way, by this thread, at a place that is not known exactly. */
static inline const char *story(void)
{
	static char words[256];

	wanted->site_of = (const char *)(uintptr_t)first->defer;
	snprintf(words, sizeof(words), "thread \"%s\" (tid %u) gave to %s at " SITE, own_name(), own_tid(), first->name);
	return words;
}

#endif /* LULL_TEST_RETIRED_SUPPORT_H */
