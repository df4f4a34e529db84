/* SPDX-License-Identifier: MIT */
/* runs: full-fences, stress */
/*
 * hostile.c - a walk by a cursor beside a crowd that works against it: some insert as fast as the walk goes on, so
 * that the table grows and grows; some replace and remove what it has to meet, and resize. All bounds are counts.
 */
#include "hash/support.h"
#include "random.h"

#include <lull/hash_cursor.h>

#define STEADY	  1000 /* keys that are always there; their elements are replaced */
#define INSERTERS 3    /* each inserts one for each element that is met */
#define PORTION	  16   /* elements for which a section lasts */

static struct lull_hash shared;
static int met, stop;
static int inserted[INSERTERS];

static uint64_t hash_of(int key)
{
	return lull_hash_mix64((uint64_t)key);
}

static void put(int key)
{
	struct lull_hash_node *old = lull_hash_replace(&shared, &new_item(key)->node, hash_of(key), match, &key);

	if (old)
		retire(old);
}

static void *inserts(void *arg)
{
	int me = (int)(intptr_t)arg;

	while (!lull_load_relaxed(&stop)) {
		if (inserted[me] == lull_load_acquire(&met)) {
			sched_yield();
			continue;
		}
		put(STEADY + inserted[me] * INSERTERS + me);
		lull_store_release(&inserted[me], inserted[me] + 1);
	}
	return NULL;
}

/* Keys below zero come and go. */
static void *changes(void *arg)
{
	uint64_t seed = (uint64_t)(intptr_t)arg;

	while (!lull_load_relaxed(&stop)) {
		int key = -1 - (int)dice(&seed, 50);
		struct lull_hash_node *old;

		put((int)dice(&seed, STEADY));
		put(key);
		old = lull_hash_remove(&shared, hash_of(key), match, &key);
		if (old)
			retire(old);
		if (dice(&seed, 64) == 0)
			must(lull_hash_resize(&shared, (size_t)16 << dice(&seed, 10)) == 0);
		if (dice(&seed, 256) == 0)
			lull_rcu_synchronize();
	}
	return NULL;
}

static void await_inserters(void)
{
	for (int i = 0; i < INSERTERS; i++)
		AWAIT_SOON(lull_load_acquire(&inserted[i]) == met);
}

/* Each steady key once; ends after n (e^3 - 1) / 3, about 6.4 n, and those that come and go. */
static void walk(void)
{
	static int times[STEADY];
	struct lull_hash_cursor cursor;
	struct item *item;

	memset(times, 0, sizeof(times));
	lull_hash_cursor_begin(&cursor, &shared);
	do {
		int n = 0;

		lull_rcu_read_lock();
		while (n++ < PORTION && (item = lull_hash_cursor_next_entry(&cursor, struct item, node))) {
			if (item->key >= 0 && item->key < STEADY)
				times[item->key]++;
			lull_store_release(&met, met + 1);
			assert_true(met < 8 * STEADY);
		}
		lull_rcu_read_unlock();
		await_inserters();
	} while (item);
	for (int key = 0; key < STEADY; key++)
		assert_int_equal(times[key], 1);
	assert_true(met > 5 * STEADY);
}

TEST(crowd)
{
	pthread_t inserter[INSERTERS], changer[2];

	assert_int_equal(lull_hash_init(&shared, NULL), 0);
	start_hearing();
	for (int key = 0; key < STEADY; key++)
		put(key);
	for (intptr_t i = 0; i < INSERTERS; i++)
		inserter[i] = start_thread(inserts, (void *)i);
	for (intptr_t i = 0; i < 2; i++)
		changer[i] = start_thread(changes, (void *)(i + (intptr_t)test_seed()));
	walk();
	lull_store_relaxed(&stop, 1);
	for (int i = 0; i < INSERTERS; i++)
		join_thread(inserter[i]);
	for (int i = 0; i < 2; i++)
		join_thread(changer[i]);
	stop_hearing();
	assert_int_equal(heard_lines, 0); /* chains are long now and then, and the hash is good */
	lull_hash_destroy(&shared, free_item, NULL);
	lull_rcu_barrier();
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
