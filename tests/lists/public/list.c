/* SPDX-License-Identifier: MIT */
/* runs: c++ */
/*
 * list.c - every function and macro of list.h, on one thread.
 */
#include "test.h"

#include <lull/list.h>

#define ITEMS 8

/* The node is not the first member, so that a forgotten offset shows. */
struct item {
	int value;
	struct lull_list_head link;
};

static struct item items[ITEMS];
static LULL_LIST_HEAD(list);
static LULL_LIST_HEAD(other);

static void setup(void)
{
	int i;

	lull_list_init(&list);
	lull_list_init(&other);
	for (i = 0; i < ITEMS; i++) {
		items[i].value = i;
		items[i].link.next = NULL;
		items[i].link.prev = NULL;
	}
}

/* Items @from .. @to - 1, in this order, at the end. */
static void fill(struct lull_list_head *head, int from, int to)
{
	int i;

	for (i = from; i < to; i++)
		lull_list_add_tail(&items[i].link, head);
}

/* The list holds what the digits of @expect say, both ways, and the ring is whole. */
static void check(const struct lull_list_head *head, const char *expect)
{
	const struct lull_list_head *node = head;
	const char *want;

	for (want = expect; *want; want++) {
		assert_ptr_equal(node->next->prev, node);
		node = node->next;
		assert_ptr_not_equal(node, head);
		assert_int_equal(lull_list_entry(node, const struct item, link)->value,
				 *want - '0');
	}
	assert_ptr_equal(node->next, head);
	assert_ptr_equal(head->prev, node);
	assert_int_equal(lull_list_empty(head), *expect == '\0');
}

USE_SETUP(setup)

TEST(init)
{
	static struct lull_list_head fixed = LULL_LIST_HEAD_INIT(fixed);
	struct lull_list_head dynamic;

	check(&fixed, "");
	lull_list_init(&dynamic);
	check(&dynamic, "");
}

TEST(add)
{
	lull_list_add(&items[1].link, &list);
	check(&list, "1");
	lull_list_add(&items[0].link, &list);
	check(&list, "01");
	lull_list_add_tail(&items[4].link, &list);
	check(&list, "014");
	lull_list_add(&items[2].link, &items[1].link);
	lull_list_add_tail(&items[3].link, &items[4].link);
	check(&list, "01234");
	assert_ptr_equal(lull_list_first_entry(&list, struct item, link), &items[0]);
	assert_ptr_equal(lull_list_last_entry(&list, struct item, link), &items[4]);
	assert_ptr_equal(lull_list_next_entry(&items[1], link), &items[2]);
	assert_ptr_equal(lull_list_prev_entry(&items[1], link), &items[0]);
}

TEST(del)
{
	fill(&list, 0, 4);
	lull_list_del(&items[1].link);
	check(&list, "023");
	assert_ptr_equal(items[1].link.next, LULL_LIST_POISON);
	assert_ptr_equal(items[1].link.prev, LULL_LIST_POISON);
	lull_list_del(&items[0].link);
	check(&list, "23");
	lull_list_del(&items[3].link);
	check(&list, "2");
	lull_list_del(&items[2].link);
	check(&list, "");
	lull_list_add(&items[1].link, &list);
	check(&list, "1");
}

TEST(del_init)
{
	fill(&list, 0, 2);
	lull_list_del_init(&items[0].link);
	check(&list, "1");
	assert_true(lull_list_empty(&items[0].link));
	lull_list_del_init(&items[0].link);
	check(&list, "1");
	lull_list_del_init(&items[1].link);
	check(&list, "");
}

TEST(replace)
{
	fill(&list, 0, 3);
	lull_list_replace(&items[0].link, &items[5].link);
	check(&list, "512");
	lull_list_replace(&items[1].link, &items[6].link);
	check(&list, "562");
	lull_list_replace(&items[2].link, &items[7].link);
	check(&list, "567");
	lull_list_add(&items[0].link, &other);
	lull_list_replace(&items[0].link, &items[1].link);
	check(&other, "1");
}

