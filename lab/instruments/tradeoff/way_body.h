/* SPDX-License-Identifier: MIT */
/*
 * Code that all schemes of `lull tradeoff` share, compiled once per scheme. Include it after the scheme has defined
 *
 *	struct keep		with the body at its end, an array of uint64_t
 *	struct found		what a reader has in its hands, .object among it
 *	begin(object)		the object is new: one reference
 *	end(object)		the opposite; nobody else has it
 *	find(found, cell)	find an object and keep it
 *	drop(found)		let go of it
 *	publish(cell, object)	put a new one there, give the old one
 *	let_go(object, size)	the pointer's reference to it; it can be found no more
 *	once(cell, object)	of get_put: keep it, read its body, let go; nobody replaces it
 *
 * and before it defines list_replace(), list_next() and walk(), see instruments/tradeoff/ways.h. A lock, which
 * defines WAY_IS_LOCK, has no lists and no slow readers.
 */
#include <stdlib.h>

#include "common/clock.h"
#include "common/options.h"

#define HEAD (offsetof(struct keep, body))

#ifndef WAY_IS_LOCK
/* In the body of a list's node. `deleted` is set before the node is taken out. */
struct links {
	struct keep *next;
	uint32_t deleted;
};

static inline struct links *links_of(struct keep *node)
{
	return (struct links *)(void *)node->body;
}

#endif

static struct keep *make(size_t size)
{
	struct keep *object = malloc(HEAD + size);

	if (!object)
		options_fail("out of memory");
	object->body[0] = size;
	begin(object);
	return object;
}

static void unmake(struct keep *object)
{
	end(object);
	free(object);
}

static uint64_t get_put(struct tradeoff_cell *cell, uint64_t n)
{
	struct keep *object = cell->object;
	uint64_t sum = 0;

	for (; n; n--)
		sum += once(cell, object);
	return sum;
}

#ifndef WAY_IS_LOCK
static void hold(struct tradeoff_cell *cell, double ns, bool block)
{
	struct found found;

	find(&found, cell);
	tradeoff_stay(ns, block);
	drop(&found);
}

static void replace(struct tradeoff_cell *cell, struct keep *object)
{
	let_go(publish(cell, object), TRADEOFF_SEEN_SIZE);
}

#endif

static uint64_t mix(const struct tradeoff_mix *m, uint64_t *rng, uint64_t n)
{
	uint64_t sum = 0;

	for (; n; n--) {
		uint64_t random = bench_random(rng);
		struct tradeoff_cell *cell =
			&m->cell[((random & 0xffffffff) * m->objects) >> 32];
		struct found found;

		if (random >> 32 < m->below) {
			let_go(publish(cell, make(m->size)), m->size);
			continue;
		}
		find(&found, cell);
		sum += found.object->body[0];
		if (m->hold_ns > 0)
			tradeoff_stay(m->hold_ns, m->block);
		drop(&found);
	}
	return sum;
}

#ifndef WAY_IS_LOCK
static struct keep *list_make(struct keep *next)
{
	struct keep *node = make(sizeof(struct links));

	*links_of(node) = (struct links){ next, 0 };
	return node;
}
#endif

#define MIX_FUNCTIONS .head = HEAD, .make = make, .unmake = unmake, .get_put = get_put, .mix = mix

#define SCHEME_FUNCTIONS                                                                           \
	MIX_FUNCTIONS, .hold = hold, .replace = replace, .list_make = list_make,                   \
	.list_replace = list_replace, .walk = walk, .list_next = list_next
