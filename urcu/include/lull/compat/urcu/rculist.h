/* SPDX-License-Identifier: MIT */
/*
 * rculist.h - the same lists for readers without a lock; the orders are those of lull/list.h (LIST-1, LIST-2).
 */
#ifndef _URCU_RCULIST_H
#define _URCU_RCULIST_H

#include "list.h"
#include "pointer.h"

static inline void cds_list_add_rcu(struct cds_list_head *newp, struct cds_list_head *head)
{
	newp->next = head->next;
	newp->prev = head;
	head->next->prev = newp;
	rcu_assign_pointer(head->next, newp);
}

static inline void cds_list_add_tail_rcu(struct cds_list_head *newp, struct cds_list_head *head)
{
	newp->next = head;
	newp->prev = head->prev;
	rcu_assign_pointer(head->prev->next, newp);
	head->prev = newp;
}

static inline void cds_list_replace_rcu(struct cds_list_head *old, struct cds_list_head *_new)
{
	_new->next = old->next;
	_new->prev = old->prev;
	rcu_assign_pointer(_new->prev->next, _new);
	_new->next->prev = _new;
}

static inline void cds_list_del_rcu(struct cds_list_head *elem)
{
	elem->next->prev = elem->prev;
	rcu_assign_pointer(elem->prev->next, elem->next);
}

#define cds_list_for_each_rcu(pos, head)                                                           \
	for ((pos) = rcu_dereference((head)->next); (pos) != (head); (pos) = rcu_dereference((pos)->next))
#define cds_list_for_each_entry_rcu(pos, head, member)                                             \
	for ((pos) = cds_list_entry(rcu_dereference((head)->next), __typeof__(*(pos)), member);    \
	     &(pos)->member != (head);                                                             \
	     (pos) = cds_list_entry(rcu_dereference((pos)->member.next), __typeof__(*(pos)), member))

#endif /* _URCU_RCULIST_H */
