/* SPDX-License-Identifier: MIT */
/*
 * kernel_list.h - list.h, rculist.h and rculist_nulls.h (part of kernel.h).
 *
 * list.h, hlist.h and hlist_nulls.h say what each function does, and what readers see.
 */
#ifndef LULL_KERNEL_LIST_H
#define LULL_KERNEL_LIST_H

#ifdef LIST_HEAD_INIT
#error "this file has lists of its own: include lull/compat/kernel.h, or other parts of it than kernel_list.h"
#endif

#include <lull/compat/kernel_part.h>
#include <lull/hlist.h>
#include <lull/list.h>

/* ---- list_head -------------------------------------------------------------------------------- */

#define list_head lull_list_head

#define LIST_HEAD_INIT(name) LULL_LIST_HEAD_INIT(name)
#define LIST_HEAD(name)	     LULL_LIST_HEAD(name)
#define INIT_LIST_HEAD	     lull_list_init
#define INIT_LIST_HEAD_RCU   lull_list_init

#define list_entry(ptr, type, member)	      lull_list_entry(ptr, type, member)
#define list_entry_is_head(pos, head, member) lull_list_entry_is_head(pos, head, member)
#define list_first_entry(ptr, type, member)   lull_list_first_entry(ptr, type, member)
#define list_last_entry(ptr, type, member)    lull_list_last_entry(ptr, type, member)
#define list_next_entry(pos, member)	      lull_list_next_entry(pos, member)
#define list_prev_entry(pos, member)	      lull_list_prev_entry(pos, member)
#define list_first_entry_or_null(ptr, type, member)                                                \
	__extension__({                                                                            \
		struct lull_list_head *lull__head = (ptr);                                         \
		struct lull_list_head *lull__first = lull_load_relaxed(&lull__head->next);         \
		lull__first != lull__head ? lull_list_entry(lull__first, type, member) : (type *)0; \
	})

#define list_empty	   lull_list_empty
#define list_add	   lull_list_add
#define list_add_tail	   lull_list_add_tail
#define list_del	   lull_list_del
#define list_del_init	   lull_list_del_init
#define list_replace	   lull_list_replace
#define list_move	   lull_list_move
#define list_splice	   lull_list_splice
#define list_splice_init   lull_list_splice
#define list_splice_tail   lull_list_splice_tail
#define list_splice_tail_init lull_list_splice_tail

/* Put @node in the place of @old, and make @old a list of its own. */
static inline void list_replace_init(struct lull_list_head *old, struct lull_list_head *node)
{
	lull_list_replace(old, node);
	lull_list_init(old);
}

static inline void list_move_tail(struct lull_list_head *node, struct lull_list_head *head)
{
	lull_list_del(node);
	lull_list_add_tail(node, head);
}

static inline int list_is_first(const struct lull_list_head *list, const struct lull_list_head *head)
{
	return list->prev == head;
}

static inline int list_is_last(const struct lull_list_head *list, const struct lull_list_head *head)
{
	return list->next == head;
}

static inline int list_is_head(const struct lull_list_head *list, const struct lull_list_head *head)
{
	return list == head;
}

static inline int list_is_singular(const struct lull_list_head *head)
{
	return !lull_list_empty(head) && head->next == head->prev;
}

#define list_for_each(pos, head) for ((pos) = (head)->next; (pos) != (head); (pos) = (pos)->next)
#define list_for_each_prev(pos, head)                                                              \
	for ((pos) = (head)->prev; (pos) != (head); (pos) = (pos)->prev)
#define list_for_each_safe(pos, n, head)                                                           \
	for ((pos) = (head)->next, (n) = (pos)->next; (pos) != (head); (pos) = (n), (n) = (pos)->next)
#define list_for_each_entry(pos, head, member)	 lull_list_for_each_entry(pos, head, member)
#define list_for_each_entry_reverse(pos, head, member)                                             \
	lull_list_for_each_entry_reverse(pos, head, member)
