/* SPDX-License-Identifier: MIT */
/*
 * hlist.h - lists with a head of one word, for hash buckets, that may be read while they change.
 *
 * Each node has `next`, and `pprev`, the address of the pointer that points to it: the head's `first` or
 * another node's `next`. So an updater can take a node off without knowing its head. There is no way
 * backwards, and only a walk finds the end. The rules, the two families (plain and _rcu) and what a reader
 * sees are as in list.h. Updaters of one list hold one lock; readers are in an RCU read section or hold that
 * lock. A node that was deleted keeps its `next`; do not free it, change it or add it anywhere before a grace
 * period has passed. No function blocks, allocates or fails. The loops leave @pos NULL when they come to the
 * end.
 *
 * For objects that cannot wait for the grace period there are the nulls lists of hlist_nulls.h,
 * which this header includes.
 */
#ifndef LULL_HLIST_H
#define LULL_HLIST_H

#include <lull/atomic.h>
#include <lull/detail/base.h>
#include <lull/check.h>
#include <lull/hlist_nulls.h>

LULL_BEGIN_DECLS

struct lull_hlist_node {
	struct lull_hlist_node *next, **pprev;
};

struct lull_hlist_head {
	struct lull_hlist_node *first;
};

/* All zeros are an empty list, and a node that is on none. */
#define LULL_HLIST_HEAD_INIT                                                                       \
	{                                                                                          \
		NULL                                                                               \
	}

/* The links of deleted nodes point into the first page, which is never mapped. */
#define LULL_HLIST_POISON_NEXT	LULL__CAST(struct lull_hlist_node *, 0x220ul)
#define LULL_HLIST_POISON_PPREV LULL__CAST(struct lull_hlist_node **, 0x440ul)

LULL_INLINE void lull_hlist_init(struct lull_hlist_head *head)
{
	head->first = NULL;
}

LULL_INLINE void lull_hlist_node_init(struct lull_hlist_node *node)
{
	node->next = NULL;
	node->pprev = NULL;
}

/* Is the list empty? Both families, any context; without the lock the answer is only a hint. */
LULL_INLINE bool lull_hlist_empty(const struct lull_hlist_head *head)
{
	return !lull_load_relaxed(&head->first);
}

/*
 * Is @node on no list: never added, or taken off by one of the del_init? (Not after a plain or _rcu
 * del, which poison.) Both families, any context; without the lock the answer is only a hint.
 */
LULL_INLINE bool lull_hlist_unhashed(const struct lull_hlist_node *node)
{
	return !lull_load_relaxed(&node->pprev);
}

/* Does not compile unless @x is a struct @tag; evaluates nothing. */
#define LULL__HLIST_CHECK(x, tag) ((void)sizeof(1 ? (x) : *LULL__NULL(const struct tag *)))

/* Return the element of @type whose @member is the node at @ptr. */
#define lull_hlist_entry(ptr, type, member)                                                        \
	(LULL__HLIST_CHECK(*(ptr), lull_hlist_node),                                               \
	 LULL__HLIST_CHECK(LULL__NULL(type *)->member, lull_hlist_node),                           \
	 lull_container_of(ptr, type, member))

/* Return that element, or NULL if @ptr is NULL. */
#define lull_hlist_entry_or_null(ptr, type, member)                                                \
	__extension__({                                                                            \
		struct lull_hlist_node *lull__node = (ptr);                                        \
		lull__node ? lull_hlist_entry(lull__node, type, member) : LULL__NULL(type *);      \
	})

/* The plain family */

/* Let *@pprev point to @node, with @next behind it. */
LULL_INLINE void lull__hlist_put(struct lull_hlist_node *node, struct lull_hlist_node **pprev,
				 struct lull_hlist_node *next)
{
	node->next = next;
	node->pprev = pprev;
	if (next)
		next->pprev = &node->next;
	*pprev = node;
}

LULL_INLINE void lull__hlist_unlink(struct lull_hlist_node *node)
{
	*node->pprev = node->next;
	if (node->next)
		node->next->pprev = node->pprev;
}

LULL_INLINE struct lull_hlist_node **lull__hlist_end(struct lull_hlist_head *head)
{
	struct lull_hlist_node **end = &head->first;

	while (*end)
		end = &(*end)->next;
	return end;
}

LULL_INLINE void lull_hlist_add_head(struct lull_hlist_node *node, struct lull_hlist_head *head)
{
	lull__hlist_put(node, &head->first, head->first);
}

