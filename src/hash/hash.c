/* SPDX-License-Identifier: MIT */
/*
 * hash.c - update the hash table, and walk over it; hash.h has the lookups, and says why this works.
 */
#include <errno.h>

#include "buckets.h"
#include "../base/callback.h"
#include "../base/fault.h"

/* ---- chains, under the bucket's lock -------------------------------------------------------- */

/* Lock and return the bucket to which keys with @hash belong now. In a read section. */
static inline struct lull__hash_bucket *lock_home(const struct lull__hash_table *table,
						  uint64_t hash)
{
	for (;;) {
		struct lull__hash_bucket *bucket = lull__hash_bucket_of(table, hash);

		lull__lock(lull__hash_lock_of(bucket));
		if (lull_likely(!bucket->moved))
			return bucket;
		lull__unlock(lull__hash_lock_of(bucket));
		table = lull__hash_future(table);
	}
}

static inline void unlock_home(struct lull__hash_bucket *bucket)
{
	lull__unlock(lull__hash_lock_of(bucket));
}

/* Find the link to the element with @key, or NULL. */
static inline struct lull_hash_node **find_by_key(struct lull__hash_bucket *bucket, uint64_t hash,
						  lull_hash_match_fn match, const void *key)
{
	struct lull_hash_node **link = &bucket->first, *node;

	for (; (node = lull_load_relaxed(link)); link = &node->next) {
		bool found = false;

		if (node->hash == hash)
			LULL__CALLBACK("a lull_hash's match", found = match(node, key));
		if (found)
			return link;
	}
	return NULL;
}

/* Find the link to @wanted, or NULL. */
static inline struct lull_hash_node **find_by_node(struct lull__hash_bucket *bucket,
						   const struct lull_hash_node *wanted)
{
	struct lull_hash_node **link = &bucket->first, *node;

	for (; (node = lull_load_relaxed(link)); link = &node->next) {
		if (node == wanted)
			return link;
	}
	return NULL;
}

static void add_element(struct lull__hash_bucket *bucket, struct lull_hash_node *node,
			uint64_t hash)
{
	node->hash = hash;
	lull_store_relaxed(&node->next, lull_load_relaxed(&bucket->first));
	lull__hash_link(&bucket->first, node);
}

/* Replace or remove the element at @link. Its own link stays, for readers that stand on it. */
static inline void replace_element(struct lull_hash_node **link, struct lull_hash_node *node)
{
	const struct lull_hash_node *old = lull_load_relaxed(link);

	node->hash = old->hash;
	lull_store_relaxed(&node->next, lull_load_relaxed(&old->next));
	lull__hash_link(link, node);
}

static inline void remove_element(struct lull_hash_node **link)
{
	lull__hash_link(link, lull_load_relaxed(&lull_load_relaxed(link)->next));
}

/* ---- updates -------------------------------------------------------------------------------- */

static inline struct lull__hash_table *begin_update(const struct lull_hash *h)
{
	(void)LULL__CHECK_UPDATE("an update of a lull_hash", h);
	lull_rcu_read_lock();
	return lull__hash_current(h);
}

static inline void end_update(struct lull_hash *h, struct lull__hash_table *table)
{
	if (lull_unlikely(lull__hash_future(table) != NULL))
		lull__hash_help_resize(h, table);
	lull_rcu_read_unlock();
}

/* Add @change to the count of elements. In a read section; no bucket is locked. */
static void count_element(struct lull_hash *h, const struct lull__hash_table *table, long change)
{
	struct lull__hash_control *control = h->control;
	/* A registered thread has its number; records of threads are too regular in memory. */
	struct lull__hash_shard *shard = &control->shard[lull__self.tid % LULL__HASH_SHARDS];
	long count = lull_add_relaxed(&shard->count, change) + change;
	/* All shards together may then be off by a quarter of the size. */
	size_t often = lull__hash_size(table) / (4 * LULL__HASH_SHARDS);

	if (control->flags & LULL_HASH_FIXED)
		return;
	if (often > 256)
		often = 256;
	if (often < 2 || ((size_t)count & (often - 1)) == 0)
		lull__hash_consider_resize(h, table);
}

/* Insert @node if there is no element with @key (@match NULL: in any case). Returns that element, or NULL. */
static struct lull_hash_node *insert_element(struct lull_hash *h, struct lull_hash_node *node,
					     uint64_t hash, lull_hash_match_fn match, const void *key)
{
	struct lull__hash_table *table = begin_update(h);
	struct lull__hash_bucket *bucket = lock_home(table, hash);
	struct lull_hash_node **link = match ? find_by_key(bucket, hash, match, key) : NULL;
	struct lull_hash_node *found = link ? lull_load_relaxed(link) : NULL;

	if (!found)
		add_element(bucket, node, hash);
	unlock_home(bucket);
	if (!found)
		count_element(h, table, 1);
	end_update(h, table);
	return found;
}

