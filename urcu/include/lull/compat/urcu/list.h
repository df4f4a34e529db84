/* SPDX-License-Identifier: MIT */
/*
 * list.h - liburcu's doubly linked lists, for those who hold a lock.
 */
#ifndef _CDS_LIST_H
#define _CDS_LIST_H

#include "../urcu_helpers.h"

struct cds_list_head {
	struct cds_list_head *next, *prev;
};

#define CDS_LIST_HEAD_INIT(name)                                                                   \
	{                                                                                          \
		&(name), &(name)                                                                   \
	}
#define CDS_LIST_HEAD(name) struct cds_list_head name = CDS_LIST_HEAD_INIT(name)
#define CDS_INIT_LIST_HEAD(ptr)                                                                    \
	do {                                                                                       \
		struct cds_list_head *lull__head = (ptr);                                          \
		lull__head->next = lull__head->prev = lull__head;                                  \
	} while (0)

static inline void __cds_list_del(struct cds_list_head *prev, struct cds_list_head *next)
{
	next->prev = prev;
	prev->next = next;
}

static inline void cds_list_add(struct cds_list_head *newp, struct cds_list_head *head)
{
	struct cds_list_head *next = head->next;

	__cds_list_del(newp, next);
	__cds_list_del(head, newp);
}

static inline void cds_list_add_tail(struct cds_list_head *newp, struct cds_list_head *head)
{
	cds_list_add(newp, head->prev);
}

/* The links of the element stay as they are. */
static inline void cds_list_del(struct cds_list_head *elem)
{
	__cds_list_del(elem->prev, elem->next);
}

static inline void cds_list_del_init(struct cds_list_head *elem)
{
	cds_list_del(elem);
	CDS_INIT_LIST_HEAD(elem);
}

static inline void cds_list_move(struct cds_list_head *elem, struct cds_list_head *head)
{
	cds_list_del(elem);
	cds_list_add(elem, head);
}

static inline void cds_list_replace(struct cds_list_head *old, struct cds_list_head *_new)
{
	__cds_list_del(_new, old->next);
	__cds_list_del(old->prev, _new);
}

static inline int cds_list_empty(const struct cds_list_head *head)
{
	return head == head->next;
}

/* Both are heads. */
static inline void cds_list_replace_init(struct cds_list_head *old, struct cds_list_head *_new)
{
	cds_list_replace(old, _new);
	if (cds_list_empty(old))
		CDS_INIT_LIST_HEAD(_new);
	CDS_INIT_LIST_HEAD(old);
}

/* Put the elements of @add behind @head; the head @add is as it was. */
static inline void cds_list_splice(struct cds_list_head *add, struct cds_list_head *head)
{
	if (cds_list_empty(add))
		return;
	__cds_list_del(add->prev, head->next);
	__cds_list_del(head, add->next);
}

#define cds_list_entry(ptr, type, member)	caa_container_of(ptr, type, member)
#define cds_list_first_entry(ptr, type, member) cds_list_entry((ptr)->next, type, member)
#define lull__cds_next(pos, member) cds_list_entry((pos)->member.next, __typeof__(*(pos)), member)

#define cds_list_for_each(pos, head) for ((pos) = (head)->next; (pos) != (head); (pos) = (pos)->next)
#define cds_list_for_each_prev(pos, head)                                                          \
	for ((pos) = (head)->prev; (pos) != (head); (pos) = (pos)->prev)
#define cds_list_for_each_safe(pos, p, head)                                                       \
	for ((pos) = (head)->next, (p) = (pos)->next; (pos) != (head); (pos) = (p), (p) = (pos)->next)
#define cds_list_for_each_prev_safe(pos, p, head)                                                  \
	for ((pos) = (head)->prev, (p) = (pos)->prev; (pos) != (head); (pos) = (p), (p) = (pos)->prev)
#define cds_list_for_each_entry(pos, head, member)                                                 \
	for ((pos) = cds_list_entry((head)->next, __typeof__(*(pos)), member);                     \
	     &(pos)->member != (head); (pos) = lull__cds_next(pos, member))
#define cds_list_for_each_entry_reverse(pos, head, member)                                         \
	for ((pos) = cds_list_entry((head)->prev, __typeof__(*(pos)), member);                     \
	     &(pos)->member != (head);                                                             \
	     (pos) = cds_list_entry((pos)->member.prev, __typeof__(*(pos)), member))
#define cds_list_for_each_entry_safe(pos, p, head, member)                                         \
	for ((pos) = cds_list_entry((head)->next, __typeof__(*(pos)), member),                     \
	    (p) = lull__cds_next(pos, member);                                                     \
	     &(pos)->member != (head); (pos) = (p), (p) = lull__cds_next(pos, member))
#define cds_list_for_each_entry_safe_from(pos, p, head, member)                                    \
	for ((p) = lull__cds_next(pos, member); &(pos)->member != (head);                          \
	     (pos) = (p), (p) = lull__cds_next(pos, member))

#endif /* _CDS_LIST_H */
