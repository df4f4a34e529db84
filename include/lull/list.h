/* SPDX-License-Identifier: MIT */
/*
 * list.h - circular doubly linked lists that may be read while they are changed.
 *
 * A struct lull_list_head is embedded in each element; one more, the head, stands for the list. Head and
 * nodes form a ring; an empty list is a head that points to itself. No function allocates or fails.
 *
 *	struct route {
 *		struct lull_list_head list;
 *		struct lull_rcu_head rcu;
 *		...
 *	};
 *
 *	reader, no lock				updater, with the lock of the list
 *	lull_rcu_read_lock();			lull_list_add_rcu(&fresh->list, &routes);
 *	lull_list_for_each_entry_rcu(r,		lull_list_del_rcu(&stale->list);
 *				&routes, list)	lull_rcu_call(&stale->rcu, route_free);
 *		...
 *	lull_rcu_read_unlock();
 *
 * There are two families of the same verbs. The plain family (lull_list_add, ...) is for lists that one
 * thread owns, or for which readers and updaters take one lock. The _rcu family is for lists with readers
 * that hold no lock. Its updaters need a lock of any kind: one updater per list at a time, and a splice
 * updates both lists. Its readers need an RCU read section, or that same lock, to keep the nodes allocated. A
 * list may change its family only while no other thread can reach it. No function blocks, except
 * lull_list_splice_init_rcu() and its tail form, which wait for readers. Signal handlers may read.
 *
 * A reader meets each element that is on the list during the whole walk exactly once, in order. It may or may
 * not meet an element that is added or deleted during the walk. Where an element is replaced it meets either the old or
 * the new one. Each element that it meets has everything that was stored in it before it was added. A deleted node
 * keeps its `next`, so a reader on it comes back to the list.
 *
 * Rules for deleting: between lull_list_del_rcu() and the end of a grace period do not free the node, change
 * it or add it anywhere, because readers may stand on it. On another list it would lead them to a head that
 * is not theirs, and they would never end. (Objects that must move at once need the nulls lists of
 * hlist_nulls.h.) To change a published element: copy it, change the copy, lull_list_replace_rcu().
 *
 * Both ways. Readers may walk backwards too (lull_list_for_each_entry_reverse_rcu) if *all* deletions and
 * replacements on that list are the bidir ones, which keep `prev` as well; the others poison `prev`, to catch
 * a second deletion. A new node can be met forwards before it can be met backwards, so a walk back may meet
 * others.
 *
 * The iteration macros declare nothing: the caller declares @pos, as a pointer to const if it likes. @head
 * is evaluated at every step. After a loop that ran to its end @pos points to no element.
 */
#ifndef LULL_LIST_H
#define LULL_LIST_H

#include <lull/atomic.h>
#include <lull/detail/base.h>
#include <lull/check.h>

LULL_BEGIN_DECLS

struct lull_list_head {
	struct lull_list_head *next, *prev;
};

/* Define an empty list, as an initialiser and as a definition (`static LULL_LIST_HEAD(routes);`). */
#define LULL_LIST_HEAD_INIT(name)                                                                  \
	{                                                                                          \
		&(name), &(name)                                                                   \
	}
#define LULL_LIST_HEAD(name) struct lull_list_head name = LULL_LIST_HEAD_INIT(name)

/* The links of deleted nodes point into the first page, which is never mapped. */
#define LULL_LIST_POISON LULL__CAST(struct lull_list_head *, 0x220ul)

/* Make @node an empty list, or a node that is on none. No other thread may reach it yet. */
LULL_INLINE void lull_list_init(struct lull_list_head *node)
{
	node->next = node;
	node->prev = node;
}

/*
 * Is the list empty? Both families, any context. Without the lock the answer is only a hint. Do not call
 * lull_list_first_entry() after it, which takes the head for an element if the last one has gone: use
 * lull_list_first_or_null_rcu(), which loads the pointer once.
 */
LULL_INLINE bool lull_list_empty(const struct lull_list_head *head)
{
	return lull_load_relaxed(&head->next) == head;
}

/* Does not compile unless @x is a struct lull_list_head; evaluates nothing. */
#define LULL__LIST_CHECK(x) ((void)sizeof(1 ? (x) : *LULL__NULL(const struct lull_list_head *)))

/* Return the element of @type whose @member is the node at @ptr. */
#define lull_list_entry(ptr, type, member)                                                         \
	(LULL__LIST_CHECK(*(ptr)), LULL__LIST_CHECK(LULL__NULL(type *)->member),                   \
	 lull_container_of(ptr, type, member))