#define list_for_each_entry_safe(pos, n, head, member)                                             \
	lull_list_for_each_entry_safe(pos, n, head, member)
/* Go on behind @pos, or with @pos itself. */
#define list_for_each_entry_continue(pos, head, member)                                            \
	for ((pos) = lull_list_next_entry(pos, member); !lull_list_entry_is_head(pos, head, member); \
	     (pos) = lull_list_next_entry(pos, member))
#define list_for_each_entry_from(pos, head, member)                                                \
	for (; !lull_list_entry_is_head(pos, head, member); (pos) = lull_list_next_entry(pos, member))

/* ---- the same, for readers without a lock ------------------------------------------------------- */

/* These three are the pointers themselves, for rcu_dereference() and rcu_assign_pointer(). */
#define list_next_rcu(list)	  ((list)->next)
#define list_tail_rcu(head)	  ((head)->prev)
#define list_bidir_prev_rcu(list) ((list)->prev)

#define list_add_rcu	  lull_list_add_rcu
#define list_add_tail_rcu lull_list_add_tail_rcu
#define list_del_rcu	  lull_list_del_rcu
#define list_replace_rcu  lull_list_replace_rcu
#define list_bidir_del_rcu lull_list_bidir_del_rcu
#define list_splice_init_rcu	  lull_list_splice_init_rcu
#define list_splice_tail_init_rcu lull_list_splice_tail_init_rcu

/* Return the element at the node that @ptr, a pointer variable, points to. */
#define list_entry_rcu(ptr, type, member) lull_list_entry(lull__kernel_load(&(ptr)), type, member)
#define list_first_or_null_rcu(ptr, type, member) lull_list_first_or_null_rcu(ptr, type, member)
#define list_next_or_null_rcu(head, ptr, type, member)                                             \
	lull_list_next_or_null_rcu(head, ptr, type, member)

#define list_for_each_rcu(pos, head) lull_list_for_each_rcu(pos, head)
/* A fourth argument says which lock is enough in place of a section. It is not evaluated: check.h knows the lock. */
#define list_for_each_entry_rcu(pos, head, ...)                                                    \
	lull_list_for_each_entry_rcu(pos, head, LULL__KERNEL_FIRST(__VA_ARGS__, 0))
#define list_for_each_entry_lockless(pos, head, member) lull_list_for_each_entry_rcu(pos, head, member)
#define list_for_each_entry_continue_rcu(pos, head, member)                                        \
	lull_list_for_each_entry_continue_rcu(pos, head, member)
#define list_for_each_entry_from_rcu(pos, head, member)                                            \
	lull_list_for_each_entry_from_rcu(pos, head, member)

/* ---- hlist_head --------------------------------------------------------------------------------- */

#define hlist_head lull_hlist_head
#define hlist_node lull_hlist_node

#define HLIST_HEAD_INIT	    LULL_HLIST_HEAD_INIT
#define HLIST_HEAD(name)    struct lull_hlist_head name = LULL_HLIST_HEAD_INIT
#define INIT_HLIST_HEAD	    lull_hlist_init
#define INIT_HLIST_NODE	    lull_hlist_node_init

#define hlist_entry(ptr, type, member)	    lull_hlist_entry(ptr, type, member)
#define hlist_entry_safe(ptr, type, member) lull_hlist_entry_or_null(ptr, type, member)
#define hlist_empty	    lull_hlist_empty
#define hlist_unhashed	    lull_hlist_unhashed
#define hlist_unhashed_lockless lull_hlist_unhashed
#define hlist_add_head	    lull_hlist_add_head
#define hlist_add_before    lull_hlist_add_before
#define hlist_add_behind    lull_hlist_add_behind
#define hlist_del	    lull_hlist_del
#define hlist_del_init	    lull_hlist_del_init

#define hlist_for_each(pos, head) for ((pos) = (head)->first; (pos); (pos) = (pos)->next)
#define hlist_for_each_safe(pos, n, head)                                                          \
	for ((pos) = (head)->first; (pos) && ((n) = (pos)->next, 1); (pos) = (n))
