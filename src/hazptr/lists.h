/* SPDX-License-Identifier: MIT */
/*
 * lists.h - put contexts and holds on the lists of a shard, and take them off.
 */
#ifndef LULL_LISTS_H
#define LULL_LISTS_H

#include "slots.h"

/* Put @node on @list; take it off. The caller holds the lock of the list's shard. */
void lull__hazptr_link(struct lull__hazptr_links *node, struct lull__hazptr_links *list);
void lull__hazptr_unlink(struct lull__hazptr_links *node);

#endif /* LULL_LISTS_H */
