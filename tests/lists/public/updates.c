/* SPDX-License-Identifier: MIT */
/* runs: c++ */
/*
 * updates.c - every function and macro of list.h, hlist.h and hlist_nulls.h, on one thread: random updates of two lists
 * and of two strings, which after each say what every walk has to meet, and where each node that was taken out leads.
 */
#include "random.h"

#include <lull/hlist.h>
#include <lull/list.h>

#define ITEMS 9

/* No node is the first member, so that a forgotten offset shows. */
struct item {
	int value;
	struct lull_list_head link;
	struct lull_hlist_node hlink;
	struct lull_hlist_nulls_node nlink;
};

static struct item items[ITEMS];
static uint64_t seed;

/* ---- the model: both lists as digits; what a node that is on neither holds ------------------------------------------ */

static char model[2][ITEMS + 1];
static struct {
	bool known;
	const void *next, *prev;
} left[ITEMS];

static unsigned rnd(unsigned sides)
{
	return dice(&seed, sides);
}

static int length(int which)
{
	return (int)strlen(model[which]);
}

static struct item *at(int which, int place)
{
	assert_in_range(place, 0, length(which) - 1);
	return &items[model[which][place] - '0'];
}

/* One that is on no list; NULL if all are. */
static struct item *unused(void)
{
	for (int i = 0, first = (int)rnd(ITEMS); i < ITEMS; i++) {
		struct item *item = &items[(first + i) % ITEMS];

		if (!strchr(model[0], '0' + item->value) && !strchr(model[1], '0' + item->value))
			return item;
	}
	return NULL;
}

static void insert(int which, int place, const struct item *item)
{
	memmove(&model[which][place + 1], &model[which][place], strlen(&model[which][place]) + 1);
	model[which][place] = (char)('0' + item->value);
	left[item->value].known = false;
}

static int place_of(int which, const struct item *item)
{
	return (int)(strchr(model[which], '0' + item->value) - model[which]);
}

static struct item *take_out(int which, int place)
{
	struct item *item = at(which, place);

	memmove(&model[which][place], &model[which][place + 1], strlen(&model[which][place]));
	return item;
}

static void clear_model(void)
{
	memset(items, 0, sizeof(items));
	memset(left, 0, sizeof(left));
	memset(model, 0, sizeof(model));
	for (int i = 0; i < ITEMS; i++)
		items[i].value = i;
}

/* Where a pointer of a node leads that was taken out, after some of the updates (after the others that is nobody's business). */
enum leads { KEPT, ITSELF, NOWHERE, POISON, UNKNOWN };

static void leaves(const struct item *item, const void *next, const void *prev)
{
	left[item->value].known = true;
	left[item->value].next = next;
	left[item->value].prev = prev;
}

/* The loop meets the items of @expect, and does something to each. */
#define MEETS_AND(expect, pos, loop, something)                                                     \
	do {                                                                                       \
		char met_[ITEMS + 1] = "";                                                         \
		int count_ = 0;                                                                    \
		loop {                                                                             \
			assert_in_range(count_, 0, ITEMS - 1);                                     \
			met_[count_++] = (char)('0' + (pos)->value);                               \
			something;                                                                 \
		}                                                                                  \
		assert_string_equal(met_, expect);                                                 \
	} while (0)
#define MEETS(expect, pos, loop) MEETS_AND(expect, pos, loop, (void)0)

/* @change does something to a list or one of its items, @old, perhaps with a @fresh one; @check looks at a list. */
static void update_at_random(void (*init)(void), void (*change)(int which, int place, struct item *fresh, struct item *old),
			     void (*check)(int which))
{
	seed = test_seed();
	for (int round = 0; round < 100; round++) {
		clear_model();
		init();
		for (int n = 0; n < 100; n++) {
			int which = (int)rnd(2), place = (int)rnd((unsigned)length(which) + 1) - 1;

			change(which, place, unused(), place < 0 ? NULL : at(which, place));
			check(0);
			check(1);
		}
	}
}

