/* SPDX-License-Identifier: MIT */
/*
 * hash.h - a hash table that is read without locks, updated per bucket, resized under its readers.
 *
 * A struct lull_hash_node is embedded in each element. The user hashes keys and compares them; the table
 * never sees a key. Lookups are inline and run in RCU read sections. An update locks only the bucket that it
 * changes. An element that was taken out belongs to the caller, who retires it.
 *
 *	struct user { struct lull_hash_node node; int id; ... };
 *
 *	static inline bool user_match(const struct lull_hash_node *node, const void *key)
 *	{
 *		return lull_hash_entry(node, struct user, node)->id == *(const int *)key;
 *	}
 *
 *	lull_rcu_read_lock();
 *	node = lull_hash_lookup(&users, lull_hash_mix64(id), user_match, &id);
 *	...				use it, here only
 *	lull_rcu_read_unlock();
 *
 *	node = lull_hash_remove(&users, lull_hash_mix64(id), user_match, &id);
 *	if (node)
 *		lull_rcu_free(lull_hash_entry(node, struct user, node));
 *
 * How it resizes. A table is an array of buckets, and each bucket is the head of a chain. A resize makes a
 * new table and gives the old table a pointer to the new one, its `future`. Then it moves the old buckets one
 * by one, each under its lock, *beginning with the end of the chain*: it first links the last element in at
 * the head of its new chain, and then cuts it off the old chain.
 *
 *	old	A -> B -> C			A -> B -> C		A -> B
 *	new	X			C -> X			C -> X
 *		C.next = X, head = C		B.next = NULL
 *
 * When the bucket is empty, the resize marks it: its keys now belong to the new table, and an updater that
 * finds the mark goes there. So each key has one place, and one lock, at any time. When all buckets are
 * marked, the new table takes the place of the old one, which is freed after a grace period.
 *
 * Why a reader never misses an element that stays in the table. A lookup walks the chain in the table that it
 * found. If it comes to the end without a hit, it goes on in the future of that table, if there is one, from
 * the head of the chain there. On its way it may stand on an element while a resize moves that element. The
 * lookup then follows it into a new chain, perhaps the wrong one, and comes to the end of that chain. It has
 * skipped the elements behind the one it stood on. But these were moved *before* that one, so the lookup
 * finds them from the head of their new chain. It had met all elements in front. The same holds from each
 * table to the next, however many resizes a slow reader lives through. An element that was removed or
 * replaced keeps its `next`, so a reader that stands on it can go on. An insertion puts its element at the
 * head, a replacement in the place of the old element.
 *
 * So a lookup that hits costs one dependent load per hop and no load for the resizing; a lookup that misses
 * also loads `future`.
 *
 * Which thread does the work. Each update during a resize moves a few more buckets; lull_hash_resize() moves
 * all of them. Without updates a resize makes no progress, which costs readers one more hop and nothing else.
 * If you fill a table and from then on only read it, call lull_hash_finish_resize() in between. No thread
 * waits for a grace period.
 *
 * The hash. Its low bits choose the bucket, as they are: a multiplication here would cost as much as the read
 * section. So hashes have to be well mixed. Take lull_hash_mix64() for integers and pointers (hash_integer.h
 * has functions that do), and lull_hash_bytes() or lull_hash_string() for the rest. If strangers choose the
 * keys, numbers too, take lull_hash_bytes() with a secret seed. A bad hash makes long chains, in a table of any
 * size, and nothing worse. Debug builds say once that a table has such a chain, when an insertion that compares
 * meets it.
 *
 * Sources: J. Triplett, P. McKenney, J. Walpole, "Resizable, Scalable, Concurrent Hash Tables via
 * Relativistic Programming" (2011); moving from the tail and the pointer to the next table as in
 * T. Graf's and H. Xu's rhashtable (Linux).
 */
#ifndef LULL_HASH_H
#define LULL_HASH_H

#include <lull/rcu.h>

