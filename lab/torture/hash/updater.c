/* SPDX-License-Identifier: MIT */
/* lull torture: updaters of the hash table, and checks for when no thread updates. See torture_hash.h. */
#include "torture/hash/torture_hash.h"

#include <stdio.h>
#include <unistd.h>

#include "common/options.h"

#define BUCKETS_MOST_LOG 10u
#define LEAST_BUCKETS 4u

static void doing(enum hash_form form)
{
	lull_add_relaxed(&torture.forms[form], (uint64_t)1);
	torture_doing(torture.flavor->form[form]);
}

/* ---- updates of one key, by its updater alone ------------------------------------------------ */

/* Move the turn on. A thread that sees the new turn sees what was done before it. */
static void next_turn(uint32_t key)
{
	lull_store_release(&torture_hashes.key[key].turn, torture_hashes.key[key].turn + 1);
}

static void insert(uint32_t key, uint64_t *rng)
{
	struct hash_item *item = torture_item_new(key);
	int err = 0;

	next_turn(key);
	if (torture_once_in(rng, 4))
		lull_hash_insert_dup(&torture_hashes.table, &item->node, torture_hash_of(key));
	else
		err = lull_hash_insert(&torture_hashes.table, &item->node, torture_hash_of(key), torture_hash_match, &key);
	next_turn(key);
	if (err)
		torture_fail("lull_hash_insert() found key %u, which was removed before", key);
}

static struct hash_item *remove_it(uint32_t key, bool by_node)
{
	struct hash_item *item = NULL;
	struct lull_hash_node *node;

	if (!by_node) {
		node = lull_hash_remove(&torture_hashes.table, torture_hash_of(key), torture_hash_match, &key);
		return lull_hash_entry_or_null(node, struct hash_item, node);
	}
	/* Only this thread takes the item out, so it stays after the section. */
	lull_rcu_read_lock();
	item = lull_hash_lookup_entry(&torture_hashes.table, torture_hash_of(key), torture_hash_match, &key,
				      struct hash_item, node);
	lull_rcu_read_unlock();
	if (item && lull_hash_remove_node(&torture_hashes.table, &item->node) != 0)
		item = NULL;
	return item;
}

static void take_out(uint32_t key, uint64_t *rng)
{
	bool by_node = torture_once_in(rng, 4);
	struct hash_item *item;

	doing(by_node ? HASH_REMOVE_NODE : HASH_REMOVE);
	next_turn(key);
	item = remove_it(key, by_node);
	next_turn(key);
	if (item)
		torture_item_retire(item, rng);
	else
		torture_fail("key %u was inserted, and cannot be removed", key);
}

static void replace(uint32_t key, uint64_t *rng)
{
	struct hash_item *item = torture_item_new(key), *old;
	struct lull_hash_node *node;

	doing(HASH_REPLACE);
	if (torture.use_fault == FAULT_REPLACE_IN_TWO) {
		old = remove_it(key, false);
		lull_hash_insert_dup(&torture_hashes.table, &item->node, torture_hash_of(key));
	} else {
		node = lull_hash_replace(&torture_hashes.table, &item->node, torture_hash_of(key), torture_hash_match,
					 &key);
		old = lull_hash_entry_or_null(node, struct hash_item, node);
	}
	if (old)
		torture_item_retire(old, rng);
	else
		torture_fail("key %u was in the table, and cannot be replaced", key);
}

/* ---- updaters -------------------------------------------------------------------------------- */

static bool is_there(uint32_t key)
{
	return torture_hashes.key[key].turn % TURNS == TURN_THERE;
}

/* One of this updater's own. */
static uint32_t own_key(struct torturer *t, uint32_t most)
{
	uint32_t step = torture.updaters, n = (most - t->index % most + step - 1) / step;

	return (t->index + step * (uint32_t)torture_random(&t->rng, n)) % most;
}

static void resize(struct torturer *t)
{
	doing(HASH_RESIZE);
	if (torture_once_in(&t->rng, 4))
		lull_hash_finish_resize(&torture_hashes.table);
	else if (lull_hash_resize(&torture_hashes.table, (size_t)2 << torture_random(&t->rng, BUCKETS_MOST_LOG)) != 0)
		torture_fail("lull_hash_resize() fails although there is memory");
}

/* Most of the keys come, or most of them go, for a while, so that the table resizes by itself. */
static void update(struct torturer *t)
{
	bool grows = t->work / 2000 % 2;
	uint32_t key = own_key(t, HASH_KEYS);

	if (torture_once_in(&t->rng, 64)) {
		resize(t);
		return;
	}
	if (torture_once_in(&t->rng, 4))
		key = own_key(t, HASH_STEADY);
	if (key < HASH_STEADY) {
		replace(key, &t->rng);
	} else if (!is_there(key) && (grows || torture_once_in(&t->rng, 4))) {
		doing(HASH_INSERT);
		insert(key, &t->rng);
	} else if (is_there(key) && (!grows || torture_once_in(&t->rng, 4))) {
		take_out(key, &t->rng);
	} else if (is_there(key)) {
		replace(key, &t->rng);
	}
	if (torture_once_in(&t->rng, 32))
		torture_spin_ns(torture_random(&t->rng, 20000));
}

