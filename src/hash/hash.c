/* SPDX-License-Identifier: MIT */
/*
 * hash.c - update the hash table, and walk over it; hash.h has the lookups, and says why this works.
 */
#include <errno.h>

#include "buckets.h"
#include "../base/callback.h"
#include "../base/fault.h"
#include "../base/message.h"
#include "../base/process.h"
#include "../base/registry.h"

/* ---- chains, under the bucket's lock -------------------------------------------------------- */

/* Lock and return the bucket to which keys with @hash belong now. In a read section. */
static inline struct lull__hash_bucket *lock_home(const struct lull__hash_table *table,
						  uint64_t hash)
{
	struct lull__hash_bucket *bucket;

	while (lull_unlikely(!lull__bucket_lock(bucket = lull__hash_bucket_of(table, hash))))
		table = lull__hash_future(table);
	return bucket;
}

/* Find the element with @key, or NULL. Sets *@at to the link to the element. */
static inline struct lull_hash_node *find_by_key(struct lull__hash_bucket *bucket, uint64_t hash,
						 lull_hash_match_fn match, const void *key,
						 struct lull_hash_node ***at)
{
	struct lull_hash_node **link = &bucket->first, *node;

	for (; (node = lull_load_relaxed(link)); link = &node->next) {
		bool found = false;

		if (node->hash == hash)
			LULL__CALLBACK("a lull_hash's match", found = match(node, key));
		if (found)
			break;
	}
	*at = link;
	return node;
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

/* Link @node in at @link, before @next. */
static inline void put_element(struct lull_hash_node **link, struct lull_hash_node *node, uint64_t hash,
			       struct lull_hash_node *next)
{
	node->hash = hash;
	lull_store_relaxed(&node->next, next);
	lull__hash_link(link, node);
}

static inline void add_element(struct lull__hash_bucket *bucket, struct lull_hash_node *node,
			       uint64_t hash)
{
	put_element(&bucket->first, node, hash, lull_load_relaxed(&bucket->first));
}

/* Replace or remove @old, which is at @link. Its own link stays, for readers that stand on it. */
static inline void replace_element(struct lull_hash_node **link, const struct lull_hash_node *old,
				   struct lull_hash_node *node)
{
	put_element(link, node, old->hash, lull_load_relaxed(&old->next));
}

static inline void remove_element(struct lull_hash_node **link, const struct lull_hash_node *old)
{
	lull__hash_link(link, lull_load_relaxed(&old->next));
}

/* ---- counting ------------------------------------------------------------------------------- */

#define INHERIT_AT 1024 /* at each multiple, a count in another thread's shard looks whether that thread is gone */

/* Is the shard this thread's, now or from now on? */
static bool own_shard(struct lull__hash_shard *shard, uint32_t tid)
{
	uint32_t nobody = 0;

	return lull_load_relaxed(&shard->owner) == 0 && lull_cas_relaxed(&shard->owner, &nobody, tid);
}

/*
 * Make the shard this thread's if its owner is gone, or at least in no section: its record is not in the registry.
 *
 * ORDER HASH-8: what the owner counted, and its record taken out, before the shard is another's; that before the
 * owner, back from a pool or in a destructor, has its record linked in and looks; pairs with HASH-8 in
 * count_element() (all hold the registry lock meanwhile); without it both count in the same place, and counts are
 * lost; model/structure/hash-inherit.litmus
 */
static __attribute__((noinline, cold)) void inherit_shard(struct lull__hash_shard *shard)
{
	const struct lull__thread *thread;
	struct lull__registry_hold hold;

	lull__init(); /* a child may not have noticed the fork, in which another thread held the lock */
	if (lull_load_relaxed(&shard->left) == lull_load_relaxed(&lull__registry_left))
		return;
	lull__registry_enter(&hold);
	lull_store_relaxed(&shard->left, lull__registry_left);
	lull__for_each_thread(thread) {
		if (thread->tid == lull_load_relaxed(&shard->owner))
			break;
	}
	if (thread == &lull__registry)
		lull_store_relaxed(&shard->owner, lull__self.tid);
	lull__registry_leave(&hold);
}

/*
 * Count an element that came or went. In a read section; no bucket is locked.
 *
 * The first thread that comes to a shard owns it. Only the owner writes its counters, so it needs no locked
 * instruction; other threads add to the shared ones. The kernel may give the owner's number to a new thread, but only
 * after the owner is gone. The new thread registers after the owner has left the registry, and so sees what the owner
 * counted (LOCK-1).
 */
static inline void count_element(struct lull_hash *h, enum lull__hash_kind kind)
{
	struct lull__hash_control *control = h->control;
	/*
	 * A registered thread has its number; records of threads are too regular in memory.
	 *
	 * ORDER HASH-8: the record, linked in, before the look whose the shard is; pairs with HASH-8 in
	 * inherit_shard(); without it as there; model/structure/hash-inherit.litmus
	 */
	uint32_t tid = lull__self.tid;
	struct lull__hash_shard *shard = &control->shard[tid % LULL__HASH_SHARDS];
	size_t count;

	if (lull_likely(lull_load_relaxed(&shard->owner) == tid) || own_shard(shard, tid)) {
		count = shard->own[kind] + 1;
		lull_store_relaxed(&shard->own[kind], count);
	} else {
		count = lull_add_relaxed(&shard->shared[kind], (size_t)1) + 1;
		if (lull_unlikely(count % INHERIT_AT == 0))
			inherit_shard(shard);
	}
	if (lull_unlikely((count & lull_load_relaxed(&control->seldom[kind])) == 0))
		lull__hash_consider_resize(h, kind);
}

/* ---- weak hashes ---------------------------------------------------------------------------- */

#ifdef LULL_DEBUG
#define SAYS_WHAT_IS_WEAK true
#else
#define SAYS_WHAT_IS_WEAK false
#endif

#define LONG_CHAIN 40 /* by chance, one element per bucket does not make such a chain in 1e40 buckets */

struct crowd {
	size_t here, all, buckets; /* here: 0, or the elements in one bucket, far more than come together by chance */
};

/* Look for a crowd in @bucket, to which @hash belongs and which is locked. */
static inline struct crowd find_crowd(const struct lull_hash *h, const struct lull__hash_bucket *bucket, uint64_t hash)
{
	struct crowd crowd = { 0, 0, 0 };
	const struct lull__hash_table *table;
	const struct lull_hash_node *node;
	uint64_t last = hash, before = hash;

	if (!SAYS_WHAT_IS_WEAK || lull_load_relaxed(&h->control->weak))
		return crowd;
	table = lull__hash_current(h);
	if (bucket != lull__hash_bucket_of(table, hash))
		return crowd; /* it is in a future table, which may have fewer buckets */
	for (node = lull_load_relaxed(&bucket->first); node; node = lull_load_relaxed(&node->next)) {
		/* Many elements of another key, or of two, are their user's wish. */
		crowd.here += node->hash == hash || (node->hash != last && node->hash != before);
		if (node->hash != last) {
			before = last;
			last = node->hash;
		}
	}
	crowd.buckets = lull__hash_size(table);
	if (crowd.here > LONG_CHAIN)
		crowd.all = lull_hash_count(h);
	if (crowd.here <= LONG_CHAIN + 8 * (crowd.all / crowd.buckets))
		crowd.here = 0;
	return crowd;
}

/* Say of a table, once, that its hash is weak. No bucket is locked: the line goes through the user's hook. */
static inline void say_crowd(struct lull_hash *h, struct crowd crowd)
{
	if (SAYS_WHAT_IS_WEAK && crowd.here && !lull_xchg_relaxed(&h->control->weak, 1u))
		lull__say("hash table %p has a weak hash: of its %zu elements in %zu buckets, %zu share one; "
			  "lull_hash_mix64() mixes numbers", (void *)h, crowd.all, crowd.buckets, crowd.here);
}

/* ---- updates -------------------------------------------------------------------------------- */

/* Enter a read section, help with a resize that goes on, lock the bucket for @hash and return it. */
static inline struct lull__hash_bucket *begin_update(struct lull_hash *h, uint64_t hash)
{
	struct lull__hash_table *table;

	(void)LULL__CHECK_UPDATE("an update of a lull_hash", h);
	lull_rcu_read_lock();
	table = lull__hash_current(h);
	if (lull_unlikely(lull__hash_future(table) != NULL))
		lull__hash_help_resize(h, table);
	return lock_home(table, hash);
}

/* Insert @node if there is no element with @key. Returns that element, or NULL. */
static struct lull_hash_node *insert_element(struct lull_hash *h, struct lull_hash_node *node,
					     uint64_t hash, lull_hash_match_fn match, const void *key)
{
	struct lull__hash_bucket *bucket = begin_update(h, hash);
	struct lull_hash_node **link, *found = find_by_key(bucket, hash, match, key, &link);
	struct crowd crowd;

	if (!found)
		add_element(bucket, node, hash);
	crowd = find_crowd(h, bucket, hash);
	lull__bucket_unlock(bucket);
	if (!found) {
		count_element(h, LULL__HASH_CAME);
		say_crowd(h, crowd);
	}
	lull_rcu_read_unlock();
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
	struct lull__hash_bucket *bucket = begin_update(h, hash);

	add_element(bucket, node, hash);
	lull__bucket_unlock(bucket);
	count_element(h, LULL__HASH_CAME);
	lull_rcu_read_unlock();
}

struct lull_hash_node *lull_hash_replace(struct lull_hash *h, struct lull_hash_node *node,
					 uint64_t hash, lull_hash_match_fn match, const void *key)
{
	struct lull__hash_bucket *bucket = begin_update(h, hash);
	struct lull_hash_node **link, *old = find_by_key(bucket, hash, match, key, &link);
	struct crowd crowd;

	if (old)
		replace_element(link, old, node);
	else
		add_element(bucket, node, hash);
	crowd = find_crowd(h, bucket, hash);
	lull__bucket_unlock(bucket);
	if (!old) {
		count_element(h, LULL__HASH_CAME);
		say_crowd(h, crowd);
	}
	lull_rcu_read_unlock();
	return old;
}

int lull_hash_replace_node(struct lull_hash *h, struct lull_hash_node *old,
			   struct lull_hash_node *node)
{
	struct lull__hash_bucket *bucket = begin_update(h, old->hash);
	struct lull_hash_node **link = find_by_node(bucket, old);

	if (link)
		replace_element(link, old, node);
	lull__bucket_unlock(bucket);
	lull_rcu_read_unlock();
	return link ? 0 : -ENOENT;
}

struct lull_hash_node *lull_hash_remove(struct lull_hash *h, uint64_t hash,
					lull_hash_match_fn match, const void *key)
{
	struct lull__hash_bucket *bucket = begin_update(h, hash);
	struct lull_hash_node **link, *old = find_by_key(bucket, hash, match, key, &link);

	if (old)
		remove_element(link, old);
	lull__bucket_unlock(bucket);
	if (old)
		count_element(h, LULL__HASH_WENT);
	lull_rcu_read_unlock();
	return old;
}

int lull_hash_remove_node(struct lull_hash *h, struct lull_hash_node *node)
{
	struct lull__hash_bucket *bucket = begin_update(h, node->hash);
	struct lull_hash_node **link = find_by_node(bucket, node);

	if (link)
		remove_element(link, node);
	lull__bucket_unlock(bucket);
	if (link && !LULL__BUSTED(HASH_NO_COUNT))
		count_element(h, LULL__HASH_WENT);
	lull_rcu_read_unlock();
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