/* ---- lists --------------------------------------------------------------------------------------------------------- */

static struct lull_list_head list[2];

static void init_lists(void)
{
	memset((void *)list, 0x5a, sizeof(list));
	lull_list_init(&list[0]);
	lull_list_init(&list[1]);
}

static void check_list(int which)
{
	const struct lull_list_head *head = &list[which], *node = head;
	const char *all = model[which];
	char reversed[ITEMS + 1] = "";
	struct item *pos, *next;
	const struct item *read;
	int size = length(which), n = 0;

	for (int i = 0; i < size; node = node->next, i++) {
		reversed[size - 1 - i] = all[i];
		assert_ptr_equal(node->next, &at(which, i)->link);
		assert_ptr_equal(node->next->prev, node);
	}
	assert_ptr_equal(node->next, head);
	assert_ptr_equal(head->prev, node);
	assert_int_equal(lull_list_empty(head), !size);

	MEETS(all, pos, lull_list_for_each_entry(pos, &list[which], link));
	MEETS(reversed, pos, lull_list_for_each_entry_reverse(pos, &list[which], link));
	MEETS(all, pos, lull_list_for_each_entry_safe(pos, next, &list[which], link));
	MEETS(all, read, lull_list_for_each_entry_rcu(read, head, link));
	assert_true(lull_list_entry_is_head(read, head, link));
	MEETS(reversed, read, lull_list_for_each_entry_reverse_rcu(read, head, link));
	lull_list_for_each_rcu(node, head)
		assert_ptr_equal(lull_list_entry(node, const struct item, link), at(which, n++));
	assert_int_equal(n, size);
	assert_ptr_equal(lull_list_first_or_null_rcu(head, struct item, link), size ? at(which, 0) : NULL);
	if (size) {
		assert_ptr_equal(lull_list_first_entry(head, struct item, link), at(which, 0));
		assert_ptr_equal(lull_list_last_entry(head, struct item, link), at(which, size - 1));
	}
	for (int i = 0; i < size; i++) {
		struct item *here = at(which, i), *behind = i + 1 < size ? at(which, i + 1) : NULL;
		struct item *before = i ? at(which, i - 1) : NULL;

		assert_false(lull_list_entry_is_head(here, head, link));
		assert_ptr_equal(lull_list_next_or_null_rcu(head, &here->link, struct item, link), behind);
		assert_ptr_equal(lull_list_next_rcu(&here->link), behind ? &behind->link : head);
		assert_ptr_equal(lull_list_prev_rcu(&here->link), before ? &before->link : head);
		assert_ptr_equal(&lull_list_next_entry(here, link)->link, behind ? &behind->link : head);
		assert_ptr_equal(&lull_list_prev_entry(here, link)->link, before ? &before->link : head);
		assert_ptr_equal(&lull_list_next_entry_rcu(here, link)->link, behind ? &behind->link : head);
		assert_ptr_equal(&lull_list_prev_entry_rcu(here, link)->link, before ? &before->link : head);
		read = here;
		MEETS(all + i, read, lull_list_for_each_entry_from_rcu(read, head, link));
		read = here;
		MEETS(all + i + 1, read, lull_list_for_each_entry_continue_rcu(read, head, link));
	}
	for (int i = 0; i < ITEMS; i++)
		if (left[i].known) {
			assert_ptr_equal(lull_list_next_rcu(&items[i].link), left[i].next);
			assert_ptr_equal(lull_list_prev_rcu(&items[i].link), left[i].prev);
		}
}

typedef void list_update(struct lull_list_head *, struct lull_list_head *);

static const struct {
	list_update *add;
	bool behind;
} list_additions[] = {
	{ lull_list_add, true }, { lull_list_add_rcu, true }, { lull_list_add_tail, false }, { lull_list_add_tail_rcu, false },
};

