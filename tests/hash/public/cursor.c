/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences */
/*
 * cursor.c - hash_cursor.h: a walk in many sections, over a table that is changed by chance between its steps,
 * compared with a model; how many elements a walk meets that others add to; and the places from which it is taken.
 */
#include "hash/support.h"
#include "random.h"

#include <lull/hash_cursor.h>

/* ---- the model ----------------------------------------------------------------------------------------------------- */

#define PLACES 120 /* for an element each: its number is its key */

enum kind { MIXED, COUNTED, HIGH_BITS, LAST, SHARED, ONE, KINDS };

/* All the time: since the walk began, if need be by replacements. */
static struct place {
	struct item *item; /* its mark counts how often it was met */
	int met;	   /* the items that were here */
	bool all_the_time, replaced;
} place[PLACES];

static struct model {
	struct lull_hash h;
	uint64_t random;
	enum kind kind;
	int there;
} m;

static unsigned rnd(unsigned sides)
{
	return dice(&m.random, sides);
}

static uint64_t hash_of(int key)
{
	switch (m.kind) {
	case MIXED:
		return lull_hash_mix64((uint64_t)key);
	case COUNTED:
		return (uint64_t)key;
	case HIGH_BITS:
		return (uint64_t)key << 57;
	case LAST:
		return UINT64_MAX - (uint64_t)key;
	case SHARED:
		return lull_hash_mix64((uint64_t)key % 7);
	default:
		return 5;
	}
}

/* Does each key have a hash of its own? */
static bool is_unique(void)
{
	return m.kind < SHARED;
}

static void put(int key)
{
	struct item *item = new_item(key);
	struct lull_hash_node *old = lull_hash_replace(&m.h, &item->node, hash_of(key), match, &key);

	assert_ptr_equal(old, place[key].item ? &place[key].item->node : NULL);
	m.there += !old;
	place[key].replaced = true;
	place[key].item = item;
	if (old)
		retire(old);
}

static void take_out(int key)
{
	if (!place[key].item)
		return;
	assert_int_equal(lull_hash_remove_node(&m.h, &place[key].item->node), 0);
	retire(&place[key].item->node);
	place[key].item = NULL;
	place[key].all_the_time = false;
	m.there--;
}

static void update(void)
{
	int key = (int)rnd(m.kind == HIGH_BITS ? 100 : PLACES);

	if (rnd(12) == 0)
		assert_int_equal(lull_hash_resize(&m.h, (size_t)2 << rnd(9)), 0);
	else if (rnd(2))
		put(key);
	else
		take_out(key);
}

/* Where the walk stands: after all elements with lesser hashes, their bits reversed, and of this one at lesser addresses. */
static struct {
	uint64_t at;
	uintptr_t address;
} last;

static void check_order(const struct lull_hash_node *node)
{
	uint64_t at = 0;

	for (int bit = 0; bit < 64; bit++)
		at |= (node->hash >> bit & 1) << (63 - bit);
	assert_true(at > last.at || (at == last.at && (uintptr_t)node > last.address));
	last.at = at;
	last.address = (uintptr_t)node;
}

/* The next element, after which the section is left now and then, and what was retired is freed. */
static struct item *step(struct lull_hash_cursor *cursor)
{
	struct item *item = lull_hash_cursor_next_entry(cursor, struct item, node);

	if (item) {
		check_order(&item->node);
		item->mark++;
		place[item->key].met++;
		assert_int_equal(item->mark, 1);
		assert_true(place[item->key].met == 1 || !is_unique());
		if (rnd(16) == 0)
			rnd(2) ? take_out(item->key) : put(item->key);
	}
	for (unsigned n = rnd(3) ? 0 : rnd(6); n; n--)
		update();
	if (rnd(3))
		return item;
	lull_rcu_read_unlock();
	if (rnd(40) == 0)
		lull_rcu_barrier();
	lull_rcu_read_lock();
	return item;
}

static void check_walk(void)
{
	for (int key = 0; key < PLACES; key++) {
		if (place[key].all_the_time && (is_unique() || !place[key].replaced))
			assert_int_equal(place[key].met, 1);
	}
}

static void begin_walk(struct lull_hash_cursor *cursor)
{
	lull_hash_cursor_begin(cursor, &m.h);
	last.at = last.address = 0;
	for (int key = 0; key < PLACES; key++) {
		struct item *item = place[key].item;

		place[key] = (struct place){ item, 0, item != NULL, false };
		if (item)
			item->mark = 0;
	}
}

