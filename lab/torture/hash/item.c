/* SPDX-License-Identifier: MIT */
/* lull torture: what is in the hash table, and how it ends. See torture_hash.h. */
#include "torture/hash/torture_hash.h"

#include <stdlib.h>

#include "common/options.h"

#define BURIED 512u /* freed items that are looked at later */
#define SPOILT 0x5b01c7u

struct torture_hashes torture_hashes;

static struct hash_item *buried[BURIED];

bool torture_hash_match(const struct lull_hash_node *node, const void *key)
{
	return lull_hash_entry(node, struct hash_item, node)->key == *(const uint32_t *)key;
}

uint64_t torture_hash_of(uint32_t key)
{
	return lull_hash_mix64(key % HASH_HASHES);
}

bool torture_hash_is_kept(uint32_t key)
{
	return key % 4 == 0;
}

struct hash_item *torture_item_new(uint32_t key)
{
	struct hash_item *item = options_alloc(1, sizeof(*item));

	item->key = key;
	item->serial = lull_add_relaxed(&torture_hashes.made, (uint64_t)1) + 1;
	item->contents = ~item->serial;
	return item;
}

void torture_item_check(const struct hash_item *item, uint32_t key, uint64_t serial, struct torture_tally *tally,
			const char *where)
{
	uint32_t age = lull_load_relaxed(&item->age);

	tally->age[age <= TORTURE_AGES ? age : TORTURE_AGES]++;
	if (age > 1)
		torture_fail("%s: the item of key %u was freed while it was read", where, key);
	else if (item->key != key || item->serial != serial || item->contents != ~serial)
		torture_fail("%s: the item of key %u was changed while it was read", where, key);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Check that no thread has touched the item since it was freed. */
static void dig_up(struct hash_item *item)
{
	if (item->age != 2 || item->contents != SPOILT || item->serial != SPOILT)
		torture_fail("the item of key %u was changed after it was freed", item->key);
	free(item);
}

void torture_items_flush(void)
{
	unsigned i;

	for (i = 0; i < BURIED; i++) {
		struct hash_item *item = lull_xchg_acq_rel(&buried[i], (struct hash_item *)NULL);

		if (item)
			dig_up(item);
	}
}

static void item_gone(struct lull_rcu_head *head)
{
	static unsigned next;
	struct hash_item *item = lull_container_of(head, struct hash_item, head);
	uint64_t serial = item->serial;

	if (item->age != 1)
		torture_fail("the item of key %u was freed twice", item->key);
	lull_store_relaxed(&item->age, 2u);
	item->serial = item->contents = SPOILT;
	lull_add_relaxed(&torture_hashes.freed, (uint64_t)1);
	/* A sanitizer sees more if it goes at once. */
	if (serial % 2 || torture.fault_name)
		item = lull_xchg_acq_rel(&buried[lull_add_relaxed(&next, 1u) % BURIED], item);
	if (item)
		dig_up(item);
}

void torture_item_retire(struct hash_item *item, uint64_t *rng)
{
	lull_add_relaxed(&torture_hashes.taken_out, (uint64_t)1);
	lull_store_relaxed(&item->age, 1u);
	if (torture.use_fault == FAULT_FREE_AT_ONCE) {
		item_gone(&item->head);
	} else if (torture_hash_is_kept(item->key)) {
		lull_rcu_call_hazptr_sized(&item->head, item_gone, sizeof(*item));
	} else if (torture_once_in(rng, 32)) {
		torture_wait_begin();
		lull_rcu_synchronize();
		torture_wait_end();
		item_gone(&item->head);
	} else {
		lull_rcu_call_sized(&item->head, item_gone, sizeof(*item));
	}
}
