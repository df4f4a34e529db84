/* SPDX-License-Identifier: MIT */
/*
 * hlist_nulls.h - hlists for objects that move, or are reused, without a grace period.
 *
 * The memory must stay an object of the type as long as there may be readers (a pool that gives pages back
 * after a grace period, or never). When an object moves to another list, it carries the readers that stand on
 * it along. A reader does not notice this at once, but it finds out at the end of the list. The end is not
 * NULL but an odd "pointer" that carries a number of the user's choice, for instance the bucket's index. A
 * reader that comes to another end than that of its own list starts again:
 *
 *	restart:
 *		lull_hlist_nulls_for_each_entry_rcu(obj, node, &table[i], link) {
 *			if (lull_load_relaxed(&obj->key) != key)
 *				continue;
 *			if (!get_unless_zero(&obj->count))
 *				continue;		being freed: as if not met
 *			if (lull_load_relaxed(&obj->key) == key)
 *				return obj;		ours now, and the right one
 *			put(obj);			reused before we had the count
 *			goto restart;
 *		}
 *		if (lull_get_nulls_value(node) != i)
 *			goto restart;
 *		return NULL;
 *
 * The key changes under readers, so readers load it and updaters store it by relaxed accesses. To take the
 * count (acquire) orders the second load. Without counts the second test may be a comparison under a lock
 * that the thread that frees takes too.
 *
 * A walk that comes to its own end has met every object that was on the list during the whole walk (and
 * perhaps others, and some of them twice). That holds because objects are added at the head only: an object
 * that comes back to the same list carries its readers to the front, where everything is before them. An
 * object that comes back at the tail would carry them past objects that they have not met, and the end would
 * be the right one. So there is no function that adds at the tail, and lull_hlist_nulls_replace_rcu() takes
 * only a node on which no reader can stand.
 *
 * Updaters of one list hold one lock; for a move they hold the locks of both lists, one after the other or
 * together. No function blocks, allocates or fails.
 */
#ifndef LULL_HLIST_NULLS_H
#define LULL_HLIST_NULLS_H

#include <lull/atomic.h>
#include <lull/detail/base.h>

LULL_BEGIN_DECLS

struct lull_hlist_nulls_node {
	struct lull_hlist_nulls_node *next, **pprev;
};

struct lull_hlist_nulls_head {
	struct lull_hlist_nulls_node *first;
};

/* The `pprev` of deleted nodes points into the first page, which is never mapped. */
#define LULL_HLIST_NULLS_POISON LULL__CAST(struct lull_hlist_nulls_node **, 0x440ul)

/* Is @ptr an end, not a node? */
LULL_INLINE bool lull_is_a_nulls(const struct lull_hlist_nulls_node *ptr)
{
	return (uintptr_t)ptr & 1;
}

/* Return the number that the end @ptr carries. */
LULL_INLINE uintptr_t lull_get_nulls_value(const struct lull_hlist_nulls_node *ptr)
{
	return (uintptr_t)ptr >> 1;
}

/* Make @head an empty list whose end carries @value, which has one bit less than a pointer. */
LULL_INLINE void lull_hlist_nulls_init(struct lull_hlist_nulls_head *head, uintptr_t value)
{
	head->first = (struct lull_hlist_nulls_node *)(value << 1 | 1);
}

/* Is the list empty? Any context; without the lock the answer is only a hint. */
LULL_INLINE bool lull_hlist_nulls_empty(const struct lull_hlist_nulls_head *head)
{
	return lull_is_a_nulls(lull_load_relaxed(&head->first));
}

/*
 * Is @node on no list: all zeros, or taken off by del_init_rcu? Any context; without the lock the
 * answer is only a hint.
 */
LULL_INLINE bool lull_hlist_nulls_unhashed(const struct lull_hlist_nulls_node *node)
{
	return !lull_load_relaxed(&node->pprev);
}

/* Does not compile unless @x is a struct lull_hlist_nulls_node; evaluates nothing. */
#define LULL__NULLS_CHECK(x) ((void)sizeof(1 ? (x) : *LULL__NULL(const struct lull_hlist_nulls_node *)))

/* Return the element of @type whose @member is the node at @ptr, which is not an end. */
#define lull_hlist_nulls_entry(ptr, type, member)                                                  \
	(LULL__NULLS_CHECK(*(ptr)), LULL__NULLS_CHECK(LULL__NULL(type *)->member),                 \
	 lull_container_of(ptr, type, member))

/* Return the first node of the list, or the node behind @node, or an end. For readers. */
LULL_INLINE struct lull_hlist_nulls_node *
lull_hlist_nulls_first_rcu(const struct lull_hlist_nulls_head *head)
{
	/*
	 * ORDER NULLS-1: load the pointer before what is read through it; pairs with NULLS-1 in
	 * lull__hlist_nulls_set(); without it a reader sees a node before its contents, or with
	 * the link that it had on another list; model/structure/list-publish.litmus
	 */
	return lull_load_acquire(&head->first);
}

