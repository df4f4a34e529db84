/* SPDX-License-Identifier: MIT */
/*
 * buckets.c - set a hash table up, free it, and count its elements.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buckets.h"
#include "../base/callback.h"
#include "../base/message.h"

#define LEAST_BUCKETS 16u /* unless told otherwise */

size_t lull__hash_round_up(size_t buckets)
{
	size_t size = 2;

	while (size && size < buckets)
		size *= 2;
	return size;
}

struct lull__hash_table *lull__hash_new_table(size_t buckets)
{
	struct lull__hash_whole *table;

	if (!buckets || buckets > SIZE_MAX / 2 / sizeof(struct lull__hash_bucket))
		return NULL;
	/* Not memset: fresh pages are zero, and are touched only one by one as buckets are moved. */
	table = (struct lull__hash_whole *)calloc(1, sizeof(*table) + buckets * sizeof(struct lull__hash_bucket));
	if (!table)
		return NULL;
	lull__lock(&table->leaving);
	table->seen.mask = 2 * (buckets - 1);
	lull__tsan_release(&table->seen);
	return &table->seen;
}

int lull_hash_init(struct lull_hash *h, const struct lull_hash_config *config)
{
	const struct lull_hash_config defaults = { 0, 0, 0 };
	struct lull__hash_control *control = NULL;
	size_t least;

	if (!config)
		config = &defaults;
	if ((config->flags & ~(LULL_HASH_FIXED | LULL_HASH_SHRINK)) ||
	    (config->max_buckets && config->max_buckets < config->buckets))
		return -EINVAL;
	least = lull__hash_round_up(config->buckets ? config->buckets : LEAST_BUCKETS);
	h->table = lull__hash_new_table(least);
	if (!h->table)
		return -ENOMEM;
	if (posix_memalign((void **)&control, LULL__CACHELINE, sizeof(*control)) != 0) {
		free(lull__hash_whole(h->table));
		return -ENOMEM;
	}
	memset(control, 0, sizeof(*control));
	control->least = least;
	control->most = config->max_buckets ? lull__hash_round_up(config->max_buckets) : 0;
	if (!control->most)
		control->most = SIZE_MAX;
	control->flags = config->flags;
	h->control = control;
	return 0;
}

void lull_hash_destroy(struct lull_hash *h, void (*gone)(struct lull_hash_node *node, void *arg),
		       void *arg)
{
	struct lull__hash_table *table = h->table, *future;

	for (; table; table = future) {
		for (size_t i = 0; gone && i < lull__hash_size(table); i++) {
			struct lull_hash_node *node = lull__hash_bucket_of(table, i)->first, *next;

			for (; node; node = next) {
				next = node->next;
				LULL__CALLBACK("the callback of lull_hash_destroy", gone(node, arg));
			}
		}
		future = table->future;
		free(lull__hash_whole(table));
	}
	free(h->control);
	h->table = NULL;
	h->control = NULL;
}

size_t lull_hash_count(const struct lull_hash *h)
{
	size_t sum = 0;

	for (unsigned i = 0; i < LULL__HASH_SHARDS; i++) {
		const struct lull__hash_shard *shard = &h->control->shard[i];

		sum += lull_load_relaxed(&shard->own[0]) + lull_load_relaxed(&shard->shared[0]);
		sum -= lull_load_relaxed(&shard->own[1]) + lull_load_relaxed(&shard->shared[1]);
	}
	/* A thread may be seen to take out what another was not seen to put in. */
	return sum <= SIZE_MAX / 2 ? sum : 0;
}

size_t lull_hash_buckets(const struct lull_hash *h)
{
	size_t buckets;

	lull_rcu_read_lock();
	buckets = lull__hash_size(lull__hash_current(h));
	lull_rcu_read_unlock();
	return buckets;
}

#ifdef LULL_DEBUG
void lull__hash_gone(const struct lull_hash *h)
{
	lull__misuse("hash table %p is used, but it was destroyed or never set up", (const void *)h);
}
#endif
