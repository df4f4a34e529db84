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
/* Count @slots fewer in @shard, whose lock the caller holds. */
void lull__hazptr_count_off(struct lull__hazptr_shard *shard, uint32_t slots);

#endif /* LULL_LISTS_H */