TEST(random)
{
	const uint32_t flags[] = { 0, LULL_HASH_SHRINK, LULL_HASH_FIXED };

	m.random = test_seed();
	for (int round = 0; round < 6 * KINDS; round++) {
		m.kind = (enum kind)(round % KINDS);
		m.there = 0;
		memset(place, 0, sizeof(place));
		init_table(&m.h, (size_t)1 << rnd(7), flags[round / KINDS % 3]);
		for (int i = 0; i < 100; i++)
			update();
		for (int walk = 0; walk < 10; walk++) {
			struct lull_hash_cursor cursor;

			begin_walk(&cursor);
			lull_rcu_read_lock();
			while (step(&cursor))
				;
			assert_null(lull_hash_cursor_next(&cursor));
			lull_rcu_read_unlock();
			check_walk();
		}
		finish(&m.h, m.there);
	}
}

/* ---- how far it goes ----------------------------------------------------------------------------------------------- */

static int count_rest(struct lull_hash_cursor *cursor)
{
	int met = 0;

	lull_rcu_read_lock();
	while (lull_hash_cursor_next(cursor))
		met++;
	lull_rcu_read_unlock();
	return met;
}

/* Hashes at the ends of the order, tables of few and of many buckets, a copy of a cursor; and the end, which stays. */
TEST(ends)
{
	const uint64_t hashes[] = { 0, 1, UINT64_C(1) << 63, UINT64_MAX >> 1, UINT64_MAX, 0, UINT64_MAX };

	for (size_t buckets = 2; buckets <= 1 << 16; buckets *= 8) {
		struct lull_hash_cursor cursor, copy;
		struct lull_hash h;

		init_table(&h, buckets, 0);
		lull_hash_cursor_begin(&cursor, &h);
		assert_int_equal(count_rest(&cursor), 0);
		for (int i = 0; i < 7; i++) {
			lull_hash_insert_dup(&h, &new_item(i)->node, hashes[i]);
			assert_int_equal(count_rest(&cursor), 0);
		}
		lull_hash_cursor_begin(&cursor, &h);
		for (int left = 7; left > 0; left--) {
			copy = cursor;
			assert_int_equal(count_rest(&copy), left);
			lull_rcu_read_lock();
			assert_non_null(lull_hash_cursor_next(&cursor));
			lull_rcu_read_unlock();
		}
		assert_int_equal(count_rest(&cursor), 0);
		finish(&h, 7);
	}
}

/* Each element that is met adds some: n (e^k - 1) / k are met of n if k come for each. A walk that follows the table does not end. */
TEST(adds_what_it_meets)
{
	static const struct {
		int adds, least, most;
	} table[] = { { 1, 1600, 1850 }, { 2, 2900, 3500 }, { 3, 5700, 7000 } };

	for (int i = 0; i < 3; i++) {
		struct lull_hash_cursor cursor;
		struct lull_hash h;
		int key = 0, met = 0;

		init_table(&h, 16, 0);
		for (; key < 1000; key++)
			lull_hash_insert_dup(&h, &new_item(key)->node, lull_hash_mix64((uint64_t)key));
		lull_hash_cursor_begin(&cursor, &h);
		lull_rcu_read_lock();
		while (lull_hash_cursor_next(&cursor)) {
			met++;
			for (int n = 0; n < table[i].adds; n++, key++)
				lull_hash_insert_dup(&h, &new_item(key)->node, lull_hash_mix64((uint64_t)key));
			assert_in_range(met, 1, table[i].most);
		}
		lull_rcu_read_unlock();
		assert_in_range(met, table[i].least, table[i].most);
		finish(&h, key);
	}
}

/* The walk of hash.h follows a table that grows: where a cursor meets 1.7 times what was there, it has no end. */
TEST(for_each_follows)
{
	enum { THERE = 1000, MOST = 20 * THERE };
	struct lull_hash_node *node;
	struct lull_hash_iter iter;
	struct lull_hash h;
	int key = 0, met = 0;

	init_table(&h, 16, 0);
	for (; key < THERE; key++)
		lull_hash_insert_dup(&h, &new_item(key)->node, lull_hash_mix64((uint64_t)key));
	lull_rcu_read_lock();
	lull_hash_for_each(node, &iter, &h) {
		if (++met == MOST)
			break;
		lull_hash_insert_dup(&h, &new_item(key)->node, lull_hash_mix64((uint64_t)key));
		key++;
	}
	lull_rcu_read_unlock();
	assert_int_equal(met, MOST);
	finish(&h, key);
}

