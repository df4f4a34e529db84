/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * list.c - the kernel's lists: each name, with the order of arguments that the kernel has.
 */
#include "test.h"

#include <lull/compat/kernel.h>

/* No link is the first member, so that a forgotten offset shows. */
struct item {
	int key;
	struct list_head list;
	struct hlist_node hash;
	struct hlist_nulls_node nulls;
};

static struct item items[6];
static struct item *a = &items[0], *b = &items[1], *c = &items[2], *d = &items[3], *e = &items[4];

SETUP
{
	memset(items, 0, sizeof(items));
	for (int i = 0; i < 6; i++)
		items[i].key = i;
}

/* The keys of the elements in order, then back: "012" "210". */
static void check_list(struct list_head *head, const char *want)
{
	char forth[8] = "", back[8] = "", turned[8] = "", rcu[8] = "";
	struct list_head *at;
	struct item *p;
	size_t n = 0;

	list_for_each_entry(p, head, list)
		forth[n++] = (char)('0' + p->key);
	n = 0;
	list_for_each_entry_rcu(p, head, list)
		rcu[n++] = (char)('0' + p->key);
	n = 0;
	list_for_each_prev(at, head)
		back[n++] = (char)('0' + list_entry(at, struct item, list)->key);
	for (size_t i = 0; i < n; i++)
		turned[i] = back[n - 1 - i];
	assert_string_equal(forth, want);
	assert_string_equal(rcu, want);
	assert_string_equal(turned, want);
	assert_int_equal(list_empty(head), want[0] == '\0');
	assert_int_equal(list_is_singular(head), strlen(want) == 1);
}

static LIST_HEAD(defined);

TEST(list)
{
	struct list_head heads[2] = { LIST_HEAD_INIT(heads[0]), { NULL, NULL } };
	struct list_head *one = &heads[0], *two = &heads[1];

	INIT_LIST_HEAD(two);
	check_list(&defined, "");
	list_add(&b->list, one);
	list_add(&a->list, one);
	list_add_tail(&c->list, one);
	check_list(one, "012");
	list_del(&b->list);
	check_list(one, "02");
	list_replace(&a->list, &d->list);
	check_list(one, "32");
	list_replace_init(&c->list, &e->list);
	assert_true(list_empty(&c->list));
	check_list(one, "34");
	list_move(&e->list, one);
	check_list(one, "43");
	list_move_tail(&e->list, one);
	check_list(one, "34");
	list_move_tail(&e->list, two);
	check_list(two, "4");
	list_del_init(&e->list);
	assert_true(list_empty(&e->list));
	list_add(&e->list, two);
	list_splice(two, one);
	check_list(one, "43");
	list_add(&a->list, two);
	list_splice_init(two, one);
	check_list(one, "043");
	check_list(two, "");
	list_add(&b->list, two);
	list_splice_tail_init(two, one);
	check_list(one, "0431");
	check_list(two, "");
	list_add(&c->list, two);
	list_splice_tail(two, one);
	check_list(one, "04312");
}

TEST(list_entries)
{
	LIST_HEAD(head);
	struct list_head *at, *n;
	struct item *p, *next;
	int sum = 0;

	assert_null(list_first_entry_or_null(&head, struct item, list));
	for (int i = 0; i < 5; i++)
		list_add_tail(&items[i].list, &head);
	assert_ptr_equal(list_first_entry(&head, struct item, list), a);
	assert_ptr_equal(list_first_entry_or_null((sum++, &head), struct item, list), a);
	assert_int_equal(sum, 1); /* evaluated once */
	sum = 0;
	assert_ptr_equal(list_last_entry(&head, struct item, list), e);
	assert_ptr_equal(list_next_entry(a, list), b);
	assert_ptr_equal(list_prev_entry(b, list), a);
	assert_true(list_is_first(&a->list, &head) && !list_is_first(&b->list, &head));
	assert_true(list_is_last(&e->list, &head) && !list_is_last(&d->list, &head));
	assert_true(list_is_head(&head, &head) && !list_is_head(&a->list, &head));
	list_for_each_entry_reverse(p, &head, list)
		sum = sum * 10 + p->key;
	assert_int_equal(sum, 43210);
	p = b;
	sum = 0;
	list_for_each_entry_continue(p, &head, list)
		sum = sum * 10 + p->key;
	assert_int_equal(sum, 234);
	assert_true(list_entry_is_head(p, &head, list));
	p = b;
	sum = 0;
	list_for_each_entry_from(p, &head, list)
		sum = sum * 10 + p->key;
	assert_int_equal(sum, 1234);
	list_for_each_entry_safe(p, next, &head, list)
		if (p->key % 2)
			list_del(&p->list);
	check_list(&head, "024");
	sum = 0;
	list_for_each(at, &head)
		sum++;
	assert_int_equal(sum, 3);
	list_for_each_safe(at, n, &head)
		list_del(at);
	assert_true(list_empty(&head));
}

