/* SPDX-License-Identifier: MIT */
/* runs: c++ */
/*
 * updates.c - every function and macro of list.h, hlist.h and hlist_nulls.h, on one thread: random updates of two lists
 * and of two strings, which after each say what every walk has to meet, and where each node that was taken out leads.
 *
 * Some are traced by single steps; the handler is the reader, and walks between any two instructions. An update is one
 * moment to it: each walk meets the list from before, or the list from after. A reader that stands on a node comes to the
 * end from there, whatever has become of the node. And what deletes a node twice crashes.
 */
#include <signal.h>

#include <lull/hlist.h>
#include <lull/list.h>

#include "child.h"
#include "random.h"
#include "steps.h"

/* No update waits or allocates: so many steps would do for neither. A debug build asks whether the list is guarded. */
#ifdef LULL_DEBUG
#define STEPS_MOST 5000
#else
#define STEPS_MOST 300
#endif

#if CAN_STEP && defined(__GLIBC__)
#define OWN_MALLOC 1
static int mallocs;

LULL_BEGIN_DECLS
void *__libc_malloc(size_t size);

void *malloc(size_t size)
{
	lull_add_relaxed(&mallocs, 1);
	return __libc_malloc(size);
}
LULL_END_DECLS
#endif

#define ITEMS 9

/* No node is the first member, so that a forgotten offset shows. */
struct item {
	int value;
	struct lull_list_head link;
	struct lull_hlist_node hlink;
	struct lull_hlist_nulls_node nlink;
};

static struct item items[ITEMS];
static struct lull_list_head list[2];
static struct lull_hlist_head hlist[2];
static struct lull_hlist_nulls_head nulls[2];
static uintptr_t end_of[2];
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

/* Where a pointer of a node leads that was taken out, after some of the updates (the others do not matter). */
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

/* ---- an update, step by step --------------------------------------------------------------------------------------- */

static bool waited; /* for readers, in a splice */

#if CAN_STEP

/* The items that a walk has met, as digits; "!" when it has no end. */
struct met {
	char text[2 * ITEMS + 2];
	int count;
};

static bool meet(struct met *met, const struct item *pos)
{
	bool endless = met->count >= 2 * ITEMS;

	met->text[met->count++] = endless ? '!' : (char)('0' + pos->value);
	met->text[met->count] = '\0';
	return !endless;
}

#define WALK(name, parameters, loop)                                                                \
	static struct met name parameters                                                          \
	{                                                                                          \
		struct met met = { "", 0 };                                                        \
                                                                                                   \
		loop                                                                               \
			if (!meet(&met, pos))                                                      \
				break;                                                             \
		return met;                                                                        \
	}

/* From what is the first to them, or from behind @pos. */
WALK(forwards, (const struct lull_list_head *head), const struct item *pos; lull_list_for_each_entry_rcu(pos, head, link))
WALK(backwards, (const struct lull_list_head *head), const struct item *pos; lull_list_for_each_entry_reverse_rcu(pos, head, link))
WALK(behind, (const struct lull_list_head *head, const struct item *pos), lull_list_for_each_entry_continue_rcu(pos, head, link))
WALK(hforwards, (const struct lull_hlist_head *head), const struct item *pos; lull_hlist_for_each_entry_rcu(pos, head, hlink))
WALK(hbehind, (const struct item *pos), lull_hlist_for_each_entry_continue_rcu(pos, hlink))

/* With the number of the end that it came to. */
static struct met nforwards(const struct lull_hlist_nulls_head *head, uintptr_t *end)
{
	const struct lull_hlist_nulls_node *node;
	struct met met = { "", 0 };
	const struct item *pos;

	lull_hlist_nulls_for_each_entry_rcu(pos, node, head, nlink)
		if (!meet(&met, pos))
			break;
	*end = lull_get_nulls_value(node);
	return met;
}

static struct met nbehind(const struct item *at, uintptr_t *end)
{
	const struct lull_hlist_nulls_node *node = lull_hlist_nulls_next_rcu(&at->nlink);
	struct met met = { "", 0 };