/* Has @pos, the cursor of a loop, come round to the head? */
#define lull_list_entry_is_head(pos, head, member) (&(pos)->member == (head))

/* The plain family */

/* Return the first or last element of a list that is not empty, or an existing neighbour of @pos. */
#define lull_list_first_entry(head, type, member) lull_list_entry((head)->next, type, member)
#define lull_list_last_entry(head, type, member)  lull_list_entry((head)->prev, type, member)
#define lull_list_next_entry(pos, member)                                                          \
	lull_list_entry((pos)->member.next, __typeof__(*(pos)), member)
#define lull_list_prev_entry(pos, member)                                                          \
	lull_list_entry((pos)->member.prev, __typeof__(*(pos)), member)

LULL_INLINE void lull__list_join(struct lull_list_head *prev, struct lull_list_head *next)
{
	prev->next = next;
	next->prev = prev;
}

/* Add @node right behind @head (or behind any node). */
LULL_INLINE void lull_list_add(struct lull_list_head *node, struct lull_list_head *head)
{
	struct lull_list_head *next = head->next;

	lull__list_join(node, next);
	lull__list_join(head, node);
}

/* Add @node right before @head, that is at the end (or before any node). */
LULL_INLINE void lull_list_add_tail(struct lull_list_head *node, struct lull_list_head *head)
{
	lull_list_add(node, head->prev);
}

/* Take @node off its list and poison it: it must be added or initialised before anything else. */
LULL_INLINE void lull_list_del(struct lull_list_head *node)
{
	lull__list_join(node->prev, node->next);
	node->next = LULL_LIST_POISON;
	node->prev = LULL_LIST_POISON;
}

/* Take @node off its list and make it a list of its own: deleting it again is harmless. */
LULL_INLINE void lull_list_del_init(struct lull_list_head *node)
{
	lull__list_join(node->prev, node->next);
	lull_list_init(node);
}

/* Put @node in the place of @old, which may be an only element; @old stays unchanged. */
LULL_INLINE void lull_list_replace(struct lull_list_head *old, struct lull_list_head *node)
{
	lull__list_join(node, old->next);
	lull__list_join(old->prev, node);
}

/* Take @node off its list and add it behind @head, of the same list or another. */
LULL_INLINE void lull_list_move(struct lull_list_head *node, struct lull_list_head *head)
{
	lull__list_join(node->prev, node->next);
	lull_list_add(node, head);
}

/* Insert all of @list, in order, between the node @at and its successor; leave @list empty. */
LULL_INLINE void lull_list_splice(struct lull_list_head *list, struct lull_list_head *at)
{
	struct lull_list_head *first = list->next, *last = list->prev, *next = at->next;

	if (first == list)
		return;
	lull__list_join(at, first);
	lull__list_join(last, next);
	lull_list_init(list);
}

/* Splice between the node @at and its predecessor: at the end, if @at is a head. */
LULL_INLINE void lull_list_splice_tail(struct lull_list_head *list, struct lull_list_head *at)
{
	lull_list_splice(list, at->prev);
}

#define lull_list_for_each_entry(pos, head, member)                                                \
	for ((pos) = lull_list_first_entry(head, __typeof__(*(pos)), member);                      \
	     !lull_list_entry_is_head(pos, head, member);                                          \
	     (pos) = lull_list_next_entry(pos, member))

#define lull_list_for_each_entry_reverse(pos, head, member)                                        \
	for ((pos) = lull_list_last_entry(head, __typeof__(*(pos)), member);                       \
	     !lull_list_entry_is_head(pos, head, member);                                          \
	     (pos) = lull_list_prev_entry(pos, member))

/* The body may delete or free @pos. @n, of the same type, holds the element after it. */
#define lull_list_for_each_entry_safe(pos, n, head, member)                                        \
	for ((pos) = lull_list_first_entry(head, __typeof__(*(pos)), member),                      \
	    (n) = lull_list_next_entry(pos, member);                                               \
	     !lull_list_entry_is_head(pos, head, member);                                          \
	     (pos) = (n), (n) = lull_list_next_entry(n, member))

/* The RCU family: readers */

