/* SPDX-License-Identifier: MIT */
/* runs: full-fences, stress, alone */
/*
 * many.c - a hash table that never loses an element, however it is updated and resized by many at once. This program
 * contains the source that moves elements, with pauses.
 *
 * Steady keys are always there, so every lookup and every walk must find them; their elements are replaced, and spoilt
 * before they are freed, and readers look, walk and step. The other keys have several updaters, whose successes must add up.
 */
#include "hash/support.h"
#include "random.h"

#include <lull/hash_cursor.h>

#define STEADY	40
#define KEYS	48
#define HASHES	32 /* keys share hashes, and all are in few buckets now and then */
#define SPOILT	-1

static struct lull_hash shared;
static int balance[KEYS]; /* insertions less removals */
static uint64_t first_seed;
static int stop;
static __thread uint64_t seed;

/* Let others get ahead. */
static void pause_somewhat(void)
{
	unsigned how_long = dice(&seed, 64);

	if (how_long == 0)
		sched_yield();
	else if (how_long < 16)
		for (; how_long; how_long--)
			lull_cpu_relax();
}

/* The fault: a chain of the old table is cut off before its elements are in the new one. */
static bool cut_first;

enum { BUSTED_HASH_CUT_FIRST, BUSTED_HASH_MOVE_HEAD };

#include "../src/base/fault.h"
#undef LULL__BUSTED
#define LULL__BUSTED(fault) (BUSTED_##fault == BUSTED_HASH_CUT_FIRST && cut_first)
#undef lull__busted_pause
#define lull__busted_pause() pause_somewhat()
#include "../src/hash/resize.c"

static uint64_t hash_of(int key)
{
	return (uint64_t)key % HASHES;
}

static void spoil(struct lull_rcu_head *head)
{
	struct item *item = lull_container_of(head, struct item, rcu);

	must(item->mark != SPOILT); /* taken out of the table twice */
	item->key = item->mark = SPOILT;
	free(item);
}

static void spoil_later(struct lull_hash_node *node)
{
	lull_rcu_call(&lull_hash_entry(node, struct item, node)->rcu, spoil);
}

static void reads(void)
{
	int key = (int)dice(&seed, dice(&seed, 2) ? STEADY : KEYS);
	const struct item *item;

	lull_rcu_read_lock();
	item = lull_hash_lookup_entry(&shared, hash_of(key), match, &key, struct item, node);
	must(item || key >= STEADY);
	pause_somewhat();
	must(!item || (lull_load_relaxed(&item->key) == key && lull_load_relaxed(&item->mark) != SPOILT));
	lull_rcu_read_unlock();
}

static void walks(void)
{
	bool met[KEYS] = { false };
	struct lull_hash_iter iter;
	struct item *item;

	lull_rcu_read_lock();
	lull_hash_for_each_entry(item, &iter, &shared, node) {
		int key = lull_load_relaxed(&item->key);

		must(key != SPOILT);
		met[key] = true;
		pause_somewhat();
	}
	lull_rcu_read_unlock();
	for (int key = 0; key < STEADY; key++)
		must(met[key]);
}

/* In many sections; a steady key once, if no other key has its hash. */
static void steps(void)
{
	int met[KEYS] = { 0 };
	struct lull_hash_cursor cursor;
	struct item *item;

	lull_hash_cursor_begin(&cursor, &shared);
	do {
		lull_rcu_read_lock();
		while ((item = lull_hash_cursor_next_entry(&cursor, struct item, node)) && dice(&seed, 4)) {
			int key = lull_load_relaxed(&item->key);

			must(key != SPOILT);
			met[key]++;
			pause_somewhat();
		}
		if (item)
			met[lull_load_relaxed(&item->key)]++;
		lull_rcu_read_unlock();
		pause_somewhat();
	} while (item);
	for (int key = KEYS - HASHES; key < HASHES; key++)
		must(met[key] == 1);
}

static void replaces(void)
{
	int key = (int)dice(&seed, STEADY);
	struct lull_hash_node *old = lull_hash_replace(&shared, &new_item(key)->node, hash_of(key), match, &key);

	must(old);
	spoil_later(old);
}

static void contends(void)
{
	int key = STEADY + (int)dice(&seed, KEYS - STEADY);
	struct item *item = new_item(key);
	struct lull_hash_node *node;

	lull_rcu_read_lock();
	switch (dice(&seed, 4)) {
	case 0:
		if (lull_hash_insert(&shared, &item->node, hash_of(key), match, &key) == 0) {
			lull_add_relaxed(&balance[key], 1);
			item = NULL;
		}
		break;
	case 1:
		node = lull_hash_remove(&shared, hash_of(key), match, &key);
		if (node) {
			lull_add_relaxed(&balance[key], -1);
			spoil_later(node);
		}
		break;
	case 2:
		node = lull_hash_lookup(&shared, hash_of(key), match, &key);
		if (node && lull_hash_remove_node(&shared, node) == 0) {
			lull_add_relaxed(&balance[key], -1);
			spoil_later(node);
		}
		break;
	default:
		node = lull_hash_lookup(&shared, hash_of(key), match, &key);
		if (node && lull_hash_replace_node(&shared, node, &item->node) == 0) {
			spoil_later(node);
			item = NULL;
		}
	}
	lull_rcu_read_unlock();
	free(item);
}

static void resizes(void)
{
	must(lull_hash_resize(&shared, (size_t)2 << dice(&seed, 6)) == 0);
	if (dice(&seed, 8) == 0)
		sched_yield();
}

static void (*const works[])(void) = { replaces, contends, contends, resizes, resizes, walks, steps, reads, reads, reads };

enum { THREADS = sizeof(works) / sizeof(works[0]) };

static void *runs(void *arg)
{
	int index = (int)(uintptr_t)arg;

	seed = first_seed + (uint64_t)index;
	while (!lull_load_relaxed(&stop)) {
		works[index]();
		/* Updates are faster than slow readers let grace periods pass; what waits must not pile up. */
		if (dice(&seed, 256) == 0 && index < 3)
			lull_rcu_synchronize();
	}
	return NULL;
}

static void run_all(long milliseconds)
{
	pthread_t thread[THREADS];

	first_seed = test_seed();
	init_table(&shared, 2, 0);
	for (int key = 0; key < STEADY; key++)
		lull_hash_insert_dup(&shared, &new_item(key)->node, hash_of(key));
	for (int i = 0; i < THREADS; i++)
		thread[i] = start_thread(runs, (void *)(uintptr_t)i);
	nap_ms(milliseconds);
	lull_store_relaxed(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		join_thread(thread[i]);
	lull_rcu_barrier();
}

/* A reader or a walk that misses an element ends the child, and says where. */
static void run_busted(void)
{
	cut_first = true;
	run_all(20000);
}

/* Shows that faults are found. First, while there is no thread of the reclaimer: children start alone. */
FIRST_TEST(busted)
{
	char text[1000];
	int status;

	NEEDS_THREADS_IN_CHILD();
	status = run_child(run_busted, text, sizeof(text));
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_non_null(strstr(text, "many.c:"));
}

TEST(many)
{
	int count = STEADY;

	run_all(1000);
	lull_rcu_read_lock();
	for (int key = 0; key < KEYS; key++) {
		int there = lull_hash_lookup(&shared, hash_of(key), match, &key) != NULL;

		assert_int_equal(there, key < STEADY ? 1 : balance[key]);
		count += key < STEADY ? 0 : there;
	}
	lull_rcu_read_unlock();
	finish(&shared, count);
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
