/* SPDX-License-Identifier: MIT */
/* structures.c - questions: what pointers and lists do. */
#include "question.h"

#include <urcu/pointer.h>
#include <urcu/rculist.h>
#include <urcu/rcuhlist.h>

/* ---- pointers --------------------------------------------------------------------------------------------- */

static int a = 1, b = 2, *at;

static const char *which(const int *p)
{
	return p == &a ? "a" : p == &b ? "b" : p ? "?" : "null";
}

QUESTION(pointer_that_is_assigned)
{
	answer("%s", which(rcu_dereference(at)));
	rcu_assign_pointer(at, &a);
	answer("%s", which(rcu_dereference(at)));
	rcu_assign_pointer(at, NULL);
	answer("%s", which(rcu_dereference(at)));
}

QUESTION(pointer_that_is_set)
{
	rcu_set_pointer(&at, &b);
	answer("%s", which(rcu_dereference(at)));
}

QUESTION(pointer_that_is_exchanged)
{
	at = &a;
	answer("%s", which(rcu_xchg_pointer(&at, &b)));
	answer("%s", which(rcu_dereference(at)));
	answer("%s", which(rcu_xchg_pointer(&at, NULL)));
	answer("%s", which(rcu_dereference(at)));
}

QUESTION(pointer_that_is_compared)
{
	int *old;

	at = &a;
	old = rcu_cmpxchg_pointer(&at, &b, NULL); /* with 0.15's headers no expression, where readers are inlined */
	answer("%s", which(old));
	answer("%s", which(rcu_dereference(at)));
	old = rcu_cmpxchg_pointer(&at, &a, &b);
	answer("%s", which(old));
	answer("%s", which(rcu_dereference(at)));
}

QUESTION(pointers_by_functions)
{
	at = &a;
	answer("%s", which(rcu_dereference_sym(at)));
	answer("%s", which(rcu_set_pointer_sym((void **)&at, &b)));
	answer("%s", which(rcu_xchg_pointer_sym((void **)&at, &a)));
	answer("%s", which(rcu_cmpxchg_pointer_sym((void **)&at, &a, &b)));
	answer("%s", which(at));
}

/* ---- lists -------------------------------------------------------------------------------------------------- */

struct item {
	struct cds_list_head in;
	struct cds_hlist_node in_hlist;
	int number;
};

static struct item items[6] = { { .number = 0 }, { .number = 1 }, { .number = 2 }, { .number = 3 }, { .number = 4 }, { .number = 5 } };
static CDS_LIST_HEAD(list);
static CDS_LIST_HEAD(other);

static void say_list(struct cds_list_head *head)
{
	struct item *item;
	char text[64] = "";

	cds_list_for_each_entry_rcu(item, head, in)
		sprintf(text + strlen(text), "%d", item->number);
	strcat(text, " ");
	cds_list_for_each_entry_reverse(item, head, in)
		sprintf(text + strlen(text), "%d", item->number);
	answer("%s", text);
}

QUESTION(list_that_grows)
{
	say_list(&list);
	cds_list_add_rcu(&items[1].in, &list);
	cds_list_add_rcu(&items[2].in, &list);
	cds_list_add_tail_rcu(&items[3].in, &list);
	say_list(&list);
	answer("%s", yes_no(cds_list_empty(&list)));
}

static void fill(void)
{
	for (int i = 1; i < 5; i++)
		cds_list_add_tail_rcu(&items[i].in, &list);
}

QUESTION(list_that_loses_its_first_middle_and_last)
{
	fill();
	cds_list_del_rcu(&items[2].in);
	say_list(&list);
	cds_list_del_rcu(&items[1].in);
	cds_list_del_rcu(&items[4].in);
	say_list(&list);
	cds_list_del_rcu(&items[3].in);
	say_list(&list);
	answer("%s", yes_no(cds_list_empty(&list)));
}

QUESTION(list_with_one_in_the_place_of_another)
{
	fill();
	cds_list_replace_rcu(&items[2].in, &items[5].in);
	say_list(&list);
	cds_list_replace_rcu(&items[4].in, &items[0].in);
	say_list(&list);
}

QUESTION(list_that_a_reader_stands_in)
{
	fill();
	cds_list_del_rcu(&items[2].in);
	answer("%d", cds_list_entry(rcu_dereference(items[2].in.next), struct item, in)->number);
}

QUESTION(list_that_moves)
{
	fill();
	cds_list_move(&items[2].in, &other);
	say_list(&list);
	say_list(&other);
	cds_list_splice(&other, &list);
	say_list(&list);
}

QUESTION(list_by_its_places)
{
	struct cds_list_head *place;
	int sum = 0;

	fill();
	cds_list_for_each_rcu(place, &list)
		sum += cds_list_entry(place, struct item, in)->number;
	answer("%d", sum);
	answer("%d", cds_list_first_entry(&list, struct item, in)->number);
}

static CDS_HLIST_HEAD(hlist);

static void say_hlist(void)
{
	struct cds_hlist_node *place;
	struct item *item;
	char text[64] = "";

	cds_hlist_for_each_rcu(place, &hlist)
		sprintf(text + strlen(text), "%d", cds_hlist_entry(place, struct item, in_hlist)->number);
	strcat(text, " ");
	cds_hlist_for_each_entry_rcu_2(item, &hlist, in_hlist)
		sprintf(text + strlen(text), "%d", item->number);
	answer("%s", text);
}

QUESTION(hlist_that_grows_and_shrinks)
{
	say_hlist();
	for (int i = 1; i < 5; i++)
		cds_hlist_add_head_rcu(&items[i].in_hlist, &hlist);
	say_hlist();
	cds_hlist_del_rcu(&items[3].in_hlist);
	say_hlist();
	cds_hlist_del_rcu(&items[4].in_hlist);
	cds_hlist_del_rcu(&items[1].in_hlist);
	say_hlist();
	cds_hlist_del_rcu(&items[2].in_hlist);
	say_hlist();
}
