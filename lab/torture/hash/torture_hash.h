/* SPDX-License-Identifier: MIT */
/*
 * lull torture --flavor hash: what its parts share.
 *
 * One table, which grows, shrinks, and is resized all the time, under readers that look up, iterate, and
 * keep what they found. Steady keys are always there, though what they lead to is replaced; each of the
 * others has one updater, which inserts and removes it and says so in the key's turn. A reader that finds
 * a turn the same before and after its lookup knows what the lookup had to say: there, or not there.
 *
 * An item that is taken out is freed after a grace period or, where readers may keep it by a hazard pointer, by the
 * bridge. It is spoilt then and lies in a ring for a while, so that late accesses are seen. In a pause the table must
 * have exactly the keys that its updaters left there.
 */
#ifndef LULL_LAB_TORTURE_HASH_H
#define LULL_LAB_TORTURE_HASH_H

#include <lull/hash.h>

#include "torture/torture.h"

#define HASH_STEADY 48u
#define HASH_KEYS 512u /* the steady ones first */
#define HASH_HASHES 160u /* keys share them */

/* Turns of a key, counted on for ever. From LEAVES to GONE, and COMES to THERE, a lookup may find it or not. */
enum hash_turn { TURN_GONE, TURN_COMES, TURN_THERE, TURN_LEAVES, TURNS };

struct hash_item {
	struct lull_hash_node node;
	struct lull_rcu_head head;
	uint32_t key;
	uint32_t age; /* 0: in the table, or not yet; 1: taken out; 2: freed */
	uint64_t serial, contents; /* ~serial until it is spoilt; both accessed plainly */
};

struct hash_key {
	uint32_t turn;
	uint32_t unused;
};

enum hash_form { HASH_INSERT, HASH_REMOVE, HASH_REPLACE, HASH_REMOVE_NODE, HASH_RESIZE };

struct torture_hashes {
	struct lull_hash table;
	struct hash_key key[HASH_KEYS];
	uint64_t made, taken_out, freed, walks, kept, found, missed;
};

extern struct torture_hashes torture_hashes;

/* ---- torture/hash/item.c: items and what must be true of them -------------------------------- */

bool torture_hash_match(const struct lull_hash_node *node, const void *key);
uint64_t torture_hash_of(uint32_t key);
/* Readers keep what is found with this key. */
bool torture_hash_is_kept(uint32_t key);
struct hash_item *torture_item_new(uint32_t key);
/* It is not in the table any more. */
void torture_item_retire(struct hash_item *item, uint64_t *rng);
/* Check an item in the middle and at the end of any use. */
void torture_item_check(const struct hash_item *item, uint32_t key, uint64_t serial, struct torture_tally *tally,
			const char *where);
void torture_items_flush(void); /* give freed items back to malloc */

/* ---- what the flavor is made of: torture/hash/reader.c, torture/hash/updater.c ---------------- */

void torture_hash(struct torturer *t);
void torture_hash_shortly(struct torturer *t, const char *where);
void torture_hash_in_handler(struct torturer *t);
void *torture_hash_reader(void *arg);
void *torture_hash_updater(void *arg);
pid_t torture_hash_fork(struct torturer *t);
void torture_hash_child(struct torturer *t);
void torture_hash_init(void);
void torture_hash_check(const char *when);
void torture_hash_report(const struct torture_tally *sum);

#endif
