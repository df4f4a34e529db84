/* SPDX-License-Identifier: MIT */
/*
 * The fault of the hash table that is in inline code: what looks up is compiled with this before
 * everything else. See busted.h.
 */
#ifndef LULL_BUSTED_HASH_H
#define LULL_BUSTED_HASH_H

#include <lull/hash.h>

#include "busted.h"

/* One table is as good as the other, so why go on? */
static inline struct lull_hash_node *lull__busted_hash_lookup(const struct lull_hash *h, uint64_t hash,
							      lull_hash_match_fn match, const void *key)
{
	const struct lull__hash_table *table = lull__hash_table_of(h);
	struct lull_hash_node *node;

	if (!LULL__BUSTED(HASH_NO_FUTURE))
		return lull_hash_lookup(h, hash, match, key);
	for (node = lull__hash_first(table, hash); node; node = lull_load_acquire(&node->next))
		if (node->hash == hash && match(node, key))
			return node;
	return NULL;
}

#define lull_hash_lookup lull__busted_hash_lookup

#endif
