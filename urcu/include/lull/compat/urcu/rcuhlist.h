/* SPDX-License-Identifier: MIT */
/*
 * rcuhlist.h - the same lists for readers without a lock; the orders are those of lull/hlist.h (HLIST-1, HLIST-2).
 */
#ifndef _URCU_RCUHLIST_H
#define _URCU_RCUHLIST_H

#include "hlist.h"
#include "pointer.h"

static inline void cds_hlist_add_head_rcu(struct cds_hlist_node *newp, struct cds_hlist_head *head)
{
	newp->next = head->next;
	newp->prev = (struct cds_hlist_node *)head;
	if (head->next)
		head->next->prev = newp;
	rcu_assign_pointer(head->next, newp);
}

static inline void cds_hlist_del_rcu(struct cds_hlist_node *elem)
{
	if (elem->next)
		elem->next->prev = elem->prev;
	rcu_assign_pointer(elem->prev->next, elem->next);
}

#define cds_hlist_for_each_rcu(pos, head)                                                          \
	for ((pos) = rcu_dereference((head)->next); (pos); (pos) = rcu_dereference((pos)->next))
#define cds_hlist_for_each_entry_rcu(entry, pos, head, member)                                     \
	for ((pos) = rcu_dereference((head)->next);                                                \
	     (pos) && ((entry) = cds_hlist_entry(pos, __typeof__(*(entry)), member), 1);           \
	     (pos) = rcu_dereference((pos)->next))
#define cds_hlist_for_each_entry_rcu_2(entry, head, member)                                        \
	for ((entry) = cds_hlist_entry_safe(rcu_dereference((head)->next), __typeof__(*(entry)), member); \
	     (entry); (entry) = cds_hlist_entry_safe(rcu_dereference((entry)->member.next),        \
						     __typeof__(*(entry)), member))

#endif /* _URCU_RCUHLIST_H */