	for (; !lull_is_a_nulls(node); node = lull_hlist_nulls_next_rcu(node))
		if (!meet(&met, lull_hlist_nulls_entry(node, struct item, nlink)))
			break;
	*end = lull_get_nulls_value(node);
	return met;
}

static struct {
	bool on;
	void (*look)(void);	   /* the reader */
	char before[2][ITEMS + 1]; /* the model is what comes after */
	bool both_ways, splices;
	int mallocs;
	char wrong[256];
} step;

static int steps, swapped;

static void complain(const char *what, const char *met)
{
	if (!step.wrong[0])
		snprintf(step.wrong, sizeof(step.wrong), "%s + %s -> %s + %s: after %d steps %s \"%s\"", step.before[0],
			 step.before[1], model[0], model[1], steps, what, met);
}

static bool either(struct met met, const char *before, const char *after)
{
	return strcmp(met.text, before) == 0 || strcmp(met.text, after) == 0;
}

/* The items behind item @value in @all; NULL if that item is not there. */
static const char *tail(const char *all, int value)
{
	const char *at = strchr(all, '0' + value);

	return at ? at + 1 : NULL;
}

/* Check what a reader meets who stands on item *@at of list @which. */
static void check_tail(int which, const char *at, struct met met)
{
	const char *then = tail(model[which], *at - '0');

	if (!either(met, at + 1, then ? then : at + 1))
		complain("a reader on a node goes on to", met.text);
}

static void reverse(char *text, const char *of)
{
	size_t size = strlen(of);

	for (size_t i = 0; i < size; i++)
		text[i] = of[size - 1 - i];
	text[size] = '\0';
}

/* Forwards first. */
static void look_back(int which)
{
	char before[ITEMS + 1], after[ITEMS + 1];
	struct met met = backwards(&list[which]);

	reverse(before, step.before[which]);
	reverse(after, model[which]);
	if (!either(met, before, after))
		complain("a walk back meets", met.text);
	if (strcmp(before, after) && !strcmp(met.text, after) && !strcmp(forwards(&list[which]).text, step.before[which]))
		complain("a walk back is ahead and meets", met.text);
}

static void look_at_lists(void)
{
	for (int which = 0; which < 2; which++) {
		struct met met = forwards(&list[which]), other = forwards(&list[!which]);
		/* Readers of the list that is spliced come to their own head as long as they are waited for. */
		bool goes = step.splices && !model[which][0];

		if (!either(met, step.before[which], model[which]))
			complain("a walk meets", met.text);
		if (lull_list_empty(&list[which]) != !met.text[0])
			complain("it is empty or not, and a walk meets", met.text);
		if (goes && met.text[0] && waited)
			complain("who comes while readers are waited for meets", met.text);
		if (goes && met.text[0] && strcmp(other.text, step.before[!which]))
			complain("nodes are on two lists, also", met.text);
		for (const char *at = step.before[which]; *at && !(goes && waited); at++)
			check_tail(which, at, behind(&list[which], &items[*at - '0']));
		if (step.both_ways)
			look_back(which);
	}
}

static void look_at_hlists(void)
{
	bool first = !strcmp(hforwards(&hlist[0]).text, step.before[0]), second = !strcmp(hforwards(&hlist[1]).text, step.before[1]);

	for (int which = 0; which < 2; which++) {
		struct met met = hforwards(&hlist[which]);

		if (!either(met, step.before[which], model[which]))
			complain("a walk meets", met.text);
		if (lull_hlist_empty(&hlist[which]) != !met.text[0])
			complain("it is empty or not, and a walk meets", met.text);
		for (const char *at = step.before[which]; *at; at++) {
			check_tail(which, at, hbehind(&items[*at - '0']));
			/* A hint, which is right before and after the update. */
			if ((strchr(model[0], *at) || strchr(model[1], *at)) && lull_hlist_unhashed(&items[*at - '0'].hlink))
				complain("a node is on no list, and a walk meets", met.text);
		}
	}
	/* Before both lists are exchanged both heads lead to one: the second one's. */
	if (step.splices && strcmp(step.before[0], step.before[1])) {
		swapped += !first && second;
		if (first && !second)
			complain("both heads lead to", step.before[0]);
	}
}