/* Add @node right before or behind @at, which is on a list. */
LULL_INLINE void lull_hlist_add_before(struct lull_hlist_node *node, struct lull_hlist_node *at)
{
	lull__hlist_put(node, at->pprev, at);
}

LULL_INLINE void lull_hlist_add_behind(struct lull_hlist_node *node, struct lull_hlist_node *at)
{
	lull__hlist_put(node, &at->next, at->next);
}

/* Add @node at the end, which costs a walk. */
LULL_INLINE void lull_hlist_add_tail(struct lull_hlist_node *node, struct lull_hlist_head *head)
{
	lull__hlist_put(node, lull__hlist_end(head), NULL);
}

/* Take @node off its list and poison it: it must be added or initialised before anything else. */
LULL_INLINE void lull_hlist_del(struct lull_hlist_node *node)
{
	lull__hlist_unlink(node);
	node->next = LULL_HLIST_POISON_NEXT;
	node->pprev = LULL_HLIST_POISON_PPREV;
}

/* Take @node off its list, if it is on one, and initialise it. */
LULL_INLINE void lull_hlist_del_init(struct lull_hlist_node *node)
{
	if (lull_hlist_unhashed(node))
		return;
	lull__hlist_unlink(node);
	lull_hlist_node_init(node);
}

/* Put @node in the place of @old, which stays unchanged. */
LULL_INLINE void lull_hlist_replace(struct lull_hlist_node *old, struct lull_hlist_node *node)
{
	lull__hlist_put(node, old->pprev, old->next);
}

#define lull_hlist_for_each_entry(pos, head, member)                                               \
	for ((pos) = lull_hlist_entry_or_null((head)->first, __typeof__(*(pos)), member); (pos);   \
	     (pos) = lull_hlist_entry_or_null((pos)->member.next, __typeof__(*(pos)), member))

/* The body may delete or free @pos. @n, a struct lull_hlist_node pointer, is the node after it. */
#define lull_hlist_for_each_entry_safe(pos, n, head, member)                                       \
	for ((pos) = lull_hlist_entry_or_null((head)->first, __typeof__(*(pos)), member);          \
	     (pos) && ((n) = (pos)->member.next, 1);                                               \
	     (pos) = lull_hlist_entry_or_null(n, __typeof__(*(pos)), member))

/* The RCU family: readers */

/* Return the first node of a list, or the node behind @node; NULL at the end: a reader's one step. */
LULL_INLINE struct lull_hlist_node *lull_hlist_first_rcu(const struct lull_hlist_head *head)
{
	LULL__CHECK_WALK("lull_hlist_first_rcu", head);
	/*
	 * ORDER HLIST-1: load the pointer before what is read through it; pairs with HLIST-1 in
	 * lull__hlist_set(); without it a reader sees a node before its contents;
	 * model/structure/list-publish.litmus
	 */
	return lull_load_acquire(&head->first);
}

LULL_INLINE struct lull_hlist_node *lull_hlist_next_rcu(const struct lull_hlist_node *node)
{
	/*
	 * ORDER HLIST-1: load the pointer before what is read through it; pairs with HLIST-1 in
	 * lull__hlist_set(); without it a reader sees a node before its contents;
	 * model/structure/list-publish.litmus
	 *
	 * ORDER HLIST-2: load the pointer before what is read through it; pairs with HLIST-2 in
	 * lull__hlist_set(); without it a reader that passes a deleted node's place sees the next
	 * one before its contents; model/structure/list-unlink.litmus
	 */
	return lull_load_acquire(&node->next);
}

#define lull_hlist_next_entry_rcu(pos, member)                                                     \
	lull_hlist_entry_or_null(lull_hlist_next_rcu(&(pos)->member), __typeof__(*(pos)), member)

#define lull_hlist_for_each_entry_rcu(pos, head, member)                                           \
	for ((pos) = lull_hlist_entry_or_null(lull_hlist_first_rcu(head), __typeof__(*(pos)),      \
					      member);                                             \
	     (pos); (pos) = lull_hlist_next_entry_rcu(pos, member))

/* Go on behind @pos, or with @pos itself (or NULL), found in this same read section. */
#define lull_hlist_for_each_entry_continue_rcu(pos, member)                                        \
	for ((pos) = lull_hlist_next_entry_rcu(pos, member); (pos);                                \
	     (pos) = lull_hlist_next_entry_rcu(pos, member))

#define lull_hlist_for_each_entry_from_rcu(pos, member)                                            \
	for (; (pos); (pos) = lull_hlist_next_entry_rcu(pos, member))

/* The RCU family: updaters. The caller holds the lock of the list. */