int lull_hash_insert(struct lull_hash *h, struct lull_hash_node *node, uint64_t hash,
		     lull_hash_match_fn match, const void *key)
{
	return insert_element(h, node, hash, match, key) ? -EEXIST : 0;
}

struct lull_hash_node *lull_hash_lookup_or_insert(struct lull_hash *h, struct lull_hash_node *node,
						  uint64_t hash, lull_hash_match_fn match,
						  const void *key)
{
	return insert_element(h, node, hash, match, key);
}

void lull_hash_insert_dup(struct lull_hash *h, struct lull_hash_node *node, uint64_t hash)
{
	insert_element(h, node, hash, NULL, NULL);
}

struct lull_hash_node *lull_hash_replace(struct lull_hash *h, struct lull_hash_node *node,
					 uint64_t hash, lull_hash_match_fn match, const void *key)
{
	struct lull__hash_table *table = begin_update(h);
	struct lull__hash_bucket *bucket = lock_home(table, hash);
	struct lull_hash_node **link = find_by_key(bucket, hash, match, key);
	struct lull_hash_node *old = link ? lull_load_relaxed(link) : NULL;

	if (link)
		replace_element(link, node);
	else
		add_element(bucket, node, hash);
	unlock_home(bucket);
	if (!old)
		count_element(h, table, 1);
	end_update(h, table);
	return old;
}

int lull_hash_replace_node(struct lull_hash *h, struct lull_hash_node *old,
			   struct lull_hash_node *node)
{
	struct lull__hash_table *table = begin_update(h);
	struct lull__hash_bucket *bucket = lock_home(table, old->hash);
	struct lull_hash_node **link = find_by_node(bucket, old);

	if (link)
		replace_element(link, node);
	unlock_home(bucket);
	end_update(h, table);
	return link ? 0 : -ENOENT;
}

struct lull_hash_node *lull_hash_remove(struct lull_hash *h, uint64_t hash,
					lull_hash_match_fn match, const void *key)
{
	struct lull__hash_table *table = begin_update(h);
	struct lull__hash_bucket *bucket = lock_home(table, hash);
	struct lull_hash_node **link = find_by_key(bucket, hash, match, key);
	struct lull_hash_node *old = link ? lull_load_relaxed(link) : NULL;

	if (link)
		remove_element(link);
	unlock_home(bucket);
	if (old)
		count_element(h, table, -1);
	end_update(h, table);
	return old;
}

int lull_hash_remove_node(struct lull_hash *h, struct lull_hash_node *node)
{
	struct lull__hash_table *table = begin_update(h);
	struct lull__hash_bucket *bucket = lock_home(table, node->hash);
	struct lull_hash_node **link = find_by_node(bucket, node);

	if (link)
		remove_element(link);
	unlock_home(bucket);
	if (link && !LULL__BUSTED(HASH_NO_COUNT))
		count_element(h, table, -1);
	end_update(h, table);
	return link ? 0 : -ENOENT;
}

/* ---- iteration ------------------------------------------------------------------------------ */

/* Find the first element in this bucket or a later one, of this table or a later one. */
static struct lull_hash_node *iter_find(struct lull_hash_iter *iter)
{
	do {
		for (; iter->bucket < lull__hash_size(iter->table); iter->bucket++) {
			/* HASH-1, HASH-2 as in lull__hash_first(). */
			struct lull_hash_node *node =
				lull_load_acquire(&lull__hash_bucket_of(iter->table, iter->bucket)->first);

			if (node)
				return node;
		}
		/* Elements that were moved before the walk came to their bucket are there. */
		iter->table = lull__hash_future(iter->table);
		iter->bucket = 0;
	} while (iter->table);
	return NULL;
}

struct lull_hash_node *lull__hash_iter_first(const struct lull_hash *h, struct lull_hash_iter *iter)
{
	LULL__RCU_CHECK("lull_hash_for_each");
	iter->table = lull__hash_current(h);
	iter->bucket = 0;
	return iter_find(iter);
}

struct lull_hash_node *lull__hash_iter_next(struct lull_hash_iter *iter,
					    const struct lull_hash_node *node)
{
	LULL__RCU_CHECK("lull_hash_for_each");
	/* HASH-1, HASH-2 as in lull__hash_first(). */
	struct lull_hash_node *next = lull_load_acquire(&node->next);

	if (next)
		return next;
	iter->bucket++;
	return iter_find(iter);
}