/* A deleted node leads its readers back to the list, also when its neighbours go as well. */
static const struct {
	void (*del)(struct lull_list_head *);
	enum leads next, prev;
} list_deletions[] = {
	{ lull_list_del, POISON, POISON },
	{ lull_list_del_init, ITSELF, ITSELF },
	{ lull_list_del_rcu, KEPT, POISON },
	{ lull_list_bidir_del_rcu, KEPT, KEPT },
};

static const struct {
	list_update *replace;
	enum leads next, prev;
} list_replacements[] = {
	{ lull_list_replace, UNKNOWN, UNKNOWN },
	{ lull_list_replace_rcu, KEPT, POISON },
	{ lull_list_bidir_replace_rcu, KEPT, KEPT },
};

static void move_in_list(int which, int place)
{
	struct item *item = take_out(which, place);
	int there = (int)rnd(2), behind = (int)rnd((unsigned)length(there) + 1) - 1;

	lull_list_move(&item->link, behind < 0 ? &list[there] : &at(there, behind)->link);
	insert(there, behind + 1, item);
}

static int splicing, synced;

/* While the splice waits, the list is empty for who comes, and whole for who is on it. */
static void sync_between(void)
{
	const struct lull_list_head *node = &at(splicing, 0)->link;

	synced++;
	check_list(!splicing);
	assert_true(lull_list_empty(&list[splicing]));
	assert_null(lull_list_first_or_null_rcu(&list[splicing], struct item, link));
	assert_ptr_equal(lull_list_prev_rcu(node), &list[splicing]);
	for (int i = 0; model[splicing][i]; i++, node = lull_list_next_rcu(node))
		assert_ptr_equal(node, &at(splicing, i)->link);
	assert_ptr_equal(node, &list[splicing]);
}

/* All of the other list, behind that place of this one or at its end. */
static void splice_lists(int which, int place)
{
	struct lull_list_head *from = &list[!which], *where = place < 0 ? &list[which] : &at(which, place)->link;
	unsigned how = rnd(4);

	splicing = !which;
	synced = 0;
	if (how == 0)
		lull_list_splice(from, where);
	else if (how == 1)
		lull_list_splice_init_rcu(from, where, sync_between);
	else if (how == 2)
		lull_list_splice_tail(from, &list[which]);
	else
		lull_list_splice_tail_init_rcu(from, &list[which], sync_between);
	assert_int_equal(synced, how % 2 && model[!which][0]);
	for (int to = how < 2 ? place + 1 : length(which); model[!which][0]; to++)
		insert(which, to, take_out(!which, 0));
}

static void delete_some(int which)
{
	struct item *pos, *next;
	char all[ITEMS + 1];

	strcpy(all, model[which]);
	MEETS_AND(all, pos, lull_list_for_each_entry_safe(pos, next, &list[which], link),
		  if (rnd(2)) {
			  lull_list_del(&pos->link);
			  leaves(take_out(which, place_of(which, pos)), LULL_LIST_POISON, LULL_LIST_POISON);
		  });
}

static void change_list(int which, int place, struct item *fresh, struct item *old)
{
	struct lull_list_head *where = old ? &old->link : &list[which];
	const void *nexts[] = { where->next, where, NULL, LULL_LIST_POISON };
	const void *prevs[] = { where->prev, where, NULL, LULL_LIST_POISON };
	unsigned what = rnd(16), how;

	if (what < 8 && fresh) {
		how = what % 4;
		list_additions[how].add(&fresh->link, where);
		insert(which, list_additions[how].behind ? place + 1 : old ? place : length(which), fresh);
	} else if (what == 8) {
		delete_some(which);
	} else if (what == 9) {
		splice_lists(which, place);
	} else if (what == 10 && old) {
		move_in_list(which, place);
	} else if (what < 14 && old) {
		how = rnd(4);
		do
			list_deletions[how].del(&old->link);
		while (list_deletions[how].next == ITSELF && rnd(2));
		take_out(which, place);
		leaves(old, nexts[list_deletions[how].next], prevs[list_deletions[how].prev]);
		assert_int_equal(lull_list_empty(&old->link), list_deletions[how].next == ITSELF);
	} else if (old && fresh) {
		how = rnd(3);
		list_replacements[how].replace(&old->link, &fresh->link);
		insert(which, place, fresh);
		take_out(which, place + 1);
		if (list_replacements[how].next != UNKNOWN)
			leaves(old, nexts[list_replacements[how].next], prevs[list_replacements[how].prev]);
	}
}