LULL_INLINE struct lull_hlist_nulls_node *
lull_hlist_nulls_next_rcu(const struct lull_hlist_nulls_node *node)
{
	/*
	 * ORDER NULLS-2: load the pointer before what is read through it; pairs with NULLS-2 in
	 * lull__hlist_nulls_set(); without it a reader that passes a deleted node's place sees
	 * the next one before its contents; model/structure/list-unlink.litmus
	 *
	 * ORDER NULLS-3: load the pointer before what is read through it; pairs with NULLS-3 in
	 * lull_hlist_nulls_add_head_rcu(); without it a reader that was carried along sees the
	 * next node before its contents; model/structure/nulls-reuse.litmus
	 */
	return lull_load_acquire(&node->next);
}

/*
 * Loop over the list of @head. @node, a struct lull_hlist_nulls_node pointer, follows @pos. After the
 * loop it is the end that was found: compare lull_get_nulls_value(@node).
 */
#define lull_hlist_nulls_for_each_entry_rcu(pos, node, head, member)                               \
	for ((node) = lull_hlist_nulls_first_rcu(head);                                            \
	     !lull_is_a_nulls(node) &&                                                             \
	     ((pos) = lull_hlist_nulls_entry(node, __typeof__(*(pos)), member), 1);                \
	     (node) = lull_hlist_nulls_next_rcu(node))

/* Updaters. The caller holds the lock of the list. */

LULL_INLINE void lull__hlist_nulls_set(struct lull_hlist_nulls_node **at,
				       struct lull_hlist_nulls_node *node)
{
	/*
	 * ORDER NULLS-1: the contents and the link of a node before the pointer to it; pairs with
	 * NULLS-1 in lull_hlist_nulls_first_rcu(); without it a reader sees a node before its
	 * contents, or with the link that it had on another list; model/structure/list-publish.litmus
	 *
	 * ORDER NULLS-2: where a node is unlinked, the contents and the link of its successor
	 * before the new pointer to it; pairs with NULLS-2 in lull_hlist_nulls_next_rcu(), whose
	 * reader need not have seen the store that published the successor, only this one;
	 * without it a reader sees the successor before its contents, or with the link that it
	 * had further down this same list, and misses what is in between;
	 * model/structure/list-unlink.litmus
	 */
	lull_store_release(at, node);
}

LULL_INLINE void lull__hlist_nulls_set_pprev(struct lull_hlist_nulls_node *node,
					     struct lull_hlist_nulls_node **pprev)
{
	if (!lull_is_a_nulls(node))
		lull_store_relaxed(&node->pprev, pprev);
}

/* Add @node, whose contents must be complete. Readers may still stand on it from its last list. */
LULL_INLINE void lull_hlist_nulls_add_head_rcu(struct lull_hlist_nulls_node *node,
					       struct lull_hlist_nulls_head *head)
{
	struct lull_hlist_nulls_node *first = head->first;

	/*
	 * ORDER NULLS-3: the contents of the first node before the link to it; pairs with NULLS-3
	 * in lull_hlist_nulls_next_rcu(), whose reader stands on @node since it was on another
	 * list and never loads this head; without it that reader sees the first node before its
	 * contents; model/structure/nulls-reuse.litmus
	 */
	lull_store_release(&node->next, first);
	lull_store_relaxed(&node->pprev, &head->first);
	lull__hlist_nulls_set_pprev(first, &node->next);
	lull__hlist_nulls_set(&head->first, node);
}

LULL_INLINE void lull__hlist_nulls_unlink(struct lull_hlist_nulls_node *node,
					  struct lull_hlist_nulls_node **mark)
{
	struct lull_hlist_nulls_node *next = node->next;

	lull__hlist_nulls_set(node->pprev, next);
	lull__hlist_nulls_set_pprev(next, node->pprev);
	lull_store_relaxed(&node->pprev, mark);
}

/* Take @node off its list; you may add it to another list at once. A second deletion crashes (poison). */
LULL_INLINE void lull_hlist_nulls_del_rcu(struct lull_hlist_nulls_node *node)
{
	lull__hlist_nulls_unlink(node, LULL_HLIST_NULLS_POISON);
}

/* Take @node off its list, if it is on one; then lull_hlist_nulls_unhashed() is true. */
LULL_INLINE void lull_hlist_nulls_del_init_rcu(struct lull_hlist_nulls_node *node)
{
	if (!lull_hlist_nulls_unhashed(node))
		lull__hlist_nulls_unlink(node, NULL);
}

/*
 * Put @node, complete, in the place of @old. @node must be fresh: a full grace period has passed since it was
 * last on a list. @old is as deleted.
 */
LULL_INLINE void lull_hlist_nulls_replace_rcu(struct lull_hlist_nulls_node *old,
					      struct lull_hlist_nulls_node *node)
{
	struct lull_hlist_nulls_node *next = old->next;

	node->next = next;
	lull_store_relaxed(&node->pprev, old->pprev);
	lull__hlist_nulls_set_pprev(next, &node->next);
	lull__hlist_nulls_set(old->pprev, node);
	lull_store_relaxed(&old->pprev, LULL_HLIST_NULLS_POISON);
}

LULL_END_DECLS

#endif /* LULL_HLIST_NULLS_H */