void *torture_hash_updater(void *arg)
{
	struct torturer *t = arg;

	/* More updaters than steady keys have nothing that is theirs alone. */
	if (t->index >= HASH_STEADY)
		return torture_rounds(t, &torture.active_readers, torture_hash);
	return torture_rounds(t, &torture.active_updaters, update);
}

/* ---- when no thread updates --------------------------------------------------------------------- */

void torture_hash_init(void)
{
	struct lull_hash_config config = { .buckets = LEAST_BUCKETS, .flags = LULL_HASH_SHRINK };
	uint64_t rng = torture.seed | 1;
	uint32_t key;

	if (lull_hash_init(&torture_hashes.table, &config) != 0)
		options_fail("out of memory");
	for (key = 0; key < HASH_STEADY; key++)
		insert(key, &rng);
}

static size_t met_in_walk(void)
{
	struct lull_hash_iter iter;
	struct hash_item *item;
	size_t met = 0;

	lull_rcu_read_lock();
	lull_hash_for_each_entry(item, &iter, &torture_hashes.table, node)
		met += is_there(item->key);
	lull_rcu_read_unlock();
	return met;
}

void torture_hash_check(const char *when)
{
	size_t there = 0, counted, met;
	uint32_t key;

	/* End the resize first: the rest of its work would be met twice. */
	lull_hash_finish_resize(&torture_hashes.table);
	for (key = 0; key < HASH_KEYS; key++)
		there += is_there(key);
	counted = lull_hash_count(&torture_hashes.table);
	met = met_in_walk();
	if (counted != there || met != there)
		torture_fail("%s: %zu keys are in the table, %zu are counted, and a walk meets %zu", when, there, counted,
			     met);
	if (lull_load_relaxed(&torture_hashes.taken_out) != lull_load_relaxed(&torture_hashes.freed))
		torture_fail("%s: %llu of %llu removed items have been freed", when,
			     (unsigned long long)torture_hashes.freed, (unsigned long long)torture_hashes.taken_out);
	torture_items_flush();
	/* The old table goes by a grace period. */
	torture.flavor->barrier();
}

/* ---- forked children ------------------------------------------------------------------------- */

/* Fork in a section with an item in hand; the child goes on with it. */
pid_t torture_hash_fork(struct torturer *t)
{
	uint32_t key = (uint32_t)torture_random(&t->rng, HASH_STEADY);
	struct hash_item *item;
	uint64_t serial;
	pid_t pid;

	torture_leave_debris(&t->rng);
	lull_rcu_read_lock();
	item = lull_hash_lookup_entry(&torture_hashes.table, torture_hash_of(key), torture_hash_match, &key,
				      struct hash_item, node);
	serial = item ? item->serial : 0;
	pid = fork();
	torture.in_child = pid == 0;
	if (item)
		torture_item_check(item, key, serial, &t->tally, "section around a fork");
	else
		torture_fail("a lookup did not find key %u, which was in the table all the time", key);
	lull_rcu_read_unlock();
	return pid;
}

/* Check in the child, which has no updaters, that readers find all steady keys. */
void torture_hash_child(struct torturer *t)
{
	uint32_t key;

	(void)t;
	for (key = 0; key < HASH_STEADY; key++) {
		lull_rcu_read_lock();
		if (!lull_hash_lookup(&torture_hashes.table, torture_hash_of(key), torture_hash_match, &key))
			torture_fail("key %u is not found in a forked child", key);
		lull_rcu_read_unlock();
	}
}

/* ---- the report ------------------------------------------------------------------------------ */

void torture_hash_report(const struct torture_tally *sum)
{
	const struct torture_hashes *h = &torture_hashes;

	torture_print_ages("Reader Pipe:", sum->age);
	printf("%-24s %llu found, %llu not, %llu kept by hazard pointers, %llu walks\n", "Lookups:",
	       (unsigned long long)h->found, (unsigned long long)h->missed, (unsigned long long)h->kept,
	       (unsigned long long)h->walks);
	printf("%-24s %llu made, %llu taken out, %llu freed; %zu in %zu buckets\n", "Items:",
	       (unsigned long long)h->made, (unsigned long long)h->taken_out, (unsigned long long)h->freed,
	       lull_hash_count(&h->table), lull_hash_buckets(&h->table));
}