TEST(list)
{
	static struct lull_list_head fixed = LULL_LIST_HEAD_INIT(fixed);
	static LULL_LIST_HEAD(defined);

	assert_ptr_equal(fixed.next, &fixed);
	assert_ptr_equal(fixed.prev, &fixed);
	assert_true(lull_list_empty(&fixed));
	assert_ptr_equal(defined.next, &defined);
	assert_ptr_equal(defined.prev, &defined);
	update_at_random(init_lists, change_list, check_list);
}

/* ---- hlists -------------------------------------------------------------------------------------------------------- */

static struct lull_hlist_head hlist[2];

static void init_hlists(void)
{
	lull_hlist_init(&hlist[0]);
	lull_hlist_init(&hlist[1]);
	for (int i = 0; i < ITEMS; i++) {
		memset((void *)&items[i].hlink, 0x5a, sizeof(items[i].hlink));
		lull_hlist_node_init(&items[i].hlink);
		leaves(&items[i], NULL, NULL);
	}
}

static void check_hlist(int which)
{
	const struct lull_hlist_head *head = &hlist[which];
	struct lull_hlist_node **link = &hlist[which].first, *next;
	const char *all = model[which];
	const struct item *read;
	struct item *pos;
	int size = length(which);

	for (int i = 0; i < size; i++, link = &(*link)->next) {
		assert_ptr_equal(*link, &at(which, i)->hlink);
		assert_ptr_equal((*link)->pprev, link);
	}
	assert_null(*link);
	assert_int_equal(lull_hlist_empty(head), !size);
	assert_ptr_equal(lull_hlist_first_rcu(head), size ? &at(which, 0)->hlink : NULL);
	assert_ptr_equal(lull_hlist_entry_or_null(head->first, struct item, hlink), size ? at(which, 0) : NULL);

	MEETS(all, read, lull_hlist_for_each_entry(read, &hlist[which], hlink));
	assert_null(read);
	MEETS(all, pos, lull_hlist_for_each_entry_safe(pos, next, &hlist[which], hlink));
	assert_null(pos);
	MEETS(all, read, lull_hlist_for_each_entry_rcu(read, head, hlink));
	assert_null(read);
	for (int i = 0; i < size; i++) {
		struct item *here = at(which, i), *behind = i + 1 < size ? at(which, i + 1) : NULL;

		assert_ptr_equal(lull_hlist_entry(&here->hlink, struct item, hlink), here);
		assert_false(lull_hlist_unhashed(&here->hlink));
		assert_ptr_equal(lull_hlist_next_rcu(&here->hlink), behind ? &behind->hlink : NULL);
		assert_ptr_equal(lull_hlist_next_entry_rcu(here, hlink), behind);
		read = here;
		MEETS(all + i, read, lull_hlist_for_each_entry_from_rcu(read, hlink));
		read = here;
		MEETS(all + i + 1, read, lull_hlist_for_each_entry_continue_rcu(read, hlink));
	}
	read = NULL;
	MEETS("", read, lull_hlist_for_each_entry_from_rcu(read, hlink));
	for (int i = 0; i < ITEMS; i++)
		if (left[i].known) {
			assert_ptr_equal(lull_hlist_next_rcu(&items[i].hlink), left[i].next);
			assert_ptr_equal(items[i].hlink.pprev, left[i].prev);
			assert_int_equal(lull_hlist_unhashed(&items[i].hlink), !left[i].prev);
		}
}

