/* SPDX-License-Identifier: MIT */
/*
 * steps.c - hash.h: what readers find between any two instructions of an update or a resize. The updater is traced by
 * single steps; the handler is the reader: it looks up, walks, and takes lookups and a cursor on that rest for any time on
 * their way.
 */
#include "hash/support.h"
#include "random.h"
#include "steps.h"

#include <lull/hash_cursor.h>

#if CAN_STEP

#define STEADY	  12 /* keys that are always there */
#define KEYS	  20
#define RESTING	  6

/* The same as lull_hash_lookup(), except that it can rest anywhere. */
static struct lookup {
	const struct lull__hash_table *table; /* NULL: not begun */
	struct lull_hash_node *node;
	int key;
} resting[RESTING];

static struct lull_hash h;
static struct item *item_of[KEYS];
static uint64_t seed;
static int steps, walks, lost;
static bool no_future; /* the fault: lookups that end with the table where they began */

/* A walk from trap to trap; of the update that is traced, the key, and the element that it may put there. */
static struct lull_hash_cursor cursor;
static bool is_walking;
static int changing;
static struct item *coming;

enum { NEW, WAITS, MET }; /* marks of items: a walk must meet those that wait */

/* Few, and all in few buckets now and then. */
static uint64_t hash_of(int key)
{
	return (uint64_t)key % 10;
}

/* One hop. A steady key is found before the end. */
static void go_on(struct lookup *lookup)
{
	if (!lookup->table) {
		lookup->key = (int)dice(&seed, STEADY);
		lookup->table = lull__hash_table_of(&h);
		lookup->node = lull__hash_first(lookup->table, hash_of(lookup->key));
	} else if (!lookup->node) {
		lookup->table = no_future ? NULL : lull_load_acquire(&lookup->table->future);
		lost += !lookup->table;
		if (lookup->table)
			lookup->node = lull__hash_first(lookup->table, hash_of(lookup->key));
	} else if (match(lookup->node, &lookup->key)) {
		lookup->table = NULL;
	} else {
		lookup->node = lull_load_acquire(&lookup->node->next);
	}
}

static void look(void)
{
	struct lull_hash_iter iter;
	struct item *item;
	unsigned met = 0;
	int key = (int)dice(&seed, STEADY);

	lost += !lull_hash_lookup(&h, hash_of(key), match, &key);
	if (dice(&seed, 16))
		return;
	lull_hash_for_each_entry(item, &iter, &h, node)
		met |= 1u << item->key;
	lost += (~met & ((1u << STEADY) - 1)) != 0;
}

static bool stays(int key)
{
	return key != changing && item_of[key];
}

/* One step, to which none may be lost and none come again. */
static void walk_on(void)
{
	struct item *item;

	if (!is_walking) {
		for (int key = 0; key < KEYS; key++)
			if (item_of[key])
				item_of[key]->mark = stays(key) ? WAITS : NEW;
		coming->mark = NEW;
		lull_hash_cursor_begin(&cursor, &h);
		is_walking = true;
		return;
	}
	item = lull_hash_cursor_next_entry(&cursor, struct item, node);
	if (item) {
		lost += item->mark == MET;
		item->mark = MET;
		return;
	}
	for (int key = 0; key < KEYS; key++)
		lost += stays(key) && item_of[key]->mark == WAITS;
	is_walking = false;
	walks++;
}

static void trapped(int unused)
{
	(void)unused;
	steps++;
	lull_rcu_read_lock();
	for (unsigned n = dice(&seed, dice(&seed, 8) ? 2 : 20); n; n--)
		go_on(&resting[dice(&seed, RESTING)]);
	if (dice(&seed, 8) == 0)
		look();
	if (dice(&seed, 4) == 0)
		walk_on();
	lull_rcu_read_unlock();
}

static void update(void)
{
	int key = (int)dice(&seed, KEYS), what = (int)dice(&seed, 3);
	struct item *old = item_of[key], *item = new_item(key);
	size_t size = (size_t)2 << dice(&seed, 3);
	struct lull_hash_node *node = NULL;

	changing = what ? key : -1;
	coming = item;
	set_trap_flag(true);
	if (what == 0)
		lull_hash_resize(&h, size);
	else if (key < STEADY || what == 1 || !old)
		node = lull_hash_replace(&h, &item->node, hash_of(key), match, &key);
	else
		node = lull_hash_remove(&h, hash_of(key), match, &key);
	set_trap_flag(false);
	if (what == 0) {
		free(item);
		return;
	}
	assert_ptr_equal(node, old ? &old->node : NULL);
	if (old)
		retire(node);
	item_of[key] = key < STEADY || what == 1 || !old ? item : NULL;
	if (!item_of[key])
		free(item);
}

/* A life of a table, until an element was missed. */
static void updates(unsigned flags)
{
	memset(item_of, 0, sizeof(item_of));
	memset(resting, 0, sizeof(resting));
	is_walking = false;
	init_table(&h, 2, flags);
	for (int key = 0; key < STEADY; key++)
		lull_hash_insert_dup(&h, &(item_of[key] = new_item(key))->node, hash_of(key));
	/* Entries that updates retire stay until the lookups are over. */
	lull_rcu_read_lock();
	for (int n = 0; n < 8 && !lost; n++)
		update();
	lull_rcu_read_unlock();
	lull_hash_destroy(&h, free_item, NULL);
	lull_rcu_barrier();
}

static void begin(void)
{
	struct sigaction action;

	if (under_valgrind())
		SKIP("valgrind steps in its own way");
	memset(&action, 0, sizeof(action));
	action.sa_handler = trapped;
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	set_stall_ms(0); /* single steps take their time */
	seed = test_seed();
	steps = walks = lost = 0;
}

/* Shows that what is missed is seen. */
TEST(busted)
{
	begin();
	no_future = true;
	for (int round = 0; round < 100 && !lost; round++)
		updates(LULL_HASH_SHRINK);
	no_future = false;
	assert_int_not_equal(lost, 0);
}

TEST(steps)
{
	begin();
	updates(LULL_HASH_SHRINK);
	updates(LULL_HASH_FIXED);
	assert_int_equal(lost, 0);
	assert_true(steps > 1000 && walks > 2);
}

#else

TEST(busted)
{
	SKIP("no single steps here");
}

TEST(steps)
{
	SKIP("no single steps here");
}

#endif