LULL_BEGIN_DECLS

/* In each element. The table fills it in; the hash stays as it is until the element is freed. */
struct lull_hash_node {
	struct lull_hash_node *next;
	uint64_t hash;
};

/* The lock is beside the head: an update writes one line, and readers have no bits to mask off. */
struct lull__hash_bucket {
	struct lull_hash_node *first;
	uint32_t lock;	 /* src/hash/bucket_lock.h */
	uint32_t wanted; /* 1: a thread sleeps until it is free */
};

/* The buckets follow, off the line that all readers read. (A flexible array is not C++.) */
struct lull__hash_table {
	uint64_t mask;			 /* (number of buckets - 1) * size of a bucket in words */
	struct lull__hash_table *future; /* the table to which the elements are moved; set once */
	uint64_t unused[6];
};

struct lull__hash_control;

struct lull_hash {
	struct lull__hash_table *table;
	struct lull__hash_control *control; /* only updates use it */
};

/*
 * Is @node the element with @key? The table calls this only when the hashes are equal, and updates call it
 * with a bucket locked: it must not update the table, nor throw. If you make it static inline, lookups inline
 * it.
 */
typedef bool (*lull_hash_match_fn)(const struct lull_hash_node *node, const void *key) LULL__NOEXCEPT_TYPE;

/* Does not compile unless @x is a struct @tag; evaluates nothing. */
#define LULL__HASH_CHECK(x, tag) ((void)sizeof(1 ? (x) : *LULL__NULL(const struct tag *)))

/* Return the element of @type whose @member is the node at @ptr. */
#define lull_hash_entry(ptr, type, member)                                                         \
	(LULL__HASH_CHECK(*(ptr), lull_hash_node),                                                 \
	 LULL__HASH_CHECK(LULL__NULL(type *)->member, lull_hash_node),                             \
	 lull_container_of(ptr, type, member))

/* Return that element, or NULL if @ptr is NULL. */
#define lull_hash_entry_or_null(ptr, type, member)                                                 \
	__extension__({                                                                            \
		struct lull_hash_node *lull__hash_node = (ptr);                                    \
		lull__hash_node ? lull_hash_entry(lull__hash_node, type, member) : LULL__NULL(type *); \
	})

/* ---- setting up ------------------------------------------------------------------------------ */

#define LULL_HASH_FIXED	 1u /* never resize but by lull_hash_resize() */
#define LULL_HASH_SHRINK 2u /* also give buckets back when most elements have gone */

struct lull_hash_config {
	size_t buckets;	    /* at the start, and the least when shrinking; 0: 16 */
	size_t max_buckets; /* the table does not grow by itself beyond this; 0, SIZE_MAX: no limit */
	uint32_t flags;	    /* LULL_HASH_* */
};

/*
 * Make an empty table. Numbers of buckets are rounded up to powers of two, at least 2. @config NULL: all zeros.
 * Returns 0, -ENOMEM, or -EINVAL for unknown flags and a max_buckets below buckets. Any context but signal
 * handlers.
 *
 * The table begins to grow at an insertion: not before there are more elements than buckets, and at the latest
 * when there are a quarter more. Then it doubles, or grows further if many elements came during an earlier
 * resize. With LULL_HASH_SHRINK it begins to shrink at a removal: not before fewer than one element per eight
 * buckets is left, and at the latest at one per sixteen. Then it has a quarter of its buckets, or fewer, but
 * never fewer than at the start. So a table that lull_hash_resize() has made large does not shrink while it is
 * filled. No resize begins during another one; the first insertion and the first removal after it look again.
 * Elements that other threads insert or remove at this moment may not be counted yet.
 */
LULL_API int lull_hash_init(struct lull_hash *h, const struct lull_hash_config *config);

/*
 * Free the table, not the elements; @gone, if not NULL, is called for each of them (with @arg) and may free
 * it. The caller ensures that no thread reads or updates the table any more: this may take a
 * lull_rcu_synchronize() after the last removal or the last reader. Not in signal handlers.
 */
