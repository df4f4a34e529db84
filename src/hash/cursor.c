/* SPDX-License-Identifier: MIT */
/*
 * cursor.c - find the next element of a walk: in the order of reversed hashes, the least behind a place.
 * hash_cursor.h says why that misses and repeats nothing.
 */
#include <lull/hash_cursor.h>

#include "buckets.h"

#define LOOKS 16 /* at elements that share a hash, until two looks have seen the same */

/* The result of a look. */
struct found {
	struct lull_hash_node *node; /* the least behind the place, or NULL */
	uintptr_t highest;	     /* of the elements with its hash that were seen, and are left */
	uint64_t last;		     /* its reversed hash; without one, the end of the stretch that was looked at */
};

static uint64_t reversed(uint64_t bits)
{
	bits = (bits >> 1 & UINT64_C(0x5555555555555555)) | (bits & UINT64_C(0x5555555555555555)) << 1;
	bits = (bits >> 2 & UINT64_C(0x3333333333333333)) | (bits & UINT64_C(0x3333333333333333)) << 2;
	bits = (bits >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (bits & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
	return __builtin_bswap64(bits);
}

/* Return the last place of the stretch that shares the bucket of @at in @table. */
static uint64_t end_of_stretch(const struct lull__hash_table *table, uint64_t at)
{
	return at | UINT64_MAX >> __builtin_ctzll(table->mask / 2 + 1);
}

/* Look through the rest of a chain, from @node on. */
static void look_in_chain(const struct lull_hash_cursor *cursor, struct lull_hash_node *node, struct found *found)
{
	/* HASH-1, HASH-2 as in lull__hash_first(). */
	for (; node; node = lull_load_acquire(&node->next)) {
		const uint64_t at = reversed(node->hash);
		const uintptr_t address = (uintptr_t)node;

		if (at < cursor->at || at > found->last)
			continue;
		if (at == cursor->at && (address <= cursor->address || address > cursor->highest))
			continue;
		if (!found->node || at < found->last) {
			found->node = node;
			found->highest = address;
			found->last = at;
		} else if (address < (uintptr_t)found->node) {
			found->node = node;
		} else if (address > found->highest) {
			found->highest = address;
		}
	}
}

/* Look through the stretch in which the cursor stands, in all tables. */
static void look_in_stretch(const struct lull_hash_cursor *cursor, struct found *found)
{
	const struct lull__hash_table *table = lull__hash_current(cursor->h);

	found->node = NULL;
	found->last = end_of_stretch(table, cursor->at);
	do {
		uint64_t at = cursor->at;

		/* In the table where this began it is one bucket; in its futures only as many as may have a lesser one. */
		do {
			look_in_chain(cursor, lull__hash_first(table, reversed(at)), found);
			at = end_of_stretch(table, at);
		} while (at++ < found->last);
		table = lull__hash_future(table);
	} while (table);
}

/* Go on behind all that has the reversed hash @last. */
static void pass(struct lull_hash_cursor *cursor, uint64_t last)
{
	cursor->at = last + 1;
	cursor->address = 0;
	cursor->highest = UINTPTR_MAX;
	if (last == UINT64_MAX)
		cursor->h = NULL;
}

void lull_hash_cursor_begin(struct lull_hash_cursor *cursor, const struct lull_hash *h)
{
	pass(cursor, UINT64_MAX); /* the place behind the last one is the first */
	cursor->h = h;
}

struct lull_hash_node *lull__hash_cursor_within(struct lull_hash_cursor *cursor, size_t buckets)
{
	struct found found = { NULL, 0, 0 }, before;
	unsigned looks = 0;

	LULL__RCU_CHECK("lull_hash_cursor_next");
	while (cursor->h) {
		before = found;
		look_in_stretch(cursor, &found);
		if (!found.node) {
			pass(cursor, found.last);
			if (buckets-- == 0)
				return NULL;
		} else if ((uintptr_t)found.node == found.highest) {
			pass(cursor, found.last); /* the only one of its hash */
			return found.node;
		} else if (++looks == LOOKS || (found.node == before.node && found.highest == before.highest)) {
			cursor->at = found.last;
			cursor->address = (uintptr_t)found.node;
			cursor->highest = found.highest;
			return found.node;
		}
	}
	return NULL;
}

struct lull_hash_node *lull_hash_cursor_next(struct lull_hash_cursor *cursor)
{
	return lull__hash_cursor_within(cursor, SIZE_MAX);
}
