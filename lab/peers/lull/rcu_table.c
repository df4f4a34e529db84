/* SPDX-License-Identifier: MIT */
/*
 * A table that is reloaded as a whole: the updater fills a second array of buckets, puts it in the place of the first
 * with one store, and frees the first, elements and all, in one callback. A lookup finds the old table or the new one.
 */
#include "flavor_lull_rcu.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "rcu-table"
#define FLAVOR_WHAT "lull RCU, a reload fills a second table and puts it in the place of the first"
#define HASH_BODY bench_hash_rcu_table
#define HASH_SECTION "rcu"
#define HASH_HOLDS_UP "memory"
#define HASH_READER_MAY_BLOCK true
#define HASH_THREAD_BYTES sizeof(struct lull__thread)
#define HASH_DEFERRED deferred
#define HASH_OWN_ACCESS
#define HASH_RELOAD_BEGIN reload_begin
#define HASH_RELOAD_END reload_end

#include "hash_table.h"

static struct hash_bucket *fresh; /* of a reload that goes on; there is one updater */
static size_t table_elements;	  /* in the table that was reloaded last */

/* Whole tables wait. */
static size_t deferred(bool reset)
{
	return bench_hash_lull_deferred(reset) * table_elements;
}

/* An array that was replaced. */
struct old_buckets {
	struct lull_rcu_head head;
	struct hash_bucket *bucket;
	size_t count;
};

BENCH_HASH_INLINE uint64_t hash_lookup(struct hash_table *table, enum bench_hash_mode mode, uint64_t hash,
				       const struct bench_hash_key *key)
{
	struct bench_hash_element *element;
	uint64_t value;

	lull_rcu_read_lock();
	element = lull_rcu_dereference(table->bucket)[hash & table->mask].first;
	while (element && !bench_hash_match(element, mode, hash, key))
		element = element->next;
	if (__builtin_expect(!element, 0))
		bench_hash_broken(FLAVOR_NAME);
	value = element->value;
	lull_rcu_read_unlock();
	return value;
}

BENCH_HASH_INLINE void put(struct hash_table *table, enum bench_hash_mode mode, size_t index)
{
	struct bench_hash_element *element = bench_hash_element(&table->shape, mode, index);
	struct hash_bucket *bucket = &fresh[element->hash & table->mask];

	element->next = bucket->first;
	bucket->first = element;
}

static void reload_begin(void *arg)
{
	struct hash_table *table = arg;

	fresh = bench_hash_alloc(table->shape.buckets, sizeof(*fresh));
}

static void free_buckets(struct lull_rcu_head *head)
{
	struct old_buckets *old = lull_container_of(head, struct old_buckets, head);
	struct bench_hash_element *element, *next;
	size_t i;

	for (i = 0; i < old->count; i++)
		for (element = old->bucket[i].first; element; element = next) {
			next = element->next;
			free(element);
		}
	free(old->bucket);
	free(old);
}

static void reload_end(void *arg)
{
	struct hash_table *table = arg;
	struct old_buckets *old = malloc(sizeof(*old));

	if (!old)
		bench_hash_no_memory();
	old->count = table->shape.buckets;
	old->bucket = lull_rcu_replace(table->bucket, fresh);
	fresh = NULL;
	table_elements = table->shape.elements;
	lull_rcu_call(&old->head, free_buckets);
}

/* Outside a reload an update is one. */
BENCH_HASH_INLINE void hash_replace(struct hash_table *table, enum bench_hash_mode mode, size_t index)
{
	size_t i;

	if (fresh) {
		put(table, mode, index);
		return;
	}
	reload_begin(table);
	for (i = 0; i < table->shape.elements; i++)
		put(table, mode, i);
	reload_end(table);
}

#include "hash_body.h"