/* Return the node behind @node, or the head: a reader's one step. */
LULL_INLINE struct lull_list_head *lull_list_next_rcu(const struct lull_list_head *node)
{
	LULL__CHECK_WALK("lull_list_next_rcu", node);
	/*
	 * ORDER LIST-1: load the pointer before what is read through it; pairs with LIST-1 in
	 * lull__list_set_next(); without it a reader sees a node before its contents;
	 * model/structure/list-publish.litmus
	 *
	 * ORDER LIST-2: load the pointer before what is read through it; pairs with LIST-2 in
	 * lull__list_set_next(); without it a reader that passes a deleted node's place sees the
	 * next one before its contents; model/structure/list-unlink.litmus
	 */
	return lull_load_acquire(&node->next);
}

/* Return the node before @node, or the head. Only on a list whose deletions are all bidir. */
LULL_INLINE struct lull_list_head *lull_list_prev_rcu(const struct lull_list_head *node)
{
	LULL__CHECK_WALK("lull_list_prev_rcu", node);
	/*
	 * ORDER LIST-3: load the pointer before what is read through it; pairs with LIST-3 in
	 * lull__list_set_prev(); without it a reader walking backwards sees a node before its
	 * contents; model/structure/list-publish.litmus
	 */
	return lull_load_acquire(&node->prev);
}

/* Return the element behind the one at @pos, or before it: steps of the loops below. */
#define lull_list_next_entry_rcu(pos, member)                                                      \
	lull_list_entry(lull_list_next_rcu(&(pos)->member), __typeof__(*(pos)), member)
#define lull_list_prev_entry_rcu(pos, member)                                                      \
	lull_list_entry(lull_list_prev_rcu(&(pos)->member), __typeof__(*(pos)), member)

/* Return the first element, or NULL if the list is empty. */
#define lull_list_first_or_null_rcu(head, type, member)                                            \
	lull_list_next_or_null_rcu(head, head, type, member)

/* Return the element behind the node at @ptr, or NULL if that is the last on the list of @head. */
#define lull_list_next_or_null_rcu(head, ptr, type, member)                                        \
	__extension__({                                                                            \
		struct lull_list_head *lull__next = lull_list_next_rcu(ptr);                       \
		lull__next != (head) ? lull_list_entry(lull__next, type, member) : LULL__NULL(type *); \
	})

/* Loop over the nodes; @pos is a struct lull_list_head pointer. */
#define lull_list_for_each_rcu(pos, head)                                                          \
	for ((pos) = lull_list_next_rcu(head); (pos) != (head); (pos) = lull_list_next_rcu(pos))

#define lull_list_for_each_entry_rcu(pos, head, member)                                            \
	for ((pos) = lull_list_entry(lull_list_next_rcu(head), __typeof__(*(pos)), member);        \
	     !lull_list_entry_is_head(pos, head, member);                                          \
	     (pos) = lull_list_next_entry_rcu(pos, member))

/*
 * Go on behind @pos, or with @pos itself. The caller must have found the element in this same read section,
 * or keep it by other means and know that nobody has deleted it.
 */
#define lull_list_for_each_entry_continue_rcu(pos, head, member)                                   \
	for ((pos) = lull_list_next_entry_rcu(pos, member);                                        \
	     !lull_list_entry_is_head(pos, head, member);                                          \
	     (pos) = lull_list_next_entry_rcu(pos, member))

#define lull_list_for_each_entry_from_rcu(pos, head, member)                                       \
	for (; !lull_list_entry_is_head(pos, head, member);                                        \
	     (pos) = lull_list_next_entry_rcu(pos, member))

/* Loop backwards, on a list whose deletions are all bidir. */
#define lull_list_for_each_entry_reverse_rcu(pos, head, member)                                    \
	for ((pos) = lull_list_entry(lull_list_prev_rcu(head), __typeof__(*(pos)), member);        \
	     !lull_list_entry_is_head(pos, head, member);                                          \
	     (pos) = lull_list_prev_entry_rcu(pos, member))

/* The RCU family: updaters. The caller holds the lock of the list. */

/* Check an update between @prev and @next, one of which may be a head that check.h knows. */
LULL_INLINE void lull__list_check(const char *call, struct lull_list_head *prev, struct lull_list_head *next)
{
	(void)call;
	(void)LULL__CHECK_UPDATE(call, prev);
	(void)LULL__CHECK_UPDATE(call, next);
}

LULL_INLINE void lull__list_set_next(struct lull_list_head *at, struct lull_list_head *next)
{
	/*
	 * ORDER LIST-1: the contents of a fresh node before the pointer to it; pairs with LIST-1
	 * in lull_list_next_rcu(); without it a reader sees a node before its contents;
	 * model/structure/list-publish.litmus
	 *
	 * ORDER LIST-2: where a node is unlinked, the contents of its successor before the new
	 * pointer to it; pairs with LIST-2 in lull_list_next_rcu(), whose reader need not have
	 * seen the store that published the successor, only this one; without it a reader sees
	 * the successor before its contents; model/structure/list-unlink.litmus
	 */
	lull_store_release(&at->next, next);
}

