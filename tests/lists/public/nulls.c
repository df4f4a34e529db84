/* SPDX-License-Identifier: MIT */
/* runs: c++ */
/*
 * nulls.c - every function and macro of hlist_nulls.h, on one thread.
 */
#include "test.h"

#include <lull/hlist_nulls.h>

#define ITEMS	8
#define BUCKETS 2

/* The node is not the first member, so that a forgotten offset shows. */
struct object {
	int key;
	struct lull_hlist_nulls_node link;
};

static struct object objects[ITEMS];
static struct lull_hlist_nulls_head table[BUCKETS];

SETUP
{
	int i;

	for (i = 0; i < BUCKETS; i++)
		lull_hlist_nulls_init(&table[i], (uintptr_t)i);
	for (i = 0; i < ITEMS; i++) {
		objects[i].key = i;
		objects[i].link.next = NULL;
		objects[i].link.pprev = NULL;
	}
}

static void nulls_check(const struct lull_hlist_nulls_head *head, uintptr_t value,
			const char *expect)
{
	struct lull_hlist_nulls_node *const *link = &head->first;
	const char *want;

	for (want = expect; *want; want++) {
		assert_false(lull_is_a_nulls(*link));
		assert_ptr_equal((*link)->pprev, link);
		assert_int_equal(lull_hlist_nulls_entry(*link, struct object, link)->key,
				 *want - '0');
		link = &(*link)->next;
	}
	assert_true(lull_is_a_nulls(*link));
	assert_int_equal(lull_get_nulls_value(*link), value);
	assert_int_equal(lull_hlist_nulls_empty(head), *expect == '\0');
}

TEST(value)
{
	struct lull_hlist_nulls_head head;

	lull_hlist_nulls_init(&head, 0);
	nulls_check(&head, 0, "");
	lull_hlist_nulls_init(&head, UINTPTR_MAX >> 1);
	nulls_check(&head, UINTPTR_MAX >> 1, "");
	lull_hlist_nulls_add_head_rcu(&objects[0].link, &head);
	nulls_check(&head, UINTPTR_MAX >> 1, "0");
	assert_false(lull_is_a_nulls(&objects[0].link));
}

TEST(change)
{
	assert_true(lull_hlist_nulls_unhashed(&objects[0].link));
	lull_hlist_nulls_add_head_rcu(&objects[2].link, &table[1]);
	lull_hlist_nulls_add_head_rcu(&objects[1].link, &table[1]);
	lull_hlist_nulls_add_head_rcu(&objects[0].link, &table[1]);
	nulls_check(&table[1], 1, "012");
	assert_false(lull_hlist_nulls_unhashed(&objects[0].link));

	lull_hlist_nulls_replace_rcu(&objects[0].link, &objects[5].link);
	lull_hlist_nulls_replace_rcu(&objects[2].link, &objects[7].link);
	nulls_check(&table[1], 1, "517");
	assert_ptr_equal(objects[0].link.next, &objects[1].link);
	assert_ptr_equal(objects[0].link.pprev, LULL_HLIST_NULLS_POISON);

	lull_hlist_nulls_del_rcu(&objects[1].link);
	assert_ptr_equal(objects[1].link.next, &objects[7].link);
	assert_ptr_equal(objects[1].link.pprev, LULL_HLIST_NULLS_POISON);
	nulls_check(&table[1], 1, "57");
	lull_hlist_nulls_del_init_rcu(&objects[7].link);
	lull_hlist_nulls_del_init_rcu(&objects[7].link);
	assert_true(lull_hlist_nulls_unhashed(&objects[7].link));
	assert_int_equal(lull_get_nulls_value(objects[7].link.next), 1);
	nulls_check(&table[1], 1, "5");
	lull_hlist_nulls_del_rcu(&objects[5].link);
	nulls_check(&table[1], 1, "");
}

TEST(for_each)
{
	const struct lull_hlist_nulls_head *head = &table[1];
	const struct lull_hlist_nulls_node *node;
	const struct object *pos;
	int i, seen = 0;

	lull_hlist_nulls_for_each_entry_rcu(pos, node, head, link)
		fail();
	assert_int_equal(lull_get_nulls_value(node), 1);
	for (i = 4; i >= 0; i--)
		lull_hlist_nulls_add_head_rcu(&objects[i].link, &table[1]);
	lull_hlist_nulls_for_each_entry_rcu(pos, node, head, link)
		assert_int_equal(pos->key, seen++);
	assert_int_equal(seen, 5);
	assert_int_equal(lull_get_nulls_value(node), 1);
}

/* The updater of the next test: moves an object once, at the worst moment. */
static void move_once(struct object *object, struct lull_hlist_nulls_head *head, int *moves)
{
	if (*moves) {
		--*moves;
		lull_hlist_nulls_del_rcu(&object->link);
		lull_hlist_nulls_add_head_rcu(&object->link, head);
	}
}

/*
 * A lookup by the protocol of hlist_nulls.h, with @move taken to @target while the reader stands
 * on it. There are no counts because nothing is freed here.
 */
static struct object *find(unsigned bucket, int key, struct object *move,
			   struct lull_hlist_nulls_head *target, int moves, int *restarts)
{
	struct lull_hlist_nulls_node *node;
	struct object *pos;

	*restarts = -1;
restart:
	++*restarts;
	lull_hlist_nulls_for_each_entry_rcu(pos, node, &table[bucket], link) {
		if (lull_load_relaxed(&pos->key) == key)
			return pos;
		if (pos == move)
			move_once(move, target, &moves);
	}
	if (lull_get_nulls_value(node) != bucket)
		goto restart;
	return NULL;
}

/* Bucket 0 holds 0, 1, 2 and bucket 1 holds 4, 5. */
TEST(restart)
{
	int i, restarts;

	for (i = 2; i >= 0; i--)
		lull_hlist_nulls_add_head_rcu(&objects[i].link, &table[0]);
	for (i = 5; i >= 4; i--)
		lull_hlist_nulls_add_head_rcu(&objects[i].link, &table[1]);
	assert_ptr_equal(find(0, 2, NULL, NULL, 0, &restarts), &objects[2]);
	assert_int_equal(restarts, 0);
	assert_null(find(0, 5, NULL, NULL, 0, &restarts));
	assert_int_equal(restarts, 0);

	/* Carried off to bucket 1, the reader comes to the wrong end, begins again and finds. */
	assert_ptr_equal(find(0, 2, &objects[0], &table[1], 1, &restarts), &objects[2]);
	assert_int_equal(restarts, 1);
	nulls_check(&table[0], 0, "12");
	nulls_check(&table[1], 1, "045");

	/* The last of a bucket, and nothing to be found. */
	assert_null(find(1, 7, &objects[5], &table[0], 1, &restarts));
	assert_int_equal(restarts, 1);
	nulls_check(&table[0], 0, "512");

	/* Back to the head of its list: the reader meets some twice and misses none. */
	assert_ptr_equal(find(0, 2, &objects[1], &table[0], 1, &restarts), &objects[2]);
	assert_int_equal(restarts, 0);
	nulls_check(&table[0], 0, "152");
}
