/* SPDX-License-Identifier: MIT */
/*
 * buckets.h - shared by updates and resizes of the hash table: the control block, and tables.
 *
 * Locks, outermost first: `begin` of the control block; a bucket; the same key's bucket in the
 * future table. Tables are followed from old to new only, in a read section, so none vanishes. A
 * table's future is set once, and only when the table is the current one, so there is never a
 * third table that elements are moved to.
 */
#ifndef LULL_HASH_BUCKETS_H
#define LULL_HASH_BUCKETS_H

#include <lull/hash.h>

#include "bucket_lock.h"
#include "../base/lock.h"

#define LULL__HASH_SHARDS 16u /* of the count of elements; threads spread over them */

enum lull__hash_kind { LULL__HASH_CAME, LULL__HASH_WENT };

/* Elements that came, and that went. */
struct lull__hash_shard {
	size_t own[2];	  /* counted by the owner, a thread */
	size_t shared[2]; /* by other threads */
	uint32_t owner;	  /* its tid; 0: no thread has come by yet */
	uint32_t left;	  /* lull__registry_left when a thread looked whether the owner is gone */
} __attribute__((aligned(LULL__CACHELINE)));

struct lull__hash_control {
	struct lull__hash_shard shard[LULL__HASH_SHARDS];
	struct lull__lock begin; /* held by the thread that starts a resize */
	uint64_t resizes;	 /* that are over */
	size_t least, most;
	size_t seldom[2]; /* a count without these bits: consider a resize; 0 after each resize */
	uint32_t flags;
	uint32_t weak; /* debug builds: 1: they have said that the hash is */
};

/* A table. The words shared by the threads that move its buckets lie well apart from those that lookups read. */
struct lull__hash_whole {
	struct lull__lock leaving; /* locked until all elements have left for the future */
	size_t claimed;		   /* buckets that a thread has moved or is moving */
	size_t moved;
	char apart[104];
	struct lull__hash_table seen;
};
_Static_assert(offsetof(struct lull__hash_whole, seen) >= 2 * LULL__CACHELINE, "no line in common");
_Static_assert(sizeof(struct lull__hash_whole) % sizeof(struct lull__hash_bucket) == 0,
	       "buckets are aligned");

static inline struct lull__hash_whole *lull__hash_whole(const struct lull__hash_table *seen)
{
	return lull_container_of(seen, struct lull__hash_whole, seen);
}

static inline size_t lull__hash_size(const struct lull__hash_table *table)
{
	return (size_t)table->mask / 2 + 1;
}

static inline struct lull__hash_table *lull__hash_future(const struct lull__hash_table *table)
{
	/* ORDER HASH-3: the future before its buckets; pairs with HASH-3 in begin_resize(); without
	 * it an update takes garbage for a bucket; model/structure/hash-future.litmus */
	return lull_load_acquire(&table->future);
}

static inline struct lull__hash_table *lull__hash_current(const struct lull_hash *h)
{
	/* ORDER HASH-4: the table before its buckets; pairs with HASH-4 in end_resize(); without it
	 * an update takes garbage for a bucket; model/structure/hash-switch.litmus */
	LULL__HASH_ALIVE(h);
	return lull_load_acquire(&h->table);
}

/*
 * ORDER HASH-1: an element's contents before the link to it; pairs with HASH-1 in
 * lull__hash_first(); without it a reader sees the element before its contents;
 * model/structure/hash-publish.litmus (This includes links that are copied when an element is removed or
 * replaced: the reader need not have seen the link that they are copied from.)
 */
static inline void lull__hash_link(struct lull_hash_node **link, struct lull_hash_node *node)
{
	lull_store_release(link, node);
}

/* ---- buckets.c -------------------------------------------------------------------------------- */

/* Round @buckets up to a power of two, at least 2. Returns 0 if there is none. */
size_t lull__hash_round_up(size_t buckets);
/*
 * Allocate a table of @buckets, all empty. Returns NULL if there is no memory. To free it, free
 * lull__hash_whole().
 */
struct lull__hash_table *lull__hash_new_table(size_t buckets);

/* ---- resize.c --------------------------------------------------------------------------------- */

/*
 * Start a resize if one is due: to more buckets after an element came, to fewer after one went. In a read
 * section; no bucket is locked.
 */
void lull__hash_consider_resize(struct lull_hash *h, enum lull__hash_kind kind);
/* Move some of the elements that are still in @table. In a read section; no bucket is locked. */
void lull__hash_help_resize(struct lull_hash *h, struct lull__hash_table *table);

#endif /* LULL_HASH_BUCKETS_H */