TEST(move)
{
	fill(&list, 0, 3);
	lull_list_move(&items[1].link, &other);
	check(&list, "02");
	check(&other, "1");
	lull_list_move(&items[2].link, &list);
	check(&list, "20");
	lull_list_move(&items[2].link, &list);
	check(&list, "20");
	lull_list_move(&items[2].link, list.prev);
	check(&list, "02");
	lull_list_move(&items[1].link, &items[0].link);
	check(&list, "012");
	check(&other, "");
}

TEST(splice)
{
	lull_list_splice(&other, &list);
	check(&list, "");
	fill(&other, 0, 1);
	lull_list_splice(&other, &list);
	check(&list, "0");
	check(&other, "");
	lull_list_splice(&other, &list);
	lull_list_splice_tail(&other, &list);
	check(&list, "0");
	fill(&other, 1, 3);
	lull_list_splice(&other, &list);
	check(&list, "120");
	fill(&other, 3, 5);
	lull_list_splice_tail(&other, &list);
	check(&list, "12034");
	check(&other, "");
	fill(&other, 5, 7);
	lull_list_splice(&other, &items[2].link);
	check(&list, "1256034");
}

TEST(for_each)
{
	struct item *pos, *next;
	const struct item *read;
	int seen = 0;

	lull_list_for_each_entry(pos, &list, link)
		fail();
	lull_list_for_each_entry_reverse(pos, &list, link)
		fail();
	lull_list_for_each_entry_safe(pos, next, &list, link)
		fail();

	fill(&list, 0, 5);
	lull_list_for_each_entry(read, &list, link)
		assert_int_equal(read->value, seen++);
	assert_int_equal(seen, 5);
	assert_true(lull_list_entry_is_head(read, &list, link));
	lull_list_for_each_entry_reverse(pos, &list, link)
		assert_int_equal(pos->value, --seen);
	assert_int_equal(seen, 0);
	lull_list_for_each_entry_safe(pos, next, &list, link) {
		assert_int_equal(pos->value, seen++);
		if (pos->value % 2 == 0)
			lull_list_del(&pos->link);
	}
	assert_int_equal(seen, 5);
	check(&list, "13");
	lull_list_for_each_entry_safe(pos, next, &list, link)
		lull_list_del(&pos->link);
	check(&list, "");
}

TEST(add_rcu)
{
	lull_list_add_rcu(&items[1].link, &list);
	check(&list, "1");
	lull_list_add_rcu(&items[0].link, &list);
	lull_list_add_tail_rcu(&items[4].link, &list);
	check(&list, "014");
	lull_list_add_rcu(&items[2].link, &items[1].link);
	lull_list_add_tail_rcu(&items[3].link, &items[4].link);
	check(&list, "01234");
}

/* A deleted node leads its readers back to the list, also when its neighbours go as well. */
TEST(del_rcu)
{
	fill(&list, 0, 5);
	lull_list_del_rcu(&items[1].link);
	check(&list, "0234");
	assert_ptr_equal(lull_list_next_rcu(&items[1].link), &items[2].link);
	assert_ptr_equal(items[1].link.prev, LULL_LIST_POISON);
	lull_list_del_rcu(&items[2].link);
	assert_ptr_equal(lull_list_next_rcu(lull_list_next_rcu(&items[1].link)), &items[3].link);
	lull_list_del_rcu(&items[0].link);
	lull_list_del_rcu(&items[4].link);
	assert_ptr_equal(lull_list_next_rcu(&items[4].link), &list);
	check(&list, "3");
	lull_list_del_rcu(&items[3].link);
	check(&list, "");
	assert_ptr_equal(lull_list_next_rcu(&items[3].link), &list);
}

