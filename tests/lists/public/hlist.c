/* SPDX-License-Identifier: MIT */
/* runs: c++ */
/*
 * hlist.c - every function and macro of hlist.h, on one thread.
 */
#include "test.h"

#include <lull/hlist.h>

#define ITEMS 8

/* The node is not the first member, so that a forgotten offset shows. */
struct item {
	int value;
	struct lull_hlist_node link;
};

static struct item items[ITEMS];
static struct lull_hlist_head list;
static struct lull_hlist_head other;

SETUP
{
	int i;

	lull_hlist_init(&list);
	lull_hlist_init(&other);
	for (i = 0; i < ITEMS; i++) {
		items[i].value = i;
		lull_hlist_node_init(&items[i].link);
	}
}

/* Items @from .. @to - 1, in this order. */
static void fill(struct lull_hlist_head *head, int from, int to)
{
	int i;

	for (i = to - 1; i >= from; i--)
		lull_hlist_add_head(&items[i].link, head);
}

/* The list holds what the digits of @expect say, and each pprev is right. */
static void check(struct lull_hlist_head *head, const char *expect)
{
	struct lull_hlist_node **link = &head->first;
	const char *want;

	for (want = expect; *want; want++) {
		assert_non_null(*link);
		assert_ptr_equal((*link)->pprev, link);
		assert_int_equal(lull_hlist_entry(*link, struct item, link)->value, *want - '0');
		link = &(*link)->next;
	}
	assert_null(*link);
	assert_int_equal(lull_hlist_empty(head), *expect == '\0');
}

TEST(init)
{
	struct lull_hlist_head fixed = LULL_HLIST_HEAD_INIT;
	struct lull_hlist_node node;

	check(&fixed, "");
	/* Whatever was there before; and it leads nowhere. */
	memset((void *)&node, 0x5a, sizeof(node));
	lull_hlist_node_init(&node);
	assert_null(node.next);
	assert_null(node.pprev);
	assert_true(lull_hlist_unhashed(&items[0].link));
	lull_hlist_add_head(&items[0].link, &fixed);
	assert_false(lull_hlist_unhashed(&items[0].link));
	lull_hlist_init(&fixed);
	check(&fixed, "");
}

TEST(add)
{
	lull_hlist_add_tail(&items[3].link, &list);
	check(&list, "3");
	lull_hlist_add_head(&items[1].link, &list);
	check(&list, "13");
	lull_hlist_add_before(&items[0].link, &items[1].link);
	lull_hlist_add_before(&items[2].link, &items[3].link);
	check(&list, "0123");
	lull_hlist_add_behind(&items[5].link, &items[3].link);
	lull_hlist_add_behind(&items[4].link, &items[3].link);
	lull_hlist_add_tail(&items[6].link, &list);
	check(&list, "0123456");
}

TEST(del)
{
	fill(&list, 0, 4);
	lull_hlist_del(&items[1].link);
	check(&list, "023");
	assert_ptr_equal(items[1].link.next, LULL_HLIST_POISON_NEXT);
	assert_ptr_equal(items[1].link.pprev, LULL_HLIST_POISON_PPREV);
	lull_hlist_del_init(&items[0].link);
	lull_hlist_del_init(&items[0].link);
	assert_true(lull_hlist_unhashed(&items[0].link));
	check(&list, "23");
	lull_hlist_del_init(&items[3].link);
	lull_hlist_del(&items[2].link);
	check(&list, "");
	lull_hlist_add_head(&items[2].link, &list);
	check(&list, "2");
}

TEST(replace)
{
	fill(&list, 0, 3);
	lull_hlist_replace(&items[0].link, &items[5].link);
	lull_hlist_replace(&items[1].link, &items[6].link);
	lull_hlist_replace(&items[2].link, &items[7].link);
	check(&list, "567");
	lull_hlist_add_head(&items[0].link, &other);
	lull_hlist_replace(&items[0].link, &items[1].link);
	check(&other, "1");
}

TEST(for_each)
{
	struct lull_hlist_node *next;
	const struct item *read;
	struct item *pos;
	int seen = 0;

	lull_hlist_for_each_entry(pos, &list, link)
		fail();
	lull_hlist_for_each_entry_safe(pos, next, &list, link)
		fail();
	fill(&list, 0, 5);
	lull_hlist_for_each_entry(read, &list, link)
		assert_int_equal(read->value, seen++);
	assert_null(read);
	assert_int_equal(seen, 5);
	seen = 0;
	lull_hlist_for_each_entry_safe(pos, next, &list, link) {
		assert_int_equal(pos->value, seen++);
		if (pos->value % 2 == 0)
			lull_hlist_del(&pos->link);
	}
	assert_null(pos);
	assert_int_equal(seen, 5);
	check(&list, "13");
	lull_hlist_for_each_entry_safe(pos, next, &list, link)
		lull_hlist_del(&pos->link);
	check(&list, "");
}

TEST(entry_or_null)
{
	assert_null(lull_hlist_entry_or_null(list.first, struct item, link));
	fill(&list, 0, 1);
	assert_ptr_equal(lull_hlist_entry_or_null(list.first, struct item, link), &items[0]);
}