static int evaluated; /* what kernels evaluate with lockdep only */

TEST(list_rcu)
{
	LIST_HEAD(head);
	struct list_head *at;
	struct item *p;
	int sum = 0;

	INIT_LIST_HEAD_RCU(&head);
	rcu_read_lock();
	assert_null(list_first_or_null_rcu(&head, struct item, list));
	list_add_rcu(&b->list, &head);
	list_add_rcu(&a->list, &head);
	list_add_tail_rcu(&c->list, &head);
	check_list(&head, "012");
	assert_ptr_equal(list_first_or_null_rcu(&head, struct item, list), a);
	assert_ptr_equal(list_next_or_null_rcu(&head, &a->list, struct item, list), b);
	assert_null(list_next_or_null_rcu(&head, &c->list, struct item, list));
	assert_ptr_equal(rcu_dereference(list_next_rcu(&head)), &a->list);
	assert_ptr_equal(rcu_dereference(list_tail_rcu(&head)), &c->list);
	assert_ptr_equal(rcu_dereference(list_bidir_prev_rcu(&b->list)), &a->list);
	assert_ptr_equal(list_entry_rcu(head.next, struct item, list), a);
	list_for_each_rcu(at, &head)
		sum++;
	assert_int_equal(sum, 3);
	sum = 0;
	list_for_each_entry_rcu(p, &head, list, evaluated++)
		sum += p->key;
	list_for_each_entry_lockless(p, &head, list)
		sum += p->key;
	assert_int_equal(sum, 6);
	assert_int_equal(evaluated, 0);
	p = a;
	list_for_each_entry_continue_rcu(p, &head, list)
		sum = sum * 10 + p->key;
	assert_int_equal(sum, 612);
	p = b;
	list_for_each_entry_from_rcu(p, &head, list)
		sum = sum * 10 + p->key;
	assert_int_equal(sum, 61212);
	list_replace_rcu(&b->list, &d->list);
	check_list(&head, "032");
	assert_ptr_equal(b->list.next, &c->list);
	list_del_rcu(&a->list);
	assert_ptr_equal(a->list.next, &d->list);
	list_bidir_del_rcu(&d->list);
	assert_ptr_equal(d->list.next, &c->list);
	assert_ptr_equal(d->list.prev, &head);
	rcu_read_unlock();
	check_list(&head, "2");
}

static int synced;

static void count_sync(void)
{
	synced++;
	synchronize_rcu();
}

TEST(list_splice_rcu)
{
	LIST_HEAD(from);
	LIST_HEAD(to);

	list_add_tail_rcu(&a->list, &from);
	list_add_tail_rcu(&b->list, &from);
	list_add_tail_rcu(&c->list, &to);
	list_splice_init_rcu(&from, &to, synchronize_rcu);
	check_list(&to, "012");
	check_list(&from, "");
	list_add_tail_rcu(&d->list, &from);
	list_splice_tail_init_rcu(&from, &to, count_sync);
	assert_int_equal(synced, 1);
	check_list(&to, "0123");
}

/* ---- hlist --------------------------------------------------------------------------------------- */

static void check_hlist(struct hlist_head *head, const char *want)
{
	char plain[8] = "", rcu[8] = "";
	struct hlist_node *at;
	struct item *p;
	size_t n = 0;

	hlist_for_each(at, head)
		plain[n++] = (char)('0' + hlist_entry(at, struct item, hash)->key);
	assert_string_equal(plain, want);
	n = 0;
	hlist_for_each_entry(p, head, hash)
		plain[n++] = (char)('0' + p->key);
	assert_string_equal(plain, want);
	n = 0;
	hlist_for_each_entry_rcu(p, head, hash)
		rcu[n++] = (char)('0' + p->key);
	assert_string_equal(rcu, want);
	assert_int_equal(hlist_empty(head), want[0] == '\0');
}

static HLIST_HEAD(hdefined);

TEST(hlist)
{
	struct hlist_head head = HLIST_HEAD_INIT;
	struct hlist_node *at, *n;
	struct item *p;
	int sum = 0;

	check_hlist(&hdefined, "");
	INIT_HLIST_HEAD(&head);
	INIT_HLIST_NODE(&a->hash);
	assert_true(hlist_unhashed(&a->hash) && hlist_unhashed_lockless(&a->hash));
	hlist_add_head(&b->hash, &head);
	hlist_add_before(&a->hash, &b->hash);
	hlist_add_behind(&c->hash, &b->hash);
	check_hlist(&head, "012");
	assert_ptr_equal(hlist_entry_safe(head.first, struct item, hash), a);
	assert_null(hlist_entry_safe(c->hash.next, struct item, hash));
	p = a;
	hlist_for_each_entry_continue(p, hash)
		sum = sum * 10 + p->key;
	assert_int_equal(sum, 12);
	hlist_for_each_entry_safe(p, n, &head, hash)
		if (p == b)
			hlist_del(&p->hash);
	check_hlist(&head, "02");
	hlist_del_init(&a->hash);
	assert_true(hlist_unhashed(&a->hash));
	hlist_for_each_safe(at, n, &head)
		hlist_del(at);
	check_hlist(&head, "");
}