LULL_INLINE void lull__hlist_set(struct lull_hlist_node **at, struct lull_hlist_node *node)
{
	/*
	 * ORDER HLIST-1: the contents of a fresh node before the pointer to it; pairs with
	 * HLIST-1 in lull_hlist_next_rcu() and lull_hlist_first_rcu(); without it a reader sees a
	 * node before its contents; model/structure/list-publish.litmus
	 *
	 * ORDER HLIST-2: where a node is unlinked, the contents of its successor before the new
	 * pointer to it; pairs with HLIST-2 in lull_hlist_next_rcu(), whose reader need not have
	 * seen the store that published the successor, only this one; without it a reader sees
	 * the successor before its contents; model/structure/list-unlink.litmus
	 */
	lull_store_release(at, node);
}

/*
 * Put @node as lull__hlist_put(). Readers do not use `pprev`, but lull_hlist_unhashed() may load it at any
 * time.
 */
LULL_INLINE void lull__hlist_put_rcu(struct lull_hlist_node *node, struct lull_hlist_node **pprev,
				     struct lull_hlist_node *next)
{
	node->next = next;
	lull_store_relaxed(&node->pprev, pprev);
	if (next)
		lull_store_relaxed(&next->pprev, &node->next);
	lull__hlist_set(LULL__CHECK_UPDATE("lull_hlist_add_rcu", pprev), node);
}

LULL_INLINE void lull__hlist_unlink_rcu(struct lull_hlist_node *node, struct lull_hlist_node **mark)
{
	struct lull_hlist_node *next = node->next;

	lull__hlist_set(LULL__CHECK_UPDATE("lull_hlist_del_rcu", node->pprev), next);
	if (next)
		lull_store_relaxed(&next->pprev, node->pprev);
	lull_store_relaxed(&node->pprev, mark);
}

/* Add @node, whose contents must be complete. */
LULL_INLINE void lull_hlist_add_head_rcu(struct lull_hlist_node *node,
					 struct lull_hlist_head *head)
{
	lull__hlist_put_rcu(node, &head->first, head->first);
}

/* Add @node right before or behind @at, which is on a list. */
LULL_INLINE void lull_hlist_add_before_rcu(struct lull_hlist_node *node,
					   struct lull_hlist_node *at)
{
	lull__hlist_put_rcu(node, at->pprev, at);
}

LULL_INLINE void lull_hlist_add_behind_rcu(struct lull_hlist_node *node,
					   struct lull_hlist_node *at)
{
	lull__hlist_put_rcu(node, &at->next, at->next);
}

/* Add @node at the end, which costs a walk. */
LULL_INLINE void lull_hlist_add_tail_rcu(struct lull_hlist_node *node,
					 struct lull_hlist_head *head)
{
	lull__hlist_put_rcu(node, lull__hlist_end(head), NULL);
}

/*
 * Take @node off its list. Readers on it go on by its `next`; free or reuse it only after a grace period. A
 * second deletion crashes (poison).
 */
LULL_INLINE void lull_hlist_del_rcu(struct lull_hlist_node *node)
{
	lull__hlist_unlink_rcu(node, LULL_HLIST_POISON_PPREV);
}

/* Take @node off its list, if it is on one; then lull_hlist_unhashed() is true, and `next` stays. */
LULL_INLINE void lull_hlist_del_init_rcu(struct lull_hlist_node *node)
{
	if (!lull_hlist_unhashed(node))
		lull__hlist_unlink_rcu(node, NULL);
}

/* Put @node, complete, in the place of @old; each walk meets one of them. @old is as deleted. */
LULL_INLINE void lull_hlist_replace_rcu(struct lull_hlist_node *old, struct lull_hlist_node *node)
{
	lull__hlist_put_rcu(node, old->pprev, old->next);
	lull_store_relaxed(&old->pprev, LULL_HLIST_POISON_PPREV);
}

/*
 * Exchange two whole lists; each walk follows one of them to its end. For a moment both heads lead to the
 * list that was @b's, so readers that must not miss the other list need a rule of their own.
 */
LULL_INLINE void lull_hlist_swap_heads_rcu(struct lull_hlist_head *a, struct lull_hlist_head *b)
{
	struct lull_hlist_node *first = a->first, *second = b->first;

	lull__hlist_set(&a->first, second);
	lull__hlist_set(&b->first, first);
	if (second)
		lull_store_relaxed(&second->pprev, &a->first);
	if (first)
		lull_store_relaxed(&first->pprev, &b->first);
}

LULL_END_DECLS

#endif /* LULL_HLIST_H */
