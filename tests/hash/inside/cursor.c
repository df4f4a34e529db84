/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * cursor.c - hash_cursor.h between any two loads of its steps: an actor goes on there, who updates and resizes, and
 * stands still inside a move for as long as chance will have it. This program contains the sources that move and that
 * step.
 *
 * Actor and walker take turns, so a seed repeats all of it.
 */
#include <semaphore.h>

#include "hash/support.h"
#include "random.h"

#include <lull/hash_cursor.h>

#define PLACES 24 /* for an element each: its number is its key */

static struct place {
	struct item *item;
	int met;
	bool all_the_time, replaced; /* since the walk began */
} place[PLACES];

static struct lull_hash shared;
static uint64_t seed;
static bool shared_hashes; /* two keys have each */
static int lost, again, loads;

/* ---- turns --------------------------------------------------------------------------------------------------------- */

static pthread_t actor;
static sem_t actors_turn, walkers_turn;
static bool acting, over, is_idle;
static __thread bool is_actor;

/* The actor stands still here. */
static void stand(void)
{
	if (!is_actor)
		return;
	must(sem_post(&walkers_turn) == 0);
	must(sem_wait(&actors_turn) == 0);
}

/* The walker lets the actor go on to the next place where it stands still. */
static void let_go_on(void)
{
	must(sem_post(&actors_turn) == 0);
	must(sem_wait(&walkers_turn) == 0);
}

/* Between two loads of the walker: mostly nothing, or a little. */
static void meanwhile(void)
{
	loads++;
	if (dice(&seed, 4) || !acting)
		return;
	for (unsigned n = dice(&seed, 4) ? 1 + dice(&seed, 3) : dice(&seed, 60); n; n--)
		let_go_on();
}

/* The fault: a chain of the old table is cut off before its elements are in the new one. */
static bool cut_first;

enum { BUSTED_HASH_CUT_FIRST, BUSTED_HASH_MOVE_HEAD };

#include "../src/base/fault.h"
#undef LULL__BUSTED
#define LULL__BUSTED(fault) (BUSTED_##fault == BUSTED_HASH_CUT_FIRST && cut_first)
#undef lull__busted_pause
#define lull__busted_pause() stand()
#include "../src/hash/resize.c"

static struct lull_hash_node *load_link(struct lull_hash_node *const *link)
{
	return lull_load_acquire(link);
}

#define lull__hash_current(h)	   (meanwhile(), lull__hash_current(h))
#define lull__hash_future(table)   (meanwhile(), lull__hash_future(table))
#define lull__hash_first(table, n) (meanwhile(), lull__hash_first(table, n))
#undef lull_load_acquire
#define lull_load_acquire(link) (meanwhile(), load_link(link))
#include "../src/hash/cursor.c"

/* ---- the actor ----------------------------------------------------------------------------------------------------- */

/* Far apart in the order, and two or more in each bucket of a small table. */
static uint64_t hash_of(int key)
{
	return lull_hash_mix64((uint64_t)(shared_hashes ? key / 2 : key));
}

static void put(int key)
{
	struct item *item = new_item(key);
	struct lull_hash_node *old;

	place[key].replaced = true;
	old = lull_hash_replace(&shared, &item->node, hash_of(key), match, &key);
	place[key].item = item;
	if (old)
		retire(old);
}

static void take_out(int key)
{
	place[key].all_the_time = false;
	if (!place[key].item)
		return;
	must(lull_hash_remove_node(&shared, &place[key].item->node) == 0);
	retire(&place[key].item->node);
	place[key].item = NULL;
}

static void *acts(void *unused)
{
	is_actor = true;
	must(sem_wait(&actors_turn) == 0);
	while (!over) {
		int key = (int)dice(&seed, PLACES);

		is_idle = false;
		switch (dice(&seed, 6)) {
		case 0:
			take_out(key);
			break;
		case 1:
		case 2:
		case 3:
			put(key);
			break;
		default:
			must(lull_hash_resize(&shared, (size_t)2 << dice(&seed, 5)) == 0);
		}
		is_idle = true;
		stand();
	}
	return unused;
}

/* ---- the walker ---------------------------------------------------------------------------------------------------- */