LULL_API void lull_hash_destroy(struct lull_hash *h,
				void (*gone)(struct lull_hash_node *node, void *arg) LULL__NOEXCEPT_TYPE,
				void *arg);

/* ---- lookups: in a read section (debug builds check it), signal handlers too ----------------- */

LULL_INLINE struct lull__hash_bucket *lull__hash_bucket_of(const struct lull__hash_table *table, uint64_t hash)
{
	/* In words, not bytes: x86 doubles and copies the hash in one instruction, and multiplies by 8 in the load. */
	uint64_t word = (hash * 2) & table->mask;

	return (struct lull__hash_bucket *)((uintptr_t)table + sizeof(*table) + (uintptr_t)word * 8);
}

LULL_INLINE struct lull_hash_node *lull__hash_first(const struct lull__hash_table *table, uint64_t hash)
{
	LULL__TSAN_ACQUIRE(table);
	/*
	 * ORDER HASH-1: the link before the element; pairs with HASH-1 in lull__hash_link(); without
	 * it a reader sees an element before its contents; model/structure/hash-publish.litmus
	 * ORDER HASH-2: the end of the old chain before the head of the new; pairs with HASH-2 in
	 * move_run(); without it a reader misses elements that were moved;
	 * model/structure/hash-move.litmus (Both hold for every `next` too.)
	 */
	return lull_load_acquire(&lull__hash_bucket_of(table, hash)->first);
}

/* Find the next element with @key from @node on, in *@table or its futures; set *@table to its table. */
LULL_INLINE struct lull_hash_node *lull__hash_seek(const struct lull__hash_table **table, struct lull_hash_node *node,
						   uint64_t hash, lull_hash_match_fn match, const void *key)
{
	for (;;) {
		for (; node; node = lull_load_acquire(&node->next)) {
			LULL__TSAN_ACQUIRE(node);
			if (node->hash == hash && match(node, key))
				return node;
		}
		/*
		 * ORDER HASH-3: the end of a chain before the load of `future`; pairs with
		 * HASH-3 in begin_resize(); without it a reader finds neither;
		 * model/structure/hash-future.litmus
		 */
		*table = lull_load_acquire(&(*table)->future);
		if (!*table)
			return NULL;
		node = lull__hash_first(*table, hash);
	}
}

#ifdef LULL_DEBUG
LULL_API void lull__hash_gone(const struct lull_hash *h) __attribute__((noreturn, cold));
#define LULL__HASH_ALIVE(h) (lull_likely((h)->control != NULL) ? (void)0 : lull__hash_gone(h))
#else
#define LULL__HASH_ALIVE(h) ((void)0)
#endif

LULL_INLINE const struct lull__hash_table *lull__hash_table_of(const struct lull_hash *h)
{
	/*
	 * ORDER HASH-4: the table before its buckets; pairs with HASH-4 in end_resize(); without
	 * it a reader misses elements that were moved; model/structure/hash-switch.litmus
	 */
	LULL__HASH_ALIVE(h);
	return lull_load_acquire(&h->table);
}

/*
 * Find the element with @key; if there are several, the one that was inserted last. Returns NULL if there is
 * none. Finds every element that is in the table during the whole call, whatever else goes on. Never waits,
 * cannot fail. The result is valid until the read section ends.
 */
LULL_INLINE struct lull_hash_node *lull_hash_lookup(const struct lull_hash *h, uint64_t hash,
						    lull_hash_match_fn match, const void *key)
{
	const struct lull__hash_table *table = lull__hash_table_of(h);

	LULL__RCU_CHECK("lull_hash_lookup");
	return lull__hash_seek(&table, lull__hash_first(table, hash), hash, match, key);
}

/* Look up, and return the element of @type whose node is @member. */
#define lull_hash_lookup_entry(h, hash, match, key, type, member)                                  \
	lull_hash_entry_or_null(lull_hash_lookup(h, hash, match, key), type, member)