typedef void hlist_update(struct lull_hlist_node *, struct lull_hlist_node *);

static const struct {
	void (*at_head)(struct lull_hlist_node *, struct lull_hlist_head *);
	hlist_update *at_node;
	bool behind;
} hlist_additions[] = {
	{ lull_hlist_add_head, lull_hlist_add_behind, true },
	{ lull_hlist_add_head_rcu, lull_hlist_add_behind_rcu, true },
	{ lull_hlist_add_tail, lull_hlist_add_before, false },
	{ lull_hlist_add_tail_rcu, lull_hlist_add_before_rcu, false },
};

static const struct {
	void (*del)(struct lull_hlist_node *);
	enum leads next, pprev;
} hlist_deletions[] = {
	{ lull_hlist_del, POISON, POISON },
	{ lull_hlist_del_init, NOWHERE, NOWHERE },
	{ lull_hlist_del_rcu, KEPT, POISON },
	{ lull_hlist_del_init_rcu, KEPT, NOWHERE },
};

static void hdelete_some(int which)
{
	struct lull_hlist_node *next;
	char all[ITEMS + 1];
	struct item *pos;

	strcpy(all, model[which]);
	MEETS_AND(all, pos, lull_hlist_for_each_entry_safe(pos, next, &hlist[which], hlink),
		  if (rnd(2)) {
			  lull_hlist_del(&pos->hlink);
			  leaves(take_out(which, place_of(which, pos)), LULL_HLIST_POISON_NEXT, LULL_HLIST_POISON_PPREV);
		  });
}

static void change_hlist(int which, int place, struct item *fresh, struct item *old)
{
	const void *kept = old ? old->hlink.next : NULL;
	unsigned what = rnd(16), how;
	char first[ITEMS + 1];

	if (what < 8 && fresh) {
		how = what % 4;
		if (old)
			hlist_additions[how].at_node(&fresh->hlink, &old->hlink);
		else
			hlist_additions[how].at_head(&fresh->hlink, &hlist[which]);
		insert(which, hlist_additions[how].behind ? place + 1 : old ? place : length(which), fresh);
	} else if (what == 8) {
		hdelete_some(which);
	} else if (what == 9) {
		lull_hlist_swap_heads_rcu(&hlist[0], &hlist[1]);
		strcpy(first, model[0]);
		strcpy(model[0], model[1]);
		strcpy(model[1], first);
	} else if (what < 14 && old) {
		how = rnd(4);
		do
			hlist_deletions[how].del(&old->hlink);
		while (hlist_deletions[how].pprev == NOWHERE && rnd(2));
		leaves(take_out(which, place),
		       hlist_deletions[how].next == KEPT    ? kept :
		       hlist_deletions[how].next == NOWHERE ? NULL :
							      LULL_HLIST_POISON_NEXT,
		       hlist_deletions[how].pprev == NOWHERE ? NULL : LULL_HLIST_POISON_PPREV);
	} else if (old && fresh) {
		if (what % 2)
			lull_hlist_replace(&old->hlink, &fresh->hlink);
		else
			lull_hlist_replace_rcu(&old->hlink, &fresh->hlink);
		insert(which, place, fresh);
		take_out(which, place + 1);
		if (what % 2 == 0)
			leaves(old, kept, LULL_HLIST_POISON_PPREV);
	}
}

TEST(hlist)
{
	struct lull_hlist_head none = LULL_HLIST_HEAD_INIT;

	assert_null(none.first);
	update_at_random(init_hlists, change_hlist, check_hlist);
}

/* ---- nulls lists --------------------------------------------------------------------------------------------------- */

static struct lull_hlist_nulls_head nulls[2];
static uintptr_t end_of[2];

