/* SPDX-License-Identifier: MIT */
/* structure.c - steps over lists and the hash table, and their updates. See operations.c. */
#include "operation.h"

#include <stdlib.h>

#include <lull/hash.h>
#include <lull/hlist.h>
#include <lull/hlist_nulls.h>
#include <lull/list.h>

#define HOPS 16

struct item {
	int key;
	struct lull_list_head node;
	struct lull_hlist_node hnode;
	struct lull_hlist_nulls_node nnode;
	struct lull_hash_node hash;
};

static struct item items[HOPS], spare;
static LULL_LIST_HEAD(ring);
static struct lull_hlist_head chain;
static struct lull_hlist_nulls_head nulls;
static struct lull_hash table;

static bool match(const struct lull_hash_node *node, const void *key)
{
	return lull_hash_entry(node, struct item, hash)->key == *(const int *)key;
}

static void with_lists(void)
{
	lull_hlist_nulls_init(&nulls, 1);
	for (int i = 0; i < HOPS; i++) {
		lull_list_add(&items[i].node, &ring);
		lull_hlist_add_head(&items[i].hnode, &chain);
		lull_hlist_nulls_add_head_rcu(&items[i].nnode, &nulls);
	}
	lull_rcu_read_lock();
}

/* 8 buckets: number 1 is empty, number 2 has one element, number 3 has two, 11 in front of 3. */
static void with_table(void)
{
	static const int keys[] = { 2, 3, 11 };
	struct lull_hash_config config = { .buckets = 8, .flags = LULL_HASH_FIXED };

	if (lull_hash_init(&table, &config) != 0)
		abort();
	for (int i = 0; i < 3; i++) {
		items[i].key = keys[i];
		lull_hash_insert_dup(&table, &items[i].hash, (uint64_t)keys[i]);
	}
}

static void in_table(void)
{
	with_table();
	lull_rcu_read_lock();
}

/* ---- lists ------------------------------------------------------------------------------------- */

#define SPARE struct item *new = &spare; keep(new)

OPERATION_WITH(list_add_del, SPARE, lull_list_add(&new->node, &ring); lull_compiler_barrier(); lull_list_del(&new->node))
OPERATION_WITH(list_tail_del_init, SPARE, lull_list_add_tail(&new->node, &ring); lull_compiler_barrier();
	       lull_list_del_init(&new->node))
OPERATION_WITH(list_add_del_rcu, SPARE, lull_list_add_rcu(&new->node, &ring); lull_compiler_barrier();
	       lull_list_del_rcu(&new->node))
OPERATION_WITH(list_tail_bidir_del_rcu, SPARE, lull_list_add_tail_rcu(&new->node, &ring); lull_compiler_barrier();
	       lull_list_bidir_del_rcu(&new->node))
OPERATION_WITH(list_replace_rcu, SPARE, lull_list_replace_rcu(&items[0].node, &new->node); lull_compiler_barrier();
	       lull_list_replace_rcu(&new->node, &items[0].node))
OPERATION(list_walk, struct item *pos; lull_list_for_each_entry_rcu(pos, &ring, node) keep(pos))
OPERATION(list_walk_reverse, struct item *pos; lull_list_for_each_entry_reverse_rcu(pos, &ring, node) keep(pos))
OPERATION(list_first, keep(lull_list_first_or_null_rcu(&ring, struct item, node)))
OPERATION(list_empty, keep(lull_list_empty(&ring)))

OPERATION_WITH(hlist_add_del, SPARE, lull_hlist_add_head(&new->hnode, &chain); lull_compiler_barrier();
	       lull_hlist_del(&new->hnode))
OPERATION_WITH(hlist_add_del_rcu, SPARE, lull_hlist_add_head_rcu(&new->hnode, &chain);
	       lull_compiler_barrier(); lull_hlist_del_rcu(&new->hnode))
OPERATION_WITH(hlist_replace_rcu, SPARE, lull_hlist_replace_rcu(&items[0].hnode, &new->hnode); lull_compiler_barrier();
	       lull_hlist_replace_rcu(&new->hnode, &items[0].hnode))
OPERATION(hlist_walk, struct item *pos; lull_hlist_for_each_entry_rcu(pos, &chain, hnode) keep(pos))

OPERATION_WITH(nulls_add_del, SPARE, lull_hlist_nulls_add_head_rcu(&new->nnode, &nulls); lull_compiler_barrier();
	       lull_hlist_nulls_del_rcu(&new->nnode))
OPERATION(nulls_walk, struct item *pos; struct lull_hlist_nulls_node *at;
	  lull_hlist_nulls_for_each_entry_rcu(pos, at, &nulls, nnode) keep(pos);
	  keep(lull_get_nulls_value(at)))