/* The position of an iteration. The caller declares it, the macros below fill it in. */
struct lull_hash_iter {
	const struct lull__hash_table *table;
	size_t bucket;
};

LULL_INLINE struct lull_hash_node *lull__hash_first_match(const struct lull_hash *h, struct lull_hash_iter *iter,
							  uint64_t hash, lull_hash_match_fn match, const void *key)
{
	LULL__RCU_CHECK("lull_hash_for_each_match");
	iter->table = lull__hash_table_of(h);
	return lull__hash_seek(&iter->table, lull__hash_first(iter->table, hash), hash, match, key);
}

LULL_INLINE struct lull_hash_node *lull__hash_next_match(struct lull_hash_iter *iter,
							 const struct lull_hash_node *node,
							 uint64_t hash, lull_hash_match_fn match,
							 const void *key)
{
	LULL__RCU_CHECK("lull_hash_for_each_match");
	/* HASH-1, HASH-2 as in lull__hash_first(). */
	return lull__hash_seek(&iter->table, lull_load_acquire(&node->next), hash, match, key);
}

/*
 * Loop over all elements with @key: @node (struct lull_hash_node *) is each of them in turn, NULL at
 * the end; @iter is a struct lull_hash_iter *. lull_hash_for_each() says which elements it meets.
 */
#define lull_hash_for_each_match(node, iter, h, hash, match, key)                                  \
	for ((node) = lull__hash_first_match(h, iter, hash, match, key); (node);                   \
	     (node) = lull__hash_next_match(iter, node, hash, match, key))

LULL_API struct lull_hash_node *lull__hash_iter_first(const struct lull_hash *h,
						      struct lull_hash_iter *iter);
LULL_API struct lull_hash_node *lull__hash_iter_next(struct lull_hash_iter *iter,
						     const struct lull_hash_node *node);

/*
 * Loop over all elements, in no order: @node is each in turn, NULL at the end; @iter as above. In one read
 * section, which lasts as long as the walk. The loop meets every element that is in the table during the
 * whole walk: once, or perhaps more than once if a resize goes on. It may or may not meet an element that
 * comes or goes during the walk. It follows a table that grows, perhaps for ever: hash_cursor.h has a walk
 * that ends. The caller may remove or replace the current element.
 */
#define lull_hash_for_each(node, iter, h)                                                          \
	for ((node) = lull__hash_iter_first(h, iter); (node);                                      \
	     (node) = lull__hash_iter_next(iter, node))

/* Loop with @pos, a pointer to the element type, whose node is @member. */
#define lull_hash_for_each_entry(pos, iter, h, member)                                             \
	for ((pos) = lull_hash_entry_or_null(lull__hash_iter_first(h, iter), __typeof__(*(pos)),   \
					     member);                                              \
	     (pos);                                                                                \
	     (pos) = lull_hash_entry_or_null(lull__hash_iter_next(iter, &(pos)->member),           \
					     __typeof__(*(pos)), member))

/*
 * Count the elements in the table; return the number of buckets (during a resize, of the old table). The
 * first sums up counters, and is exact while no thread updates. Any context, but do not call the second in
 * signal handlers.
 */
LULL_API size_t lull_hash_count(const struct lull_hash *h);
LULL_API size_t lull_hash_buckets(const struct lull_hash *h);

/* ---- updates --------------------------------------------------------------------------------- */

/*
 * Updates of different buckets go on side by side; updates of one bucket, one after the other. They may block
 * for that, and never wait for readers (but see reclaim.h for what the end of a section waits for). Before a
 * thread sleeps for a bucket it makes a heavy fence (fence.h), which interrupts running threads. Other updates
 * make none, but for the one that ends a resize: it frees the old table by lull_rcu_free(). Updates may be
 * called in read sections and in callbacks, but not in signal handlers, nor in a forked child if another thread
 * was updating at the fork.
 *
 * Pass in only a node that is in no table. If a call returns a node as removed or replaced, this call and no
 * other has taken it off. Readers may still stand on it, so do not change it, and free it after a grace
 * period (lull_rcu_free, lull_rcu_call, lull_rcu_synchronize). Outside a read section another thread may at
 * any time free an element that is still in the table.
 */