#define hlist_for_each_entry(pos, head, member) lull_hlist_for_each_entry(pos, head, member)
#define hlist_for_each_entry_safe(pos, n, head, member)                                            \
	lull_hlist_for_each_entry_safe(pos, n, head, member)
#define hlist_for_each_entry_continue(pos, member)                                                 \
	for ((pos) = lull_hlist_entry_or_null((pos)->member.next, __typeof__(*(pos)), member); (pos); \
	     (pos) = lull_hlist_entry_or_null((pos)->member.next, __typeof__(*(pos)), member))

/* The pointers themselves, as above. */
#define hlist_first_rcu(head) ((head)->first)
#define hlist_next_rcu(node)  ((node)->next)
#define hlist_pprev_rcu(node) (*(node)->pprev)

#define hlist_add_head_rcu   lull_hlist_add_head_rcu
#define hlist_add_tail_rcu   lull_hlist_add_tail_rcu
#define hlist_add_before_rcu lull_hlist_add_before_rcu
#define hlist_add_behind_rcu lull_hlist_add_behind_rcu
#define hlist_del_rcu	     lull_hlist_del_rcu
#define hlist_del_init_rcu   lull_hlist_del_init_rcu
#define hlist_replace_rcu    lull_hlist_replace_rcu
#define hlists_swap_heads_rcu lull_hlist_swap_heads_rcu

/* The optional last argument as above. */
#define hlist_for_each_entry_rcu(pos, head, ...)                                                   \
	lull_hlist_for_each_entry_rcu(pos, head, LULL__KERNEL_FIRST(__VA_ARGS__, 0))
#define hlist_for_each_entry_continue_rcu(pos, member)                                             \
	lull_hlist_for_each_entry_continue_rcu(pos, member)
#define hlist_for_each_entry_from_rcu(pos, member) lull_hlist_for_each_entry_from_rcu(pos, member)

/* ---- hlist_nulls_head ----------------------------------------------------------------------------- */

#define hlist_nulls_head lull_hlist_nulls_head
#define hlist_nulls_node lull_hlist_nulls_node

#define NULLS_MARKER(value) ((uintptr_t)(value) << 1 | 1)
#define HLIST_NULLS_HEAD_INIT(nulls)                                                               \
	{                                                                                          \
		(struct lull_hlist_nulls_node *)NULLS_MARKER(nulls)                                \
	}
#define INIT_HLIST_NULLS_HEAD(ptr, nulls) lull_hlist_nulls_init(ptr, (uintptr_t)(nulls))

#define is_a_nulls	     lull_is_a_nulls
#define get_nulls_value	     lull_get_nulls_value
#define hlist_nulls_empty    lull_hlist_nulls_empty
#define hlist_nulls_unhashed lull_hlist_nulls_unhashed
#define hlist_nulls_entry(ptr, type, member) lull_hlist_nulls_entry(ptr, type, member)

#define hlist_nulls_first_rcu(head) ((head)->first)
#define hlist_nulls_next_rcu(node)  ((node)->next)

#define hlist_nulls_add_head	 lull_hlist_nulls_add_head_rcu
#define hlist_nulls_add_head_rcu lull_hlist_nulls_add_head_rcu
#define hlist_nulls_del		 lull_hlist_nulls_del_rcu
#define hlist_nulls_del_rcu	 lull_hlist_nulls_del_rcu
#define hlist_nulls_del_init_rcu lull_hlist_nulls_del_init_rcu
#define hlist_nulls_replace_rcu	 lull_hlist_nulls_replace_rcu

#define hlist_nulls_for_each_entry_rcu(tpos, pos, head, member)                                    \
	lull_hlist_nulls_for_each_entry_rcu(tpos, pos, head, member)
#define hlist_nulls_for_each_entry(tpos, pos, head, member)                                        \
	lull_hlist_nulls_for_each_entry_rcu(tpos, pos, head, member)

#endif /* LULL_KERNEL_LIST_H */