static void look_at_nulls(void)
{
	uintptr_t end;

	for (int which = 0; which < 2; which++) {
		struct met met = nforwards(&nulls[which], &end);

		if (!either(met, step.before[which], model[which]) || end != end_of[which])
			complain("a walk meets", met.text);
		if (lull_hlist_nulls_empty(&nulls[which]) != !met.text[0])
			complain("it is empty or not, and a walk meets", met.text);
		for (const char *at = step.before[which]; *at; at++) {
			const char *there = tail(model[!which], *at - '0');

			if (strchr(model[which], *at) && lull_hlist_nulls_unhashed(&items[*at - '0'].nlink))
				complain("a node is on no list and", at);
			met = nbehind(&items[*at - '0'], &end);
			/* A reader on a node that is moved comes to one of the two ends, and learns from the number which. */
			if (end == end_of[which])
				check_tail(which, at, met);
			else if (!there || strcmp(met.text, there) != 0)
				complain("a reader on a node goes astray to", met.text);
		}
	}
}

static void trapped(int unused)
{
	(void)unused;
	steps++;
	step.look();
}

static void handle_traps(void (*handler)(int))
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
}

static void begin_steps(void)
{
	steps = 0;
	waited = false;
	step.wrong[0] = '\0';
	step.look();
#ifdef OWN_MALLOC
	step.mallocs = mallocs;
#endif
	set_trap_flag(true);
}

static void end_steps(void)
{
	set_trap_flag(false);
#ifdef OWN_MALLOC
	assert_int_equal(mallocs, step.mallocs);
#endif
	if (step.wrong[0])
		print_error("%s\n", step.wrong);
	assert_string_equal(step.wrong, "");
	assert_in_range(steps, 6, STEPS_MOST);
}

#define IS_STEPPED() step.on
#define LOOK(func)   func
/* Note what is there before an update. */
#define BEFORE_STEPS() memcpy(step.before, model, sizeof(model))
/* The model is there already; @two: more than one list takes part. */
#define STEPS(if_so, back, two, call)                                                               \
	do {                                                                                       \
		bool stepped_ = step.on && (if_so);                                                \
		step.both_ways = back;                                                             \
		step.splices = two;                                                                \
		if (stepped_)                                                                      \
			begin_steps();                                                             \
		call;                                                                              \
		if (stepped_)                                                                      \
			end_steps();                                                               \
	} while (0)

static void turn_stepping(bool on, void (*look)(void))
{
	step.on = on && !under_valgrind();
	step.look = look;
	handle_traps(trapped);
}
#else
#define IS_STEPPED()			false
#define LOOK(func)			NULL
#define BEFORE_STEPS()			((void)0)
#define STEPS(if_so, back, two, call)	(call)
#define turn_stepping(on, look)		((void)0)
#endif

/* @change does something to a list or one of its items, @old, perhaps with a @fresh one; @check looks at a list. */
static void update_at_random(void (*init)(void), void (*change)(int which, int place, struct item *fresh, struct item *old),
			     void (*check)(int which), void (*look)(void))
{
	(void)look;
	seed = test_seed();
	for (int round = 0; round < 100; round++) {
		clear_model();
		init();
		turn_stepping(round % 20 == 0, look);
		for (int n = 0; n < (IS_STEPPED() ? 60 : 100); n++) {
			int which = (int)rnd(2), place = (int)rnd((unsigned)length(which) + 1) - 1;

			BEFORE_STEPS();
			change(which, place, unused(), place < 0 ? NULL : at(which, place));
			check(0);
			check(1);
		}
	}
}

/* ---- lists --------------------------------------------------------------------------------------------------------- */

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
}; /* each second one beside readers */

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

