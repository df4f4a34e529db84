/* SPDX-License-Identifier: MIT */
/*
 * kernel_2003.h - the names of RCU in Linux 2.5, in place of later ones (part of kernel.h, with LULL_KERNEL_2003).
 *
 * A head then has four words, for call_rcu() takes an argument for the callback. Names that are not here have not
 * changed.
 */
#ifndef LULL_KERNEL_2003_H
#define LULL_KERNEL_2003_H

#ifndef LULL_KERNEL_2003
#error "define LULL_KERNEL_2003 and include lull/compat/kernel.h"
#endif

#include <lull/compat/kernel_list.h>
#include <lull/compat/kernel_rcu.h>

#define synchronize_kernel lull_rcu_synchronize

struct lull__head_2003 {
	struct lull_head head;
	void (*func)(void *obj);
	void *arg;
};
#define rcu_head lull__head_2003

static inline void lull__call_2003(struct lull_head *head)
{
	struct lull__head_2003 *old = lull_container_of(head, struct lull__head_2003, head);

	old->func(old->arg);
}

/* Call @func(@arg) after a grace period. */
static inline void call_rcu(struct lull__head_2003 *head, void (*func)(void *arg), void *arg)
{
	head->func = func;
	head->arg = arg;
	lull_rcu_call(&head->head, lull__call_2003);
}

#define list_add_rcu_tail lull_list_add_tail_rcu
/* Loop over the nodes; the body may delete @pos. */
#define list_for_each_safe_rcu(pos, n, head)                                                       \
	for ((pos) = lull_list_next_rcu(head); (pos) != (head) && ((n) = lull_list_next_rcu(pos), 1); \
	     (pos) = (n))
/* Go on behind @pos. */
#define list_for_each_continue_rcu(pos, head)                                                      \
	for ((pos) = lull_list_next_rcu(pos); (pos) != (head); (pos) = lull_list_next_rcu(pos))

#endif /* LULL_KERNEL_2003_H */