TEST(bidir_del_rcu)
{
	fill(&list, 0, 3);
	lull_list_bidir_del_rcu(&items[1].link);
	check(&list, "02");
	assert_ptr_equal(lull_list_next_rcu(&items[1].link), &items[2].link);
	assert_ptr_equal(lull_list_prev_rcu(&items[1].link), &items[0].link);
	lull_list_bidir_del_rcu(&items[0].link);
	lull_list_bidir_del_rcu(&items[2].link);
	check(&list, "");
	assert_ptr_equal(lull_list_prev_rcu(&items[0].link), &list);
}

TEST(replace_rcu)
{
	fill(&list, 0, 3);
	lull_list_replace_rcu(&items[0].link, &items[5].link);
	lull_list_replace_rcu(&items[2].link, &items[7].link);
	check(&list, "517");
	assert_ptr_equal(lull_list_next_rcu(&items[0].link), &items[1].link);
	assert_ptr_equal(lull_list_next_rcu(&items[2].link), &list);
	assert_ptr_equal(items[0].link.prev, LULL_LIST_POISON);
	lull_list_bidir_replace_rcu(&items[1].link, &items[6].link);
	check(&list, "567");
	assert_ptr_equal(lull_list_next_rcu(&items[1].link), &items[7].link);
	assert_ptr_equal(lull_list_prev_rcu(&items[1].link), &items[5].link);
	fill(&other, 0, 1);
	lull_list_replace_rcu(&items[0].link, &items[1].link);
	check(&other, "1");
}

static int synced;

/* While the splice waits, the list is empty for who comes, and whole for who is on it. */
static void sync_between(void)
{
	synced++;
	check(&other, "");
	assert_ptr_equal(lull_list_next_rcu(&items[0].link), &items[1].link);
	assert_ptr_equal(lull_list_next_rcu(&items[1].link), &other);
	assert_ptr_equal(lull_list_prev_rcu(&items[0].link), &other);
}

static void sync_never(void)
{
	fail();
}

TEST(splice_init_rcu)
{
	lull_list_splice_init_rcu(&other, &list, sync_never);
	lull_list_splice_tail_init_rcu(&other, &list, sync_never);
	check(&list, "");

	synced = 0;
	fill(&other, 0, 2);
	lull_list_splice_init_rcu(&other, &list, sync_between);
	assert_int_equal(synced, 1);
	check(&list, "01");
	check(&other, "");

	setup();
	fill(&list, 2, 4);
	fill(&other, 0, 2);
	lull_list_splice_init_rcu(&other, &list, sync_between);
	check(&list, "0123");
	setup();
	fill(&list, 2, 4);
	fill(&other, 0, 2);
	lull_list_splice_tail_init_rcu(&other, &list, sync_between);
	assert_int_equal(synced, 3);
	check(&list, "2301");
	check(&other, "");
}

TEST(or_null_rcu)
{
	assert_null(lull_list_first_or_null_rcu(&list, struct item, link));
	assert_null(lull_list_next_or_null_rcu(&list, &list, struct item, link));
	fill(&list, 0, 2);
	assert_ptr_equal(lull_list_first_or_null_rcu(&list, struct item, link), &items[0]);
	assert_ptr_equal(lull_list_next_or_null_rcu(&list, &items[0].link, struct item, link),
			 &items[1]);
	assert_null(lull_list_next_or_null_rcu(&list, &items[1].link, struct item, link));
}