LULL_INLINE void lull__list_set_prev(struct lull_list_head *at, struct lull_list_head *prev)
{
	/*
	 * ORDER LIST-3: the contents of the node before the backward pointer to it; pairs with
	 * LIST-3 in lull_list_prev_rcu(), for which the forward pointer's order is no help;
	 * without it a reader walking backwards sees a node before its contents;
	 * model/structure/list-publish.litmus
	 */
	lull_store_release(&at->prev, prev);
}

/* Add @node right behind @head (or behind any node). Its contents must be complete. */
LULL_INLINE void lull_list_add_rcu(struct lull_list_head *node, struct lull_list_head *head)
{
	struct lull_list_head *next = head->next;

	lull__list_check("lull_list_add_rcu", head, next);
	node->next = next;
	node->prev = head;
	lull__list_set_next(head, node);
	lull__list_set_prev(next, node);
}

/* Add @node right before @head, that is at the end (or before any node). */
LULL_INLINE void lull_list_add_tail_rcu(struct lull_list_head *node, struct lull_list_head *head)
{
	lull_list_add_rcu(node, head->prev);
}

/*
 * Take @node off its list. Readers on it go on by its `next`; free or reuse it only after a grace period. Its
 * `prev` is poisoned, so a second deletion crashes.
 */
LULL_INLINE void lull_list_del_rcu(struct lull_list_head *node)
{
	struct lull_list_head *next = node->next, *prev = node->prev;

	lull__list_check("lull_list_del_rcu", prev, next);
	lull__list_set_next(prev, next);
	next->prev = prev;
	node->prev = LULL_LIST_POISON;
}

/* Delete @node where readers also walk backwards: both its links stay. Delete it only once. */
LULL_INLINE void lull_list_bidir_del_rcu(struct lull_list_head *node)
{
	struct lull_list_head *next = node->next, *prev = node->prev;

	lull__list_check("lull_list_bidir_del_rcu", prev, next);
	lull__list_set_next(prev, next);
	lull__list_set_prev(next, prev);
}

/* Replace @old where readers also walk backwards: both its links stay. */
LULL_INLINE void lull_list_bidir_replace_rcu(struct lull_list_head *old,
					     struct lull_list_head *node)
{
	struct lull_list_head *next = old->next, *prev = old->prev;

	lull__list_check("lull_list_replace_rcu", prev, next);
	node->next = next;
	node->prev = prev;
	lull__list_set_next(prev, node);
	lull__list_set_prev(next, node);
}

/* Put @node, complete, in the place of @old; each walk meets one of the two. @old is as deleted. */
LULL_INLINE void lull_list_replace_rcu(struct lull_list_head *old, struct lull_list_head *node)
{
	lull_list_bidir_replace_rcu(old, node);
	old->prev = LULL_LIST_POISON;
}

/*
 * Insert all of @list, in order, between the node @at of another list and its successor, and leave @list
 * empty. The readers of @list must be gone before its nodes lead to another head: @sync waits for them
 * (lull_rcu_synchronize, if they are RCU readers). So this blocks, with the locks of both lists held; not in
 * a read section. Until it returns, readers find the nodes on neither list.
 */
LULL_INLINE void lull_list_splice_init_rcu(struct lull_list_head *list, struct lull_list_head *at,
					   void (*sync)(void))
{
	struct lull_list_head *first = list->next, *last = list->prev, *next;

	lull__list_check("lull_list_splice_init_rcu", list, at);
	if (first == list)
		return;
	/* New readers find an empty list; those inside still come to the end, last->next. */
	lull_store_relaxed(&list->next, list);
	lull_store_relaxed(&list->prev, list);
	sync();

	next = at->next;
	last->next = next;
	first->prev = at;
	lull__list_set_next(at, first);
	lull__list_set_prev(next, last);
}

/* Splice between the node @at and its predecessor: at the end, if @at is a head. */
LULL_INLINE void lull_list_splice_tail_init_rcu(struct lull_list_head *list,
						struct lull_list_head *at, void (*sync)(void))
{
	lull_list_splice_init_rcu(list, at->prev, sync);
}

LULL_END_DECLS

#endif /* LULL_LIST_H */