TEST(hlist_rcu)
{
	HLIST_HEAD(head);
	HLIST_HEAD(other);
	struct item *p;
	int sum = 0;

	rcu_read_lock();
	hlist_add_head_rcu(&b->hash, &head);
	hlist_add_before_rcu(&a->hash, &b->hash);
	hlist_add_behind_rcu(&c->hash, &b->hash);
	hlist_add_tail_rcu(&d->hash, &head);
	check_hlist(&head, "0123");
	assert_ptr_equal(rcu_dereference(hlist_first_rcu(&head)), &a->hash);
	assert_ptr_equal(rcu_dereference(hlist_next_rcu(&a->hash)), &b->hash);
	assert_ptr_equal(hlist_pprev_rcu(&b->hash), &b->hash);
	hlist_for_each_entry_rcu(p, &head, hash, evaluated++)
		sum = sum * 10 + p->key;
	assert_int_equal(sum, 123);
	assert_int_equal(evaluated, 0);
	p = b;
	hlist_for_each_entry_continue_rcu(p, hash)
		sum = sum * 10 + p->key;
	assert_int_equal(sum, 12323);
	p = d;
	hlist_for_each_entry_from_rcu(p, hash)
		sum++;
	assert_int_equal(sum, 12324);
	hlist_replace_rcu(&b->hash, &e->hash);
	check_hlist(&head, "0423");
	hlist_del_rcu(&e->hash);
	check_hlist(&head, "023");
	assert_ptr_equal(e->hash.next, &c->hash);
	hlist_del_init_rcu(&c->hash);
	assert_true(hlist_unhashed(&c->hash));
	check_hlist(&head, "03");
	hlists_swap_heads_rcu(&head, &other);
	check_hlist(&head, "");
	check_hlist(&other, "03");
	rcu_read_unlock();
}

/* ---- nulls ----------------------------------------------------------------------------------------- */

static void check_nulls(struct hlist_nulls_head *head, const char *want, unsigned long value)
{
	char plain[8] = "", rcu[8] = "";
	struct hlist_nulls_node *at;
	struct item *p;
	size_t n = 0;

	hlist_nulls_for_each_entry(p, at, head, nulls)
		plain[n++] = (char)('0' + p->key);
	assert_string_equal(plain, want);
	n = 0;
	hlist_nulls_for_each_entry_rcu(p, at, head, nulls)
		rcu[n++] = (char)('0' + p->key);
	assert_string_equal(rcu, want);
	assert_true(is_a_nulls(at));
	assert_int_equal(get_nulls_value(at), value);
	assert_int_equal(hlist_nulls_empty(head), want[0] == '\0');
}

static struct hlist_nulls_head nulls_defined = HLIST_NULLS_HEAD_INIT(9);

TEST(nulls)
{
	struct hlist_nulls_head head;

	check_nulls(&nulls_defined, "", 9);
	INIT_HLIST_NULLS_HEAD(&head, 5);
	assert_int_equal(NULLS_MARKER(5), (uintptr_t)head.first);
	assert_true(hlist_nulls_unhashed(&a->nulls));
	rcu_read_lock();
	hlist_nulls_add_head_rcu(&c->nulls, &head);
	hlist_nulls_add_head(&b->nulls, &head);
	hlist_nulls_add_head_rcu(&a->nulls, &head);
	check_nulls(&head, "012", 5);
	assert_ptr_equal(hlist_nulls_entry(head.first, struct item, nulls), a);
	assert_ptr_equal(rcu_dereference(hlist_nulls_first_rcu(&head)), &a->nulls);
	assert_ptr_equal(rcu_dereference(hlist_nulls_next_rcu(&a->nulls)), &b->nulls);
	hlist_nulls_replace_rcu(&b->nulls, &d->nulls);
	check_nulls(&head, "032", 5);
	hlist_nulls_del_rcu(&d->nulls);
	hlist_nulls_del_init_rcu(&a->nulls);
	assert_true(hlist_nulls_unhashed(&a->nulls));
	check_nulls(&head, "2", 5);
	hlist_nulls_del(&c->nulls);
	check_nulls(&head, "", 5);
	rcu_read_unlock();
}