/* Insert @node unless there is an element with @key. Returns 0, or -EEXIST. */
LULL_API int lull_hash_insert(struct lull_hash *h, struct lull_hash_node *node, uint64_t hash,
			      lull_hash_match_fn match, const void *key);

/* Insert likewise. Returns NULL, or the element that is there; to use that element, call this in a read section. */
LULL_API struct lull_hash_node *lull_hash_lookup_or_insert(struct lull_hash *h,
							   struct lull_hash_node *node,
							   uint64_t hash, lull_hash_match_fn match,
							   const void *key);

/* Insert @node, even if there is an element with its key. */
LULL_API void lull_hash_insert_dup(struct lull_hash *h, struct lull_hash_node *node, uint64_t hash);

/*
 * Put @node in the place of the element with @key (the latest, if there are several) and return that element;
 * if there is none, insert @node and return NULL. A reader finds the old or the new one, never both and never
 * none.
 */
LULL_API struct lull_hash_node *lull_hash_replace(struct lull_hash *h, struct lull_hash_node *node,
						  uint64_t hash, lull_hash_match_fn match,
						  const void *key);

/*
 * Put @node, with an equal key, in the place of @old, which the caller found in this same read section: copy,
 * change the copy, replace. Returns 0, or -ENOENT if another thread was faster and @old is not in the table
 * any more. In that case nothing has changed: look up again.
 */
LULL_API int lull_hash_replace_node(struct lull_hash *h, struct lull_hash_node *old,
				    struct lull_hash_node *node);

/* Remove the element with @key, the latest if there are several. Returns the element, or NULL. */
LULL_API struct lull_hash_node *lull_hash_remove(struct lull_hash *h, uint64_t hash,
						 lull_hash_match_fn match, const void *key);

/*
 * Remove @node, which the caller found in this same read section, or knows to be alive. Returns 0, or
 * -ENOENT if another thread has removed it.
 */
LULL_API int lull_hash_remove_node(struct lull_hash *h, struct lull_hash_node *node);

/* ---- resizing -------------------------------------------------------------------------------- */

/*
 * Move to a table of @buckets, after finishing the resize that is going on, if any. Returns 0 when all is
 * done, -ENOMEM (nothing has changed), or -EINVAL if @buckets is 0. The table may grow or shrink by itself
 * afterwards. Contexts as for updates. Takes long: some 10 ns per bucket and element.
 */
LULL_API int lull_hash_resize(struct lull_hash *h, size_t buckets);

/* Finish the resize that is going on, if any. Cannot fail. Contexts as for updates. */
LULL_API void lull_hash_finish_resize(struct lull_hash *h);

/* ---- hashes: any context --------------------------------------------------------------------- */

/*
 * Mix @x: each bit of @x changes half of the result's bits, and no two numbers give the same result. For
 * integers and pointers.
 */
LULL_INLINE uint64_t lull_hash_mix64(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

/*
 * Hash @size bytes, or a string without its end. This is SipHash-1-3, whose key is made of the @seed. Take
 * the seed from getrandom() and keep it secret: then strangers who choose the keys find collisions only by
 * chance, as long as they see no hashes and no order that follows from hashes. With a seed that they know (0)
 * they can make chains as long as they like. Not for signatures; may differ from one version to the next.
 */
LULL_API uint64_t lull_hash_bytes(const void *bytes, size_t size, uint64_t seed);
LULL_API uint64_t lull_hash_string(const char *string, uint64_t seed);

LULL_END_DECLS

#include <lull/detail/tsan_hash.h>

#endif /* LULL_HASH_H */