static void be_idle(void)
{
	do
		let_go_on();
	while (!is_idle);
}

static void begin_walk(struct lull_hash_cursor *cursor)
{
	be_idle();
	for (int key = 0; key < PLACES; key++) {
		struct item *item = place[key].item;

		place[key] = (struct place){ item, 0, item != NULL, false };
		if (item)
			item->mark = 0;
	}
	lull_hash_cursor_begin(cursor, &shared);
}

static void walk(void)
{
	struct lull_hash_cursor cursor;
	struct item *item;

	begin_walk(&cursor);
	lull_rcu_read_lock();
	while ((item = lull_hash_cursor_next_entry(&cursor, struct item, node))) {
		again += item->mark++ || (place[item->key].met++ && !shared_hashes);
		if (dice(&seed, 2)) {
			lull_rcu_read_unlock();
			meanwhile();
			lull_rcu_read_lock();
		}
	}
	lull_rcu_read_unlock();
	be_idle();
	for (int key = 0; key < PLACES; key++)
		lost += place[key].all_the_time && !place[key].met && !(shared_hashes && place[key].replaced);
}

static void walks(int walks)
{
	int there = 0;

	memset(place, 0, sizeof(place));
	lost = again = 0;
	over = false;
	must(sem_init(&actors_turn, 0, 0) == 0 && sem_init(&walkers_turn, 0, 0) == 0);
	init_table(&shared, 2, LULL_HASH_FIXED);
	for (int key = 0; key < PLACES; key++)
		put(key);
	acting = true;
	actor = start_thread(acts, NULL);
	for (; walks && !lost && !again; walks--)
		walk();
	over = true;
	must(sem_post(&actors_turn) == 0);
	join_thread(actor);
	acting = false;
	for (int key = 0; key < PLACES; key++)
		there += place[key].item != NULL;
	finish(&shared, there);
}

/* Shows that what is missed is seen. */
TEST(busted)
{
	seed = test_seed();
	cut_first = true;
	walks(1000);
	cut_first = false;
	assert_int_not_equal(lost, 0);
}

TEST(between_loads)
{
	seed = test_seed();
	for (int round = 0; round < 2; round++) {
		shared_hashes = round;
		walks(200);
		assert_int_equal(lost, 0);
		assert_int_equal(again, 0);
	}
}

/* A step looks at a chain once, and twice only where elements share a hash. */
TEST(looks)
{
	struct lull_hash_cursor cursor;

	for (int shares = 0; shares < 2; shares++) {
		init_table(&shared, 2, LULL_HASH_FIXED);
		for (int key = 0; key < 6; key++)
			lull_hash_insert_dup(&shared, &new_item(key)->node, shares ? 0 : (uint64_t)key * 2);
		lull_hash_cursor_begin(&cursor, &shared);
		lull_rcu_read_lock();
		for (int n = 0; n < 5; n++) {
			loads = 0;
			assert_non_null(lull_hash_cursor_next(&cursor));
			assert_int_equal(loads, 9 * (1 + shares)); /* the table, the head, six links, the future */
		}
		lull_rcu_read_unlock();
		finish(&shared, 6);
	}
}

/* Many empty buckets are passed in portions, if the caller asks for that, and else in one call. */
TEST(gives_up)
{
	struct lull_hash_cursor cursor;
	int calls = 0;

	init_table(&shared, 1024, LULL_HASH_FIXED);
	lull_hash_insert_dup(&shared, &new_item(1)->node, UINT64_MAX); /* in the last one */
	lull_rcu_read_lock();
	lull_hash_cursor_begin(&cursor, &shared);
	while (!lull__hash_cursor_within(&cursor, 63)) {
		assert_non_null(cursor.h);
		calls++;
	}
	assert_int_equal(calls, 1023 / 64);
	assert_null(cursor.h); /* nothing lies behind it */
	lull_hash_cursor_begin(&cursor, &shared);
	assert_non_null(lull_hash_cursor_next(&cursor));
	lull_rcu_read_unlock();
	finish(&shared, 1);
}

BEFORE_ALL
{
	alarm(100);
	set_stall_ms(0); /* the actor stands in sections */
}