/* A reader's single steps, from element to element. */
TEST(step_rcu)
{
	const struct item *pos = &items[1];

	fill(&list, 0, 4);
	assert_ptr_equal(lull_list_next_entry_rcu(pos, link), &items[2]);
	assert_ptr_equal(lull_list_prev_entry_rcu(pos, link), &items[0]);
	lull_list_bidir_del_rcu(&items[1].link); /* leads to both its old neighbours */
	assert_ptr_equal(lull_list_next_entry_rcu(pos, link), &items[2]);
	assert_ptr_equal(lull_list_prev_entry_rcu(pos, link), &items[0]);
	assert_ptr_equal(lull_list_prev_entry_rcu(&items[2], link), &items[0]);
	assert_ptr_equal(lull_list_next_entry_rcu(&items[0], link), &items[2]);
	pos = lull_list_next_entry_rcu(&items[3], link);
	assert_true(lull_list_entry_is_head(pos, &list, link));
	pos = lull_list_prev_entry_rcu(&items[0], link);
	assert_true(lull_list_entry_is_head(pos, &list, link));
}

TEST(for_each_rcu)
{
	const struct lull_list_head *head = &list;
	const struct lull_list_head *node;
	const struct item *pos;
	int seen = 0;

	lull_list_for_each_rcu(node, head)
		fail();
	lull_list_for_each_entry_rcu(pos, head, link)
		fail();
	lull_list_for_each_entry_reverse_rcu(pos, head, link)
		fail();

	fill(&list, 0, 5);
	lull_list_for_each_rcu(node, head)
		assert_ptr_equal(node, &items[seen++].link);
	assert_int_equal(seen, 5);
	lull_list_for_each_entry_reverse_rcu(pos, head, link)
		assert_int_equal(pos->value, --seen);
	assert_int_equal(seen, 0);
	lull_list_for_each_entry_rcu(pos, head, link)
		if (pos->value == seen++ && seen == 3)
			break;
	assert_ptr_equal(pos, &items[2]);
	lull_list_for_each_entry_continue_rcu(pos, head, link)
		assert_int_equal(pos->value, seen++);
	assert_int_equal(seen, 5);
	pos = &items[3];
	seen = 3;
	lull_list_for_each_entry_from_rcu(pos, head, link)
		assert_int_equal(pos->value, seen++);
	assert_int_equal(seen, 5);
	pos = &items[4];
	lull_list_for_each_entry_continue_rcu(pos, head, link)
		fail();
	lull_list_for_each_entry_from_rcu(pos, head, link)
		fail();
}

/* What a reader goes through when the list changes under it: here between two of its steps. */
TEST(walk_while_changed)
{
	struct item *pos;
	char met[ITEMS + 1] = "";
	int n = 0;

	fill(&list, 0, 5);
	lull_list_for_each_entry_rcu(pos, &list, link) {
		met[n++] = (char)('0' + pos->value);
		if (pos == &items[1]) {
			lull_list_del_rcu(&items[1].link);
			lull_list_replace_rcu(&items[2].link, &items[6].link);
			lull_list_add_tail_rcu(&items[7].link, &list);
			lull_list_add_rcu(&items[5].link, &list);
		}
	}
	met[n] = '\0';
	/* 1 was deleted with 2 behind it, so 2 is met, not 6; 5 came too late. */
	assert_string_equal(met, "012347");
	check(&list, "506347");
}

static int looks;

static struct lull_list_head *looked_at(void)
{
	looks++;
	return &list;
}

/* The head may be any expression, and is evaluated at every step; the loops nest, and an else after one binds to the user's if. */
TEST(macro_hygiene)
{
	struct lull_list_head *heads[2] = { &list, &other };
	struct item *outer, *inner;
	int i, pairs = 0;

	fill(&list, 0, 3);
	fill(&other, 3, 5);
	lull_list_for_each_entry_rcu(outer, heads[0], link)
		lull_list_for_each_entry(inner, *(heads + 1), link)
			pairs += outer->value < inner->value;
	assert_int_equal(pairs, 6);
	for (i = 0; i < 2; i++)
		if (i == 0)
			lull_list_for_each_entry_rcu(outer, heads[i], link)
				pairs++;
		else
			pairs += 100;
	assert_int_equal(pairs, 109);
	lull_list_for_each_entry_rcu(outer, looked_at(), link)
		;
	assert_int_equal(looks, 1 + 3 + 1);
}
