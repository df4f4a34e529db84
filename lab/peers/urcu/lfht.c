/* SPDX-License-Identifier: MIT */
/* Hash table: liburcu's own, lock-free (rculfhash) under its membarrier flavor. */
#define _LGPL_SOURCE /* liburcu inlines its read side only for those who say this */
#include <urcu/urcu-memb.h>

#include <urcu/rculfhash.h>

#define FLAVOR_NAME "liburcu-lfht"
#define FLAVOR_WHAT "liburcu's lock-free hash table, membarrier flavor"
#define URCU(name) urcu_memb_##name
#include "flavor_urcu.h"
#include "hash_scheme.h"

#define HASH_BODY bench_hash_liburcu_lfht
#define HASH_SECTION "liburcu-memb"
#define HASH_HOLDS_UP "memory"
#define HASH_READER_MAY_BLOCK true
#define HASH_COUNTS_DEFERRED
#define HASH_BUCKET_BYTES BENCH_HASH_MEASURED
#define HASH_OBJECT_BYTES (sizeof(struct rcu_head) + sizeof(uint64_t))
#define HASH_THREAD_BYTES sizeof(struct urcu_reader)

struct element {
	struct cds_lfht_node node;
	uint64_t hash;
	const char *text;
	uint64_t length;
	uint64_t value;
	struct rcu_head head;
};

_Static_assert(sizeof(struct element) == sizeof(struct bench_hash_element), "the same size");

struct hash_table {
	struct bench_hash_shape shape;
	struct cds_lfht *ht;
};

struct wanted {
	uint64_t hash;
	const struct bench_hash_key *key;
};

static int match_integer(struct cds_lfht_node *node, const void *arg)
{
	const struct wanted *wanted = arg;

	return lull_container_of(node, struct element, node)->hash == wanted->hash;
}

static int match_text(struct cds_lfht_node *node, const void *arg)
{
	const struct element *element = lull_container_of(node, struct element, node);
	const struct wanted *wanted = arg;

	return element->hash == wanted->hash &&
	       bench_hash_same(element->text, element->length, wanted->key);
}

BENCH_HASH_INLINE uint64_t hash_lookup(struct hash_table *table, enum bench_hash_mode mode,
				       uint64_t hash, const struct bench_hash_key *key)
{
	struct wanted wanted = { hash, key };
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;
	uint64_t value;

	flavor_read_lock();
	cds_lfht_lookup(table->ht, hash, mode == BENCH_HASH_INTEGERS ? match_integer : match_text,
			&wanted, &iter);
	node = cds_lfht_iter_get_node(&iter);
	if (__builtin_expect(!node, 0))
		bench_hash_broken(FLAVOR_NAME);
	value = lull_container_of(node, struct element, node)->value;
	flavor_read_unlock();
	return value;
}

static void reclaim(struct rcu_head *head)
{
	free(lull_container_of(head, struct element, head));
	bench_hash_freed();
}

BENCH_HASH_INLINE struct element *lfht_element(const struct bench_hash_shape *shape,
					       enum bench_hash_mode mode, size_t index)
{
	struct element *element = malloc(sizeof(*element));
	const struct bench_hash_key *kept = bench_hash_key_at(shape->kept, mode, index);

	if (__builtin_expect(!element, 0))
		bench_hash_no_memory();
	cds_lfht_node_init(&element->node);
	element->hash = kept ? kept->hash : index;
	element->text = kept ? kept->text : NULL;
	element->length = kept ? kept->length : 0;
	element->value = index;
	return element;
}

BENCH_HASH_INLINE void hash_replace(struct hash_table *table, enum bench_hash_mode mode,
				    size_t index)
{
	const struct bench_hash_key *key = bench_hash_key_at(table->shape.asked, mode, index);
	struct wanted wanted = { bench_hash_of(key, index, mode), key };
	struct element *element = lfht_element(&table->shape, mode, index);
	struct cds_lfht_node *old;

	flavor_read_lock();
	old = cds_lfht_add_replace(table->ht, wanted.hash,
				   mode == BENCH_HASH_INTEGERS ? match_integer : match_text,
				   &wanted, &element->node);
	flavor_read_unlock();
	if (!old)
		return; /* while the table is filled */
	bench_hash_retired();
	flavor_call(&lull_container_of(old, struct element, node)->head, reclaim);
}

static void *hash_create(const struct bench_hash_shape *shape)
{
	struct hash_table *table = bench_hash_alloc(1, sizeof(*table));
	size_t i;

	table->shape = *shape;
	table->ht =
		cds_lfht_new_flavor(shape->buckets, shape->buckets,
				    shape->grow ? 0 : shape->buckets,
				    shape->grow ? CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING : 0,
				    &urcu_memb_flavor, NULL);
	if (!table->ht)
		bench_hash_no_memory();
	flavor_thread_enter();
	for (i = 0; i < shape->elements; i++)
		hash_replace(table, shape->mode, i);
	flavor_thread_leave();
	return table;
}

static void hash_destroy(void *arg)
{
	struct hash_table *table = arg;
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	flavor_thread_enter();
	flavor_read_lock();
	cds_lfht_for_each (table->ht, &iter, node) {
		cds_lfht_del(table->ht, node);
		bench_hash_retired();
		flavor_call(&lull_container_of(node, struct element, node)->head, reclaim);
	}
	flavor_read_unlock();
	cds_lfht_destroy(table->ht, NULL);
	flavor_thread_leave();
	flavor_barrier();
	free(table);
}

#include "hash_loop.h"
