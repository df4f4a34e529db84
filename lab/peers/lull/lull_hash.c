/* SPDX-License-Identifier: MIT */
/* Hash table: lull's own. */
#include "flavor_lull_rcu.h"
#include <lull/hash.h>

#include "hash_scheme.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "lull-hash"
#define FLAVOR_WHAT "lull's own hash table, RCU readers"

#define HASH_BODY bench_hash_lull_hash
#define HASH_SECTION "rcu"
#define HASH_HOLDS_UP "memory"
#define HASH_READER_MAY_BLOCK true
#define HASH_BUCKET_BYTES (sizeof(struct lull__hash_bucket) - sizeof(void *))
#define HASH_THREAD_BYTES sizeof(struct lull__thread)
#define HASH_DEFERRED bench_hash_lull_deferred

struct element {
	struct lull_hash_node node;
	const char *text;
	uint64_t length;
	uint64_t value;
	uint64_t payload[3];
};

_Static_assert(sizeof(struct element) == sizeof(struct bench_hash_element), "the same size");

struct hash_table {
	struct bench_hash_shape shape;
	struct lull_hash hash __attribute__((aligned(64)));
};

/* Called when the hashes are equal; integers are their hashes. */
static inline bool match_integer(const struct lull_hash_node *node, const void *key)
{
	(void)node;
	(void)key;
	return true;
}

static inline bool match_text(const struct lull_hash_node *node, const void *key)
{
	const struct element *element = lull_hash_entry(node, struct element, node);

	return bench_hash_same(element->text, element->length, key);
}

BENCH_HASH_INLINE uint64_t hash_lookup(struct hash_table *table, enum bench_hash_mode mode,
				       uint64_t hash, const struct bench_hash_key *key)
{
	struct lull_hash_node *node;
	uint64_t value;

	lull_rcu_read_lock();
	node = lull_hash_lookup(&table->hash, hash,
				mode == BENCH_HASH_INTEGERS ? match_integer : match_text, key);
	if (__builtin_expect(!node, 0))
		bench_hash_broken(FLAVOR_NAME);
	value = lull_hash_entry(node, struct element, node)->value;
	lull_rcu_read_unlock();
	return value;
}

BENCH_HASH_INLINE struct element *lull_element(const struct bench_hash_shape *shape,
					       enum bench_hash_mode mode, size_t index)
{
	struct element *element = malloc(sizeof(*element));
	const struct bench_hash_key *kept = bench_hash_key_at(shape->kept, mode, index);

	if (__builtin_expect(!element, 0))
		bench_hash_no_memory();
	element->text = kept ? kept->text : NULL;
	element->length = kept ? kept->length : 0;
	element->value = index;
	return element;
}

BENCH_HASH_INLINE void hash_replace(struct hash_table *table, enum bench_hash_mode mode,
				    size_t index)
{
	const struct bench_hash_key *key = bench_hash_key_at(table->shape.asked, mode, index);
	struct element *element = lull_element(&table->shape, mode, index);
	struct lull_hash_node *old;

	old = lull_hash_replace(&table->hash, &element->node, bench_hash_of(key, index, mode),
				mode == BENCH_HASH_INTEGERS ? match_integer : match_text, key);
	if (__builtin_expect(!old, 0))
		bench_hash_broken(FLAVOR_NAME);
	lull_rcu_free_sized(lull_hash_entry(old, struct element, node), sizeof(struct element));
}

static void *hash_create(const struct bench_hash_shape *shape)
{
	struct hash_table *table = bench_hash_alloc(1, sizeof(*table));
	struct lull_hash_config config = { .buckets = shape->buckets,
					   .flags = shape->grow ? 0 : LULL_HASH_FIXED };
	size_t i;

	table->shape = *shape;
	if (lull_hash_init(&table->hash, &config) != 0)
		bench_hash_no_memory();
	for (i = 0; i < shape->elements; i++)
		lull_hash_insert_dup(&table->hash, &lull_element(shape, shape->mode, i)->node,
				     shape->mode == BENCH_HASH_INTEGERS ? i : shape->kept[i].hash);
	/* From here on the number of elements stays the same. */
	lull_hash_finish_resize(&table->hash);
	return table;
}

static void free_element(struct lull_hash_node *node, void *arg)
{
	(void)arg;
	free(lull_hash_entry(node, struct element, node));
}

static void hash_destroy(void *arg)
{
	struct hash_table *table = arg;

	lull_hash_destroy(&table->hash, free_element, NULL);
	free(table);
}

#include "hash_loop.h"