TEST(add_rcu)
{
	lull_hlist_add_tail_rcu(&items[3].link, &list);
	check(&list, "3");
	lull_hlist_add_head_rcu(&items[1].link, &list);
	check(&list, "13");
	lull_hlist_add_before_rcu(&items[0].link, &items[1].link);
	lull_hlist_add_before_rcu(&items[2].link, &items[3].link);
	check(&list, "0123");
	lull_hlist_add_behind_rcu(&items[5].link, &items[3].link);
	lull_hlist_add_behind_rcu(&items[4].link, &items[3].link);
	lull_hlist_add_tail_rcu(&items[6].link, &list);
	check(&list, "0123456");
}

/* A deleted node leads its readers back to the list. */
TEST(del_rcu)
{
	fill(&list, 0, 5);
	lull_hlist_del_rcu(&items[1].link);
	check(&list, "0234");
	assert_ptr_equal(lull_hlist_next_rcu(&items[1].link), &items[2].link);
	assert_ptr_equal(items[1].link.pprev, LULL_HLIST_POISON_PPREV);
	lull_hlist_del_init_rcu(&items[2].link);
	assert_true(lull_hlist_unhashed(&items[2].link));
	assert_ptr_equal(lull_hlist_next_rcu(&items[2].link), &items[3].link);
	lull_hlist_del_init_rcu(&items[2].link);
	check(&list, "034");
	lull_hlist_del_rcu(&items[0].link);
	lull_hlist_del_rcu(&items[4].link);
	assert_null(lull_hlist_next_rcu(&items[4].link));
	check(&list, "3");
	lull_hlist_del_rcu(&items[3].link);
	check(&list, "");
	assert_null(lull_hlist_first_rcu(&list));
}

TEST(replace_rcu)
{
	fill(&list, 0, 3);
	lull_hlist_replace_rcu(&items[0].link, &items[5].link);
	lull_hlist_replace_rcu(&items[2].link, &items[7].link);
	check(&list, "517");
	assert_ptr_equal(lull_hlist_next_rcu(&items[0].link), &items[1].link);
	assert_null(lull_hlist_next_rcu(&items[2].link));
	assert_ptr_equal(items[0].link.pprev, LULL_HLIST_POISON_PPREV);
	fill(&other, 0, 1);
	lull_hlist_replace_rcu(&items[0].link, &items[1].link);
	check(&other, "1");
}

TEST(swap_heads_rcu)
{
	lull_hlist_swap_heads_rcu(&list, &other);
	check(&list, "");
	check(&other, "");
	fill(&list, 0, 2);
	lull_hlist_swap_heads_rcu(&list, &other);
	check(&list, "");
	check(&other, "01");
	fill(&list, 2, 5);
	lull_hlist_swap_heads_rcu(&list, &other);
	check(&list, "01");
	check(&other, "234");
}

/* A reader's single steps, from element to element. */
TEST(step_rcu)
{
	const struct item *pos = &items[1];

	fill(&list, 0, 4);
	assert_ptr_equal(lull_hlist_next_entry_rcu(pos, link), &items[2]);
	lull_hlist_del_rcu(&items[1].link); /* leads on to where it was */
	assert_ptr_equal(lull_hlist_next_entry_rcu(pos, link), &items[2]);
	assert_ptr_equal(lull_hlist_next_entry_rcu(&items[0], link), &items[2]);
	assert_null(lull_hlist_next_entry_rcu(&items[3], link));
}

TEST(for_each_rcu)
{
	const struct lull_hlist_head *head = &list;
	const struct item *pos;
	int seen = 0;

	lull_hlist_for_each_entry_rcu(pos, head, link)
		fail();
	fill(&list, 0, 5);
	lull_hlist_for_each_entry_rcu(pos, head, link)
		assert_int_equal(pos->value, seen++);
	assert_null(pos);
	assert_int_equal(seen, 5);
	pos = &items[2];
	seen = 3;
	lull_hlist_for_each_entry_continue_rcu(pos, link)
		assert_int_equal(pos->value, seen++);
	assert_int_equal(seen, 5);
	pos = &items[2];
	seen = 2;
	lull_hlist_for_each_entry_from_rcu(pos, link)
		assert_int_equal(pos->value, seen++);
	assert_int_equal(seen, 5);
	lull_hlist_for_each_entry_from_rcu(pos, link)
		fail();
	pos = &items[4];
	lull_hlist_for_each_entry_continue_rcu(pos, link)
		fail();
}

/* What a reader goes through when the list changes under it: here between two of its steps. */
TEST(walk_while_changed)
{
	struct item *pos;
	char met[ITEMS + 1] = "";
	int n = 0;

	fill(&list, 0, 5);
	lull_hlist_for_each_entry_rcu(pos, &list, link) {
		met[n++] = (char)('0' + pos->value);
		if (pos == &items[1]) {
			lull_hlist_del_rcu(&items[1].link);
			lull_hlist_replace_rcu(&items[2].link, &items[6].link);
			lull_hlist_add_tail_rcu(&items[7].link, &list);
			lull_hlist_add_head_rcu(&items[5].link, &list);
		}
	}
	met[n] = '\0';
	/* 1 was deleted with 2 behind it, so 2 is met, not 6; 5 came too late. */
	assert_string_equal(met, "012347");
	check(&list, "506347");
}
