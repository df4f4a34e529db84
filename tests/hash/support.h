/* SPDX-License-Identifier: MIT */
/*
 * support.h - what is in the tables of the tests of hash.h.
 */
#ifndef LULL_TEST_HASH_SUPPORT_H
#define LULL_TEST_HASH_SUPPORT_H

#include "child.h"
#include "threads.h"

#include <lull/hash.h>

/* The node is not the first member, so that a forgotten offset shows. */
struct item {
	int key, mark; /* the test's */
	struct lull_hash_node node;
	struct lull_rcu_head rcu;
};

static inline bool match(const struct lull_hash_node *node, const void *key)
{
	return lull_hash_entry(node, struct item, node)->key == *(const int *)key;
}

static inline void init_table(struct lull_hash *h, size_t buckets, uint32_t flags)
{
	struct lull_hash_config config = { buckets, 0, flags };

	assert_int_equal(lull_hash_init(h, &config), 0);
}

static inline struct item *new_item(int key)
{
	struct item *item = (struct item *)calloc(1, sizeof(*item));

	assert_non_null(item);
	item->key = key;
	return item;
}

static inline void free_item(struct lull_hash_node *node, void *count)
{
	if (count)
		++*(int *)count;
	free(lull_hash_entry(node, struct item, node));
}

static inline void free_later(struct lull_rcu_head *rcu)
{
	free(lull_container_of(rcu, struct item, rcu));
}

static inline void retire(struct lull_hash_node *node)
{
	lull_rcu_call(&lull_hash_entry(node, struct item, node)->rcu, free_later);
}

/* A key is its hash: buckets and their neighbours can be told in advance. */
static inline void fill(struct lull_hash *h, int from, int to)
{
	for (int key = from; key < to; key++)
		assert_int_equal(lull_hash_insert(h, &new_item(key)->node, (uint64_t)key, match, &key), 0);
}

static inline void remove_range(struct lull_hash *h, int from, int to)
{
	for (int key = from; key < to; key++)
		retire(lull_hash_remove(h, (uint64_t)key, match, &key));
}

static inline struct item *find(const struct lull_hash *h, int key)
{
	struct item *item;

	lull_rcu_read_lock();
	item = lull_hash_lookup_entry(h, (uint64_t)key, match, &key, struct item, node);
	lull_rcu_read_unlock();
	return item; /* no other thread is there to free it */
}

static inline void check_range(const struct lull_hash *h, int from, int to)
{
	for (int key = from; key < to; key++)
		assert_non_null(find(h, key));
	assert_null(find(h, from - 1));
	assert_null(find(h, to));
}

/* All elements and the table. */
static inline void finish(struct lull_hash *h, int elements)
{
	int count = 0;

	assert_int_equal(lull_hash_count(h), elements);
	lull_hash_destroy(h, free_item, &count);
	assert_int_equal(count, elements);
	lull_rcu_barrier();
}

#endif /* LULL_TEST_HASH_SUPPORT_H */