/* While the splice waits, the list is empty for newcomers, and whole for readers on it. */
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

static void splice_model(int which, int to)
{
	for (; model[!which][0]; to++)
		insert(which, to, take_out(!which, 0));
}

static void note_wait(void)
{
	waited = true;
}

/* All of the other list, behind that place of this one or at its end. */
static void splice_lists(int which, int place, struct lull_list_head *where)
{
	void (*sync)(void) = IS_STEPPED() ? note_wait : sync_between;
	struct lull_list_head *from = &list[!which];
	bool some = model[!which][0];
	unsigned how = rnd(4);
	int to = how < 2 ? place + 1 : length(which);

	splicing = !which;
	synced = 0;
	if (IS_STEPPED())
		splice_model(which, to);
	if (how == 0)
		lull_list_splice(from, where);
	else if (how == 1)
		STEPS(some, false, true, lull_list_splice_init_rcu(from, where, sync));
	else if (how == 2)
		lull_list_splice_tail(from, &list[which]);
	else
		STEPS(some, false, true, lull_list_splice_tail_init_rcu(from, &list[which], sync));
	assert_true(IS_STEPPED() || synced == (how % 2 && some));
	splice_model(which, to);
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
		insert(which, list_additions[how].behind ? place + 1 : old ? place : length(which), fresh);
		STEPS(how % 2, true, false, list_additions[how].add(&fresh->link, where));
	} else if (what == 8) {
		delete_some(which);
	} else if (what == 9) {
		splice_lists(which, place, where);
	} else if (what == 10 && old) {
		move_in_list(which, place);
	} else if (what < 14 && old) {
		how = rnd(4);
		take_out(which, place);
		do
			STEPS(list_deletions[how].next == KEPT, list_deletions[how].prev == KEPT, false,
			      list_deletions[how].del(&old->link));
		while (list_deletions[how].next == ITSELF && rnd(2));
		leaves(old, nexts[list_deletions[how].next], prevs[list_deletions[how].prev]);
		assert_int_equal(lull_list_empty(&old->link), list_deletions[how].next == ITSELF);
	} else if (old && fresh) {
		how = rnd(3);
		insert(which, place, fresh);
		take_out(which, place + 1);
		STEPS(list_replacements[how].next == KEPT, list_replacements[how].prev == KEPT, false,
		      list_replacements[how].replace(&old->link, &fresh->link));
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
	update_at_random(init_lists, change_list, check_list, LOOK(look_at_lists));
}

/* ---- hlists -------------------------------------------------------------------------------------------------------- */

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
		insert(which, hlist_additions[how].behind ? place + 1 : old ? place : length(which), fresh);
		if (old)
			STEPS(how % 2, false, false, hlist_additions[how].at_node(&fresh->hlink, &old->hlink));
		else
			STEPS(how % 2, false, false, hlist_additions[how].at_head(&fresh->hlink, &hlist[which]));
	} else if (what == 8) {
		hdelete_some(which);
	} else if (what == 9) {
		strcpy(first, model[0]);
		strcpy(model[0], model[1]);
		strcpy(model[1], first);
		STEPS(true, false, true, lull_hlist_swap_heads_rcu(&hlist[0], &hlist[1]));
	} else if (what < 14 && old) {
		how = rnd(4);
		take_out(which, place);
		STEPS(hlist_deletions[how].next == KEPT, false, false, hlist_deletions[how].del(&old->hlink));
		if (hlist_deletions[how].pprev == NOWHERE)
			hlist_deletions[how].del(&old->hlink); /* once more */
		leaves(old,
		       hlist_deletions[how].next == KEPT    ? kept :
		       hlist_deletions[how].next == NOWHERE ? NULL :
							      LULL_HLIST_POISON_NEXT,
		       hlist_deletions[how].pprev == NOWHERE ? NULL : LULL_HLIST_POISON_PPREV);
	} else if (old && fresh) {
		insert(which, place, fresh);
		take_out(which, place + 1);
		if (what % 2) {
			const struct lull_hlist_node before = old->hlink;

			lull_hlist_replace(&old->hlink, &fresh->hlink);
			leaves(old, before.next, before.pprev); /* unchanged */
		} else {
			STEPS(true, false, false, lull_hlist_replace_rcu(&old->hlink, &fresh->hlink));
			leaves(old, kept, LULL_HLIST_POISON_PPREV);
		}
	}
}