/* One hash, and each element that is met adds one with a greater address: those lie behind all that was there. */
TEST(adds_to_one_hash)
{
	enum { THERE = 100 };
	struct item *items = (struct item *)calloc(100 * THERE, sizeof(*items));
	struct lull_hash_cursor cursor;
	struct lull_hash h;
	int added = 0, met = 0;

	assert_non_null(items);
	init_table(&h, 16, 0);
	for (; added < THERE; added++)
		lull_hash_insert_dup(&h, &items[added].node, 5);
	lull_hash_cursor_begin(&cursor, &h);
	lull_rcu_read_lock();
	while (lull_hash_cursor_next(&cursor)) {
		met++;
		lull_hash_insert_dup(&h, &items[added++].node, 5);
	}
	lull_rcu_read_unlock();
	assert_int_equal(met, THERE);
	lull_hash_destroy(&h, NULL, NULL);
	lull_rcu_barrier();
	free(items);
}

/* ---- from where ---------------------------------------------------------------------------------------------------- */

/* What is retired between two elements does not wait for the walk. */
TEST(leaves_section)
{
	struct lull_hash_cursor cursor;
	struct lull_hash_node *node;
	struct lull_hash h;
	int met = 0;

	init_table(&h, 16, LULL_HASH_SHRINK);
	fill(&h, 0, 1000);
	lull_hash_cursor_begin(&cursor, &h);
	do {
		lull_rcu_read_lock();
		for (int n = 0; n < 10 && (node = lull_hash_cursor_next(&cursor)); n++, met++) {
			assert_int_equal(lull_hash_remove_node(&h, node), 0);
			retire(node);
		}
		lull_rcu_read_unlock();
		lull_rcu_barrier(); /* would wait for ever */
	} while (node);
	assert_int_equal(met, 1000);
	finish(&h, 0);
}

static void *goes_on(void *cursor)
{
	return (void *)(intptr_t)count_rest((struct lull_hash_cursor *)cursor);
}

TEST(other_thread)
{
	struct lull_hash_cursor cursor;
	pthread_t thread;
	struct lull_hash h;
	void *rest;

	init_table(&h, 16, 0);
	fill(&h, 0, 100);
	lull_hash_cursor_begin(&cursor, &h);
	lull_rcu_read_lock();
	for (int n = 0; n < 30; n++)
		assert_non_null(lull_hash_cursor_next(&cursor));
	lull_rcu_read_unlock();
	thread = start_thread(goes_on, &cursor);
	assert_int_equal(pthread_join(thread, &rest), 0);
	assert_int_equal((intptr_t)rest, 70);
	finish(&h, 100);
}

/* In a handler, wherever it interrupts an update of its thread. */
static struct lull_hash handled_table;
static int handled, missed, stop;

static void walking_handler(int unused)
{
	struct lull_hash_cursor cursor;
	struct item *item;
	int met = 0;

	(void)unused;
	lull_hash_cursor_begin(&cursor, &handled_table);
	lull_rcu_read_lock();
	while ((item = lull_hash_cursor_next_entry(&cursor, struct item, node)))
		met += item->key < 10;
	lull_rcu_read_unlock();
	missed += met != 10;
	lull_add_relaxed(&handled, 1);
}

static void *updates_under_signals(void *unused)
{
	lull_thread_register();
	for (int i = 0; !lull_load_relaxed(&stop); i++) {
		int key = 10 + i % 200;

		fill(&handled_table, key, key + 1);
		if (i % 64 == 0)
			must(lull_hash_resize(&handled_table, (size_t)4 << i / 64 % 5) == 0);
		retire(lull_hash_remove(&handled_table, (uint64_t)key, match, &key));
		if (i % 4096 == 0)
			lull_rcu_barrier();
	}
	return unused;
}

TEST(signal_handler)
{
	struct sigaction action;
	pthread_t thread;

	memset(&action, 0, sizeof(action));
	action.sa_handler = walking_handler;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	stop = handled = missed = 0;
	init_table(&handled_table, 4, LULL_HASH_FIXED);
	fill(&handled_table, 0, 10);
	thread = start_thread(updates_under_signals, NULL);
	for (int n = 1; n <= 1000; n++)
		interrupt_until(thread, SIGUSR1, &handled, n);
	lull_store_relaxed(&stop, 1);
	join_thread(thread);
	assert_int_equal(missed, 0);
	finish(&handled_table, 10);
}

#ifdef LULL_DEBUG
TEST(outside_section)
{
	EXPECT_ABORT("lull_hash_cursor_next: outside a read section") {
		struct lull_hash_cursor cursor;
		struct lull_hash h;

		must(lull_hash_init(&h, NULL) == 0);
		lull_hash_cursor_begin(&cursor, &h);
		(void)lull_hash_cursor_next(&cursor);
	}
}
#endif