static void init_nulls(void)
{
	static const uintptr_t ends[] = { 0, 1, 2, UINTPTR_MAX >> 1 };

	for (int i = 0; i < 2; i++) {
		end_of[i] = ends[rnd(4)];
		lull_hlist_nulls_init(&nulls[i], end_of[i]);
	}
	for (int i = 0; i < ITEMS; i++)
		assert_true(lull_hlist_nulls_unhashed(&items[i].nlink));
}

static void check_nulls(int which)
{
	const struct lull_hlist_nulls_head *head = &nulls[which];
	struct lull_hlist_nulls_node *const *link = &head->first;
	const struct lull_hlist_nulls_node *node;
	const struct item *pos;

	for (int i = 0; i < length(which); i++, link = &(*link)->next) {
		assert_false(lull_is_a_nulls(*link));
		assert_ptr_equal(lull_hlist_nulls_entry(*link, struct item, nlink), at(which, i));
		assert_ptr_equal((*link)->pprev, link);
		assert_false(lull_hlist_nulls_unhashed(*link));
		assert_ptr_equal(lull_hlist_nulls_next_rcu(*link), (*link)->next);
	}
	assert_true(lull_is_a_nulls(*link));
	assert_int_equal(lull_get_nulls_value(*link), end_of[which]);
	assert_int_equal(lull_hlist_nulls_empty(head), !model[which][0]);
	assert_ptr_equal(lull_hlist_nulls_first_rcu(head), head->first);
	MEETS(model[which], pos, lull_hlist_nulls_for_each_entry_rcu(pos, node, head, nlink));
	assert_int_equal(lull_get_nulls_value(node), end_of[which]);
	for (int i = 0; i < ITEMS; i++)
		if (left[i].known) {
			assert_ptr_equal(items[i].nlink.next, left[i].next);
			assert_ptr_equal(items[i].nlink.pprev, left[i].prev);
			assert_int_equal(lull_hlist_nulls_unhashed(&items[i].nlink), !left[i].prev);
		}
}

static void change_nulls(int which, int place, struct item *fresh, struct item *old)
{
	const void *next = old ? old->nlink.next : NULL;
	unsigned what = rnd(8);

	if (what < 4 && fresh) {
		lull_hlist_nulls_add_head_rcu(&fresh->nlink, &nulls[which]);
		insert(which, 0, fresh);
	} else if (what == 4 && old && fresh) {
		lull_hlist_nulls_replace_rcu(&old->nlink, &fresh->nlink);
		insert(which, place, fresh);
		leaves(take_out(which, place + 1), next, LULL_HLIST_NULLS_POISON);
	} else if (what == 5 && old) {
		lull_hlist_nulls_del_rcu(&old->nlink);
		leaves(take_out(which, place), next, LULL_HLIST_NULLS_POISON);
	} else if (what > 5 && old) {
		lull_hlist_nulls_del_init_rcu(&old->nlink);
		lull_hlist_nulls_del_init_rcu(&old->nlink);
		leaves(take_out(which, place), next, NULL);
	}
}

TEST(nulls)
{
	update_at_random(init_nulls, change_nulls, check_nulls);
}

/*
 * A lookup by the protocol of hlist_nulls.h, with @move taken to @target once while the reader stands on it. There are
 * no counts because nothing is freed here.
 */
static struct item *find(unsigned bucket, int value, struct item *move, unsigned target, int *restarts)
{
	struct lull_hlist_nulls_node *node;
	struct item *pos;
	int steps = 0;

	*restarts = -1;
restart:
	assert_in_range(++*restarts, 0, 3);
	lull_hlist_nulls_for_each_entry_rcu(pos, node, &nulls[bucket], nlink) {
		assert_in_range(++steps, 1, 3 * ITEMS);
		if (lull_load_relaxed(&pos->value) == value)
			return pos;
		if (pos == move) {
			move = NULL;
			lull_hlist_nulls_del_rcu(&pos->nlink);
			lull_hlist_nulls_add_head_rcu(&pos->nlink, &nulls[target]);
		}
	}
	if (lull_get_nulls_value(node) != bucket)
		goto restart;
	return NULL;
}