TEST(hlist)
{
	struct lull_hlist_head none = LULL_HLIST_HEAD_INIT;

	assert_null(none.first);
	update_at_random(init_hlists, change_hlist, check_hlist, LOOK(look_at_hlists));
#if CAN_STEP
	assert_true(swapped > 0 || under_valgrind());
#endif
}

/* ---- nulls lists --------------------------------------------------------------------------------------------------- */

static void init_nulls(void)
{
	static const uintptr_t ends[] = { 0, 1, 2, UINTPTR_MAX >> 1 };

	for (int i = 0; i < 2; i++) {
		end_of[i] = ends[2 * i + (int)rnd(2)];
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
		insert(which, 0, fresh);
		STEPS(true, false, false, lull_hlist_nulls_add_head_rcu(&fresh->nlink, &nulls[which]));
	} else if (what == 4 && old && fresh) {
		insert(which, place, fresh);
		take_out(which, place + 1);
		STEPS(true, false, false, lull_hlist_nulls_replace_rcu(&old->nlink, &fresh->nlink));
		leaves(old, next, LULL_HLIST_NULLS_POISON);
	} else if (what == 5 && old) {
		take_out(which, place);
		STEPS(true, false, false, lull_hlist_nulls_del_rcu(&old->nlink));
		leaves(old, next, LULL_HLIST_NULLS_POISON);
	} else if (what == 6 && old) {
		take_out(which, place);
		STEPS(true, false, false, lull_hlist_nulls_del_init_rcu(&old->nlink));
		lull_hlist_nulls_del_init_rcu(&old->nlink);
		leaves(old, next, NULL);
	} else if (old) {
		insert(!which, 0, take_out(which, place));
		STEPS(true, false, true, (lull_hlist_nulls_del_rcu(&old->nlink),
					  lull_hlist_nulls_add_head_rcu(&old->nlink, &nulls[!which])));
	}
}

TEST(nulls)
{
	update_at_random(init_nulls, change_nulls, check_nulls, LOOK(look_at_nulls));
}

/*
 * A lookup by the protocol of hlist_nulls.h, with @move taken to @target once while the reader stands on it. There are
 * no counts because nothing is freed here.
 */
static struct item *find(unsigned bucket, int value, struct item *move, unsigned target, int *restarts)
{
	struct lull_hlist_nulls_node *node;
	struct item *pos;
	int hops = 0;

