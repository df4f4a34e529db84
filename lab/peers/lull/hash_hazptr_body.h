/* SPDX-License-Identifier: MIT */
/*
 * hash_hazptr_body.h - a hash table with hazard pointers alone, from element to element with two slots (M. Michael's list).
 *
 * A reader that has protected the next element must know that this one was still in the chain when it looked at its
 * link again: else the next one may have been unlinked before. So an element that was unlinked has its link marked, in
 * the lowest bit, before the bucket's lock is dropped, and a reader that finds a mark begins anew. A thread that
 * unlinks the next element takes the lock later, and looks at the slots later still: it finds the reader's slot, or the
 * reader finds the mark.
 */
#include "hash_table.h"

#undef FLAVOR_WHAT
#define FLAVOR_WHAT HASH_WHAT

#define HASH_HOLDS_UP "its element"
#define HASH_READER_MAY_BLOCK true
#define HASH_THREAD_BYTES sizeof(struct lull__thread)
#define HASH_DEFERRED bench_hash_lull_deferred
#define HASH_OWN_ACCESS

#define MARK 1u

static inline bool hash_marked(const struct bench_hash_element *link)
{
	return (uintptr_t)link & MARK;
}

/* The key's element, which *slot protects; NULL: begin anew. */
BENCH_HASH_INLINE struct bench_hash_element *hash_walk(struct hash_bucket *bucket,
						       struct lull_hazptr **slot,
						       struct lull_hazptr **second,
						       enum bench_hash_mode mode, uint64_t hash,
						       const struct bench_hash_key *key)
{
	struct bench_hash_element *element = flavor_keep(*slot, bucket->first);

	while (element && !bench_hash_match(element, mode, hash, key)) {
		struct lull_hazptr *other = *second;

		element = flavor_keep(other, element->next);
		if (__builtin_expect(hash_marked(element), 0))
			return NULL;
		*second = *slot;
		*slot = other;
	}
	if (__builtin_expect(!element, 0))
		bench_hash_broken(FLAVOR_NAME);
	return element;
}

BENCH_HASH_INLINE uint64_t hash_lookup(struct hash_table *table, enum bench_hash_mode mode,
				       uint64_t hash, const struct bench_hash_key *key)
{
	struct lull_hazptr *slot = flavor_slot, *second = flavor_second;
	struct hash_bucket *bucket = &table->bucket[hash & table->mask];
	struct bench_hash_element *element;
	uint64_t value;

	do
		element = hash_walk(bucket, &slot, &second, mode, hash, key);
	while (__builtin_expect(!element, 0));
	value = element->value;
	/* The second may name the element before: one element more that is spared, no harm. */
	flavor_drop(slot);
	return value;
}

BENCH_HASH_INLINE void hash_replace(struct hash_table *table, enum bench_hash_mode mode,
				    size_t index)
{
	const struct bench_hash_key *key = bench_hash_key_at(table->shape.asked, mode, index);
	struct bench_hash_element *element = bench_hash_element(&table->shape, mode, index);
	uint64_t hash = bench_hash_of(key, index, mode);
	struct hash_bucket *bucket = &table->bucket[hash & table->mask];
	struct bench_hash_element **link = &bucket->first, *old;

	HASH_UPDATE_LOCK(bucket);
	while ((old = lull_load_relaxed(link)) && !bench_hash_match(old, mode, hash, key))
		link = &old->next;
	if (__builtin_expect(!old, 0))
		bench_hash_broken(FLAVOR_NAME);
	element->next = lull_load_relaxed(&old->next);
	lull_hazptr_publish(*link, element);
	lull_store_relaxed(&old->next, (struct bench_hash_element *)((uintptr_t)old->next | MARK));
	HASH_UPDATE_UNLOCK(bucket);
	flavor_free_sized(old, sizeof(*old));
}

#include "hash_loop.h"