static void expect_nulls(const char *first, const char *second)
{
	strcpy(model[0], first);
	strcpy(model[1], second);
	check_nulls(0);
	check_nulls(1);
}

TEST(restart)
{
	int restarts;

	clear_model();
	for (unsigned i = 0; i < 2; i++) {
		end_of[i] = i;
		lull_hlist_nulls_init(&nulls[i], i);
	}
	for (int i = 5; i >= 0; i--)
		lull_hlist_nulls_add_head_rcu(&items[i].nlink, &nulls[i / 3]);
	expect_nulls("012", "345");
	assert_ptr_equal(find(0, 2, NULL, 0, &restarts), &items[2]);
	assert_int_equal(restarts, 0);
	assert_null(find(0, 5, NULL, 0, &restarts));
	assert_int_equal(restarts, 0);

	/* Carried off to the other bucket, the reader comes to the wrong end, begins again and finds. */
	assert_ptr_equal(find(0, 2, &items[0], 1, &restarts), &items[2]);
	assert_int_equal(restarts, 1);
	expect_nulls("12", "0345");

	/* The last of a bucket, and nothing to be found. */
	assert_null(find(1, 7, &items[5], 0, &restarts));
	assert_int_equal(restarts, 1);
	expect_nulls("512", "034");

	/* Back to the head of its list: the reader meets some twice and misses none. */
	assert_ptr_equal(find(0, 2, &items[1], 0, &restarts), &items[2]);
	assert_int_equal(restarts, 0);
	expect_nulls("152", "034");
}

/* ---- what a reader goes through when the list changes under it, and macros ------------------------------------------ */

SETUP
{
	clear_model();
	init_lists();
	init_hlists();
	for (int i = 4; i >= 0; i--) {
		lull_list_add(&items[i].link, &list[0]);
		lull_hlist_add_head(&items[i].hlink, &hlist[0]);
		insert(0, 0, &items[i]);
	}
	check_list(0);
	check_hlist(0);
}

/* 1 is deleted with 2 behind it, so 2 is met, not 6; 5 comes too late. */
TEST(walk_while_changed)
{
	struct item *pos;

	MEETS_AND("012347", pos, lull_list_for_each_entry_rcu(pos, &list[0], link),
		  if (pos == &items[1]) {
			  lull_list_del_rcu(&items[1].link);
			  lull_list_replace_rcu(&items[2].link, &items[6].link);
			  lull_list_add_tail_rcu(&items[7].link, &list[0]);
			  lull_list_add_rcu(&items[5].link, &list[0]);
		  });
	MEETS_AND("012347", pos, lull_hlist_for_each_entry_rcu(pos, &hlist[0], hlink),
		  if (pos == &items[1]) {
			  lull_hlist_del_rcu(&items[1].hlink);
			  lull_hlist_replace_rcu(&items[2].hlink, &items[6].hlink);
			  lull_hlist_add_tail_rcu(&items[7].hlink, &hlist[0]);
			  lull_hlist_add_head_rcu(&items[5].hlink, &hlist[0]);
		  });
	MEETS("506347", pos, lull_list_for_each_entry_rcu(pos, &list[0], link));
	MEETS("506347", pos, lull_hlist_for_each_entry_rcu(pos, &hlist[0], hlink));
}

static int looks;

static struct lull_list_head *looked_at(void)
{
	looks++;
	return &list[0];
}

/* The head may be any expression, and is evaluated at every step; the loops nest, and an else after one binds to the user's if. */
TEST(macro_hygiene)
{
	struct lull_list_head *heads[2] = { &list[0], &list[1] };
	struct item *outer, *inner;
	int i, pairs = 0;

	for (i = 3; i < 5; i++) {
		lull_list_move(&items[i].link, &list[1]);
		insert(1, 0, take_out(0, 3));
		check_list(0);
		check_list(1);
	}
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