	*restarts = -1;
restart:
	assert_in_range(++*restarts, 0, 3);
	lull_hlist_nulls_for_each_entry_rcu(pos, node, &nulls[bucket], nlink) {
		assert_in_range(++hops, 1, 3 * ITEMS);
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
	init_nulls();
	for (int i = 4; i >= 0; i--) {
		lull_list_add(&items[i].link, &list[0]);
		lull_hlist_add_head(&items[i].hlink, &hlist[0]);
		lull_hlist_nulls_add_head_rcu(&items[i].nlink, &nulls[0]);
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

/* ---- a reader that is overtaken ------------------------------------------------------------------------------------ */

static void set_up_one(bool there)
{
	lull_list_init(&list[0]);
	if (there)
		lull_list_add(&items[0].link, &list[0]);
}

static const struct item *finds_first(void)
{
	return lull_list_first_or_null_rcu(&list[0], struct item, link);
}

static const struct item *finds_next(void)
{
	return lull_list_next_or_null_rcu(&list[0], &list[0], struct item, link);
}

#if CAN_STEP
static int step_of_update;
static bool comes;

static void updates_only_item(int unused)
{
	(void)unused;
	if (steps++ != step_of_update)
		return;
	if (comes)
		lull_list_add_rcu(&items[0].link, &list[0]);
	else
		lull_list_del_rcu(&items[0].link);
}

/* The only element comes or goes, at each step in turn. The result is the element or nothing, and not the head. */
static void overtake(const struct item *(*finds)(void), bool by_addition)
{
	comes = by_addition;
	step_of_update = 0;
	do {
		const struct item *found;

		set_up_one(!comes);
		steps = 0;
		set_trap_flag(true);
		found = finds();
		set_trap_flag(false);
		assert_true(!found || found == &items[0]);
	} while (step_of_update++ < steps);
	assert_true(step_of_update > 5);
}
#endif

TEST(or_null)
{
	set_up_one(true);
	assert_ptr_equal(finds_first(), &items[0]);
	assert_ptr_equal(finds_next(), &items[0]);
#if CAN_STEP
	if (under_valgrind())
		SKIP("valgrind steps in its own way");
	handle_traps(updates_only_item);
	for (int by_addition = 0; by_addition < 2; by_addition++) {
		overtake(finds_first, by_addition);
		overtake(finds_next, by_addition);
	}
	signal(SIGTRAP, SIG_DFL);
#endif
}

/* ---- a second deletion --------------------------------------------------------------------------------------------- */

#define TWICE(name, first, second) static void name(void) { first; lull_compiler_barrier(); /* it would warn */ second; }

TWICE(deletes_plain_twice, lull_list_del(&items[1].link), lull_list_del(&items[1].link))
TWICE(deletes_twice, lull_list_del_rcu(&items[1].link), lull_list_del_rcu(&items[1].link))
TWICE(deletes_replaced, lull_list_replace_rcu(&items[1].link, &items[6].link), lull_list_del_rcu(&items[1].link))
TWICE(hdeletes_plain_twice, lull_hlist_del(&items[1].hlink), lull_hlist_del(&items[1].hlink))
TWICE(hdeletes_twice, lull_hlist_del_rcu(&items[1].hlink), lull_hlist_del_rcu(&items[1].hlink))
TWICE(hdeletes_replaced, lull_hlist_replace_rcu(&items[1].hlink, &items[6].hlink), lull_hlist_del_rcu(&items[1].hlink))
TWICE(ndeletes_twice, lull_hlist_nulls_del_rcu(&items[1].nlink), lull_hlist_nulls_del_rcu(&items[1].nlink))
TWICE(ndeletes_replaced, lull_hlist_nulls_replace_rcu(&items[1].nlink, &items[6].nlink), lull_hlist_nulls_del_rcu(&items[1].nlink))

static void (*crash)(void);

static void crashes(void)
{
	signal(SIGSEGV, SIG_DFL); /* not cmocka's */
	crash();
}

TEST(second_deletion)
{
	static void (*const second[])(void) = { deletes_plain_twice, deletes_twice, deletes_replaced,
						hdeletes_plain_twice, hdeletes_twice, hdeletes_replaced,
						ndeletes_twice, ndeletes_replaced };
	char text[4096];

#if SANITIZED || defined(LULL_TEST_EMULATED)
	SKIP("a sanitizer or the emulator reports the crash in its own way");
#endif
	if (under_valgrind())
		SKIP("valgrind reports the crash in its own way");
	for (size_t i = 0; i < sizeof(second) / sizeof(second[0]); i++) {
		int status;

		crash = second[i];
		status = run_child(crashes, text, sizeof(text));
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV)
			print_error("deletion %zu: status %x\n", i, (unsigned)status);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGSEGV);
	}
	/* The first page is never mapped. */
	assert_in_range((uintptr_t)LULL_LIST_POISON, 1, 4000);
	assert_in_range((uintptr_t)LULL_HLIST_POISON_NEXT, 1, 4000);
	assert_in_range((uintptr_t)LULL_HLIST_POISON_PPREV, 1, 4000);
	assert_in_range((uintptr_t)LULL_HLIST_NULLS_POISON, 1, 4000);
}