/* ---- the hash table ---------------------------------------------------------------------------- */

#define KEY(number) int key = number; const int *k = &key; keep(k)
#define LOOKUP(number) keep(lull_hash_lookup(&table, number, match, k))

OPERATION_WITH(hit_first, KEY(2), LOOKUP(2))
OPERATION_WITH(hit_second, KEY(3), LOOKUP(3))
OPERATION_WITH(miss_empty, KEY(1), LOOKUP(1))
OPERATION_WITH(miss_second, KEY(19), LOOKUP(19))
OPERATION_WITH(each_match, KEY(3), struct lull_hash_iter iter; struct lull_hash_node *pos;
	       lull_hash_for_each_match(pos, &iter, &table, 3, match, k) keep(pos))
OPERATION(each, struct lull_hash_iter iter; struct lull_hash_node *pos; lull_hash_for_each(pos, &iter, &table) keep(pos))
OPERATION(count, keep(lull_hash_count(&table)))
OPERATION_WITH(mix64, uint64_t x = n, x = lull_hash_mix64(x); keep(x))
OPERATION_WITH(bytes16, static const char text[16] = "sixteen letters", keep(lull_hash_bytes(text, sizeof(text), n)))
OPERATION_WITH(insert_remove, static const int key = 1, if (lull_hash_insert(&table, &spare.hash, 1, match, &key) != 0)
	       abort();
	       if (lull_hash_remove_node(&table, &spare.hash) != 0)
		       abort())
OPERATION_WITH(insert_remove_key, static const int key = 1; spare.key = 1, lull_hash_insert_dup(&table, &spare.hash, 1);
	       if (!lull_hash_remove(&table, 1, match, &key))
		       abort())
OPERATION_WITH(insert_there, static const int key = 2, keep(lull_hash_insert(&table, &spare.hash, 2, match, &key)))
OPERATION_WITH(remove_missing, static const int key = 1, keep(lull_hash_remove(&table, 1, match, &key)))
OPERATION_WITH(replace_node, items[0].hash.hash = spare.hash.hash = 2,
	       keep(lull_hash_replace_node(&table, &items[0].hash, &spare.hash));
	       keep(lull_hash_replace_node(&table, &spare.hash, &items[0].hash)))

static const struct operation list[] = {
	{ "list_add_del", with_lists, list_add_del, STEPS },
	{ "list_add_tail_del_init", with_lists, list_tail_del_init, STEPS },
	{ "list_add_del_rcu", with_lists, list_add_del_rcu, STEPS },
	{ "list_add_tail_bidir_del_rcu", with_lists, list_tail_bidir_del_rcu, STEPS },
	{ "list_replace_rcu_twice", with_lists, list_replace_rcu, STEPS },
	{ "list_walk_16_rcu", with_lists, list_walk, STEPS },
	{ "list_walk_16_reverse_rcu", with_lists, list_walk_reverse, STEPS },
	{ "list_first_or_null_rcu", with_lists, list_first, STEPS },
	{ "list_empty", with_lists, list_empty, STEPS },
	{ "hlist_add_del", with_lists, hlist_add_del, STEPS },
	{ "hlist_add_del_rcu", with_lists, hlist_add_del_rcu, STEPS },
	{ "hlist_replace_rcu_twice", with_lists, hlist_replace_rcu, STEPS },
	{ "hlist_walk_16_rcu", with_lists, hlist_walk, STEPS },
	{ "hlist_nulls_add_del_rcu", with_lists, nulls_add_del, STEPS },
	{ "hlist_nulls_walk_16_rcu", with_lists, nulls_walk, STEPS },
	{ "hash_lookup_first", in_table, hit_first, STEPS },
	{ "hash_lookup_second", in_table, hit_second, STEPS },
	{ "hash_lookup_missing_in_empty_bucket", in_table, miss_empty, STEPS },
	{ "hash_lookup_missing_behind_two", in_table, miss_second, STEPS },
	{ "hash_for_each_match", in_table, each_match, STEPS },
	{ "hash_for_each_3_in_8_buckets", in_table, each, STEPS },
	{ "hash_count", with_table, count, 0 },
	{ "hash_mix64", NULL, mix64, STEPS },
	{ "hash_bytes_16", NULL, bytes16, STEPS },
	{ "hash_insert_remove_node", with_table, insert_remove, STEPS },
	{ "hash_insert_dup_remove", with_table, insert_remove_key, STEPS },
	{ "hash_insert_exists", with_table, insert_there, STEPS },
	{ "hash_remove_missing", with_table, remove_missing, STEPS },
	{ "hash_replace_node_twice", in_table, replace_node, STEPS },
};

const struct operations structure_operations = OPERATIONS(list);
