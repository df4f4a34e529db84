/* SPDX-License-Identifier: MIT */
/*
 * hlist.h - liburcu's lists with a head of one word, for those who hold a lock.
 */
#ifndef _KCOMPAT_HLIST_H
#define _KCOMPAT_HLIST_H

#include "../urcu_helpers.h"

struct cds_hlist_head {
	struct cds_hlist_node *next;
};

/* @prev of the first node is its head, whose only member is in the same place. */
struct cds_hlist_node {
	struct cds_hlist_node *next, *prev;
};

static inline void CDS_INIT_HLIST_HEAD(struct cds_hlist_head *ptr)
{
	ptr->next = NULL;
}

#define CDS_HLIST_HEAD_INIT(name)                                                                  \
	{                                                                                          \
		NULL                                                                               \
	}
#define CDS_HLIST_HEAD(name) struct cds_hlist_head name = CDS_HLIST_HEAD_INIT(name)

#define cds_hlist_entry(ptr, type, member) caa_container_of(ptr, type, member)
#define cds_hlist_entry_safe(ptr, type, member)                                                    \
	__extension__({                                                                            \
		__typeof__(ptr) lull__node = (ptr);                                                \
		lull__node ? cds_hlist_entry(lull__node, type, member) : (type *)0;                \
	})

static inline int cds_hlist_empty(const struct cds_hlist_head *head)
{
	return !head->next;
}

static inline void cds_hlist_add_head(struct cds_hlist_node *newp, struct cds_hlist_head *head)
{
	if (head->next)
		head->next->prev = newp;
	newp->next = head->next;
	newp->prev = (struct cds_hlist_node *)head;
	head->next = newp;
}

static inline void cds_hlist_del(struct cds_hlist_node *elem)
{
	if (elem->next)
		elem->next->prev = elem->prev;
	elem->prev->next = elem->next;
}

#define cds_hlist_for_each(pos, head) for ((pos) = (head)->next; (pos); (pos) = (pos)->next)
#define cds_hlist_for_each_safe(pos, p, head)                                                      \
	for ((pos) = (head)->next; (pos) && ((p) = (pos)->next, 1); (pos) = (p))
#define cds_hlist_for_each_entry(entry, pos, head, member)                                         \
	for ((pos) = (head)->next;                                                                 \
	     (pos) && ((entry) = cds_hlist_entry(pos, __typeof__(*(entry)), member), 1);           \
	     (pos) = (pos)->next)
#define cds_hlist_for_each_entry_safe(entry, pos, p, head, member)                                 \
	for ((pos) = (head)->next;                                                                 \
	     (pos) && ((p) = (pos)->next, (entry) = cds_hlist_entry(pos, __typeof__(*(entry)), member), 1); \
	     (pos) = (p))
#define cds_hlist_for_each_entry_2(entry, head, member)                                            \
	for ((entry) = cds_hlist_entry_safe((head)->next, __typeof__(*(entry)), member); (entry);  \
	     (entry) = cds_hlist_entry_safe((entry)->member.next, __typeof__(*(entry)), member))
#define cds_hlist_for_each_entry_safe_2(entry, e, head, member)                                    \
	for ((entry) = cds_hlist_entry_safe((head)->next, __typeof__(*(entry)), member);           \
	     (entry) && ((e) = cds_hlist_entry_safe((entry)->member.next, __typeof__(*(entry)), member), 1); \
	     (entry) = (e))

#endif /* _KCOMPAT_HLIST_H */
