/* SPDX-License-Identifier: MIT */
/* runs: c++ */
/*
 * steps.c - list.h, hlist.h, hlist_nulls.h: what readers meet between any two instructions of an update. The
 * updater is traced by single steps; the handler is the reader, and walks. And what deletes a node twice crashes.
 *
 * An update is one moment to a reader: each walk meets the list from before, or the list from after. A reader that
 * stands on a node comes to the end from there, whatever has become of the node.
 */
#include <signal.h>

#include <lull/hlist.h>
#include <lull/list.h>

#include "child.h"
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

#define ITEMS 8

struct item {
	int value;
	struct lull_list_head link;
	struct lull_hlist_node hlink;
	struct lull_hlist_nulls_node nlink;
};

static struct item items[ITEMS];
static struct lull_list_head list, other;
static struct lull_hlist_head hlist, hother;
static struct lull_hlist_nulls_head nulls[2];

/* ---- walks --------------------------------------------------------------------------------------------------------- */

/* What a walk has met, as digits; "!" when it has no end. */
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

/* ---- one update, step by step -------------------------------------------------------------------------------------- */

struct update {
	const char *name;
	void (*setup)(void);
	void (*run)(void);
	void (*look)(void); /* the reader */
	const char *before, *after; /* on the list */
	const char *other_before, *other_after; /* on the other one */
};

static const struct update *now;
static int steps, swapped;
static char wrong[256];

static void complain(const char *what, const char *met)
{
	if (!wrong[0])
		snprintf(wrong, sizeof(wrong), "%s: after %d steps %s \"%s\"", now->name, steps, what, met);
}

static bool either(struct met met, const char *before, const char *after)
{
	return strcmp(met.text, before) == 0 || strcmp(met.text, after) == 0;
}

/* What comes behind item @value in @all; NULL if that item is not there. */
static const char *tail(const char *all, int value)
{
	const char *at = strchr(all, '0' + value);

	return at ? at + 1 : NULL;
}

static void check_tails(struct met (*walk)(const struct item *pos))
{
	for (const char *at = now->before; *at; at++) {
		int value = *at - '0';
		const char *then = tail(now->after, value);

		if (!either(walk(&items[value]), at + 1, then ? then : at + 1))
			complain("a reader on a node goes on to", walk(&items[value]).text);
	}
}

static struct met behind_on_list(const struct item *pos)
{
	return behind(&list, pos);
}

static void look_at_list(void)
{
	if (!either(forwards(&list), now->before, now->after))
		complain("a walk meets", forwards(&list).text);
	if (lull_list_empty(&list) != !forwards(&list).text[0])
		complain("it is empty or not, and a walk meets", forwards(&list).text);
	check_tails(behind_on_list);
}

static void reverse(char *text, const char *of)
{
	size_t size = strlen(of);

	for (size_t i = 0; i < size; i++)
		text[i] = of[size - 1 - i];
	text[size] = '\0';
}

static void look_both_ways(void)
{
	char before[ITEMS + 1], after[ITEMS + 1];
	struct met met = backwards(&list);

	look_at_list();
	reverse(before, now->before);
	reverse(after, now->after);
	if (!either(met, before, after))
		complain("a walk back meets", met.text);
	/* Forwards first. */
	if (strcmp(before, after) && strcmp(met.text, after) == 0 && strcmp(forwards(&list).text, now->before) == 0)
		complain("a walk back is ahead and meets", met.text);
}

/* Nothing is on two lists. Readers of the other list come to their own head as long as they are waited for. */
static bool waited;

static void look_at_splice(void)
{
	struct met met = forwards(&other);

	if (!either(forwards(&list), now->before, now->after))
		complain("a walk meets", forwards(&list).text);
	if (!either(met, now->other_before, now->other_after))
		complain("a walk over the other list meets", met.text);
	if (met.text[0] && waited)
		complain("who comes while readers are waited for meets", met.text);
	if (met.text[0] && strcmp(forwards(&list).text, now->before))
		complain("nodes are on two lists, also", met.text);
	for (const char *at = now->other_before; *at && !waited; at++)
		if (strcmp(behind(&other, &items[*at - '0']).text, at + 1) != 0)
			complain("a reader of the other list goes on to", behind(&other, &items[*at - '0']).text);
}

static void look_at_hlist(void)
{
	struct met met = hforwards(&hlist);

	if (!either(met, now->before, now->after))
		complain("a walk meets", met.text);
	if (lull_hlist_empty(&hlist) != !met.text[0])
		complain("it is empty or not, and a walk meets", met.text);
	met = hforwards(&hother);
	if (!either(met, now->other_before, now->other_after))
		complain("a walk over the other list meets", met.text);
	check_tails(hbehind);
	/* A hint, which is right before and after the update. */
	for (int i = 0; i < ITEMS; i++) {
		bool here = now->before[0] && strchr(now->before, '0' + i) && strchr(now->after, '0' + i);

		if (here && lull_hlist_unhashed(&items[i].hlink))
			complain("a node is on no list, and a walk meets", met.text);
	}
}

/* Before both lists are exchanged both heads lead to one: the second one's. */
static void look_at_swap(void)
{
	bool first = strcmp(hforwards(&hlist).text, now->before) == 0;
	bool second = strcmp(hforwards(&hother).text, now->other_before) == 0;

	look_at_hlist();
	swapped += !first && second;
	if (first && !second)
		complain("both heads lead to", now->before);
}

static void look_at_nulls(void)
{
	uintptr_t end;
	struct met met = nforwards(&nulls[0], &end);

	if (!either(met, now->before, now->after) || end != 0)
		complain("a walk meets", met.text);
	if (lull_hlist_nulls_empty(&nulls[0]) != !met.text[0])
		complain("it is empty or not, and a walk meets", met.text);
	met = nforwards(&nulls[1], &end);
	if (!either(met, now->other_before, now->other_after) || end != 1)
		complain("a walk over the other list meets", met.text);
	for (const char *at = now->before; *at; at++) {
		int value = *at - '0';
		const char *then = tail(now->after, value), *there = tail(now->other_after, value);

		if (then && lull_hlist_nulls_unhashed(&items[value].nlink))
			complain("a node is on no list and", at);
		met = nbehind(&items[value], &end);
		if (end == 1 ? !there || strcmp(met.text, there) != 0 : !either(met, at + 1, then ? then : at + 1))
			complain("a reader on a node goes on to", met.text);
	}
}

#if CAN_STEP
static void trapped(int unused)
{
	(void)unused;
	steps++;
	now->look();
}

static void step_through(const struct update *update)
{
#ifdef OWN_MALLOC
	int before = mallocs;
#endif

	steps = 0;
	wrong[0] = '\0';
	waited = false;
	now = update;
	update->setup();
	update->look();
	set_trap_flag(true);
	update->run();
	set_trap_flag(false);
	if (wrong[0])
		print_error("%s\n", wrong);
	assert_string_equal(wrong, "");
	assert_in_range(steps, 6, STEPS_MOST);
#ifdef OWN_MALLOC
	assert_int_equal(mallocs, before);
#endif
}

static void handle_traps(void (*handler)(int))
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
}

static void step_through_all(const struct update *updates, size_t count)
{
	if (under_valgrind())
		SKIP("valgrind steps in its own way");
	handle_traps(trapped);
	for (size_t i = 0; i < count; i++)
		step_through(&updates[i]);
	signal(SIGTRAP, SIG_DFL);
}
#else
static void step_through_all(const struct update *updates, size_t count)
{
	(void)updates;
	(void)count;
	(void)now;
	SKIP("no single steps here");
}
#endif

#define STEP_THROUGH_ALL(updates) step_through_all(updates, sizeof(updates) / sizeof((updates)[0]))

/* ---- lists --------------------------------------------------------------------------------------------------------- */

static void number_items(void)
{
	memset(items, 0, sizeof(items));
	for (int i = 0; i < ITEMS; i++)
		items[i].value = i;
}

/* 0 to 3 on the list, 5 and 6 on the other one. */
static void set_up_lists(void)
{
	number_items();
	lull_list_init(&list);
	lull_list_init(&other);
	for (int i = 0; i < 4; i++)
		lull_list_add_tail(&items[i].link, &list);
	for (int i = 5; i < 7; i++)
		lull_list_add_tail(&items[i].link, &other);
}

static void set_up_one(void)
{
	set_up_lists();
	lull_list_init(&list);
	lull_list_add(&items[0].link, &list);
}

static void set_up_none(void)
{
	set_up_lists();
	lull_list_init(&list);
}

#define DOES(name, call) static void name(void) { call; }

DOES(adds, lull_list_add_rcu(&items[4].link, &list))
DOES(adds_at_end, lull_list_add_tail_rcu(&items[4].link, &list))
DOES(adds_behind, lull_list_add_rcu(&items[4].link, &items[1].link))
DOES(adds_before, lull_list_add_tail_rcu(&items[4].link, &items[1].link))
DOES(deletes_first, lull_list_del_rcu(&items[0].link))
DOES(deletes_middle, lull_list_del_rcu(&items[1].link))
DOES(deletes_last, lull_list_del_rcu(&items[3].link))
DOES(deletes_both_ways, lull_list_bidir_del_rcu(&items[1].link))
DOES(deletes_first_both_ways, lull_list_bidir_del_rcu(&items[0].link))
DOES(replaces, lull_list_replace_rcu(&items[1].link, &items[4].link))
DOES(replaces_last, lull_list_replace_rcu(&items[3].link, &items[4].link))
DOES(replaces_first_both_ways, lull_list_bidir_replace_rcu(&items[0].link, &items[4].link))
DOES(replaces_both_ways, lull_list_bidir_replace_rcu(&items[2].link, &items[4].link))

static void notes_wait(void)
{
	waited = true;
}

DOES(splices, lull_list_splice_init_rcu(&other, &list, notes_wait))
DOES(splices_behind, lull_list_splice_init_rcu(&other, &items[1].link, notes_wait))
DOES(splices_at_end, lull_list_splice_tail_init_rcu(&other, &list, notes_wait))

TEST(list)
{
	static const struct update updates[] = {
		{ "add", set_up_lists, adds, look_both_ways, "0123", "40123", "", "" },
		{ "add to none", set_up_none, adds, look_both_ways, "", "4", "", "" },
		{ "add_tail", set_up_lists, adds_at_end, look_both_ways, "0123", "01234", "", "" },
		{ "add behind", set_up_lists, adds_behind, look_both_ways, "0123", "01423", "", "" },
		{ "add before", set_up_lists, adds_before, look_both_ways, "0123", "04123", "", "" },
		{ "del first", set_up_lists, deletes_first, look_at_list, "0123", "123", "", "" },
		{ "del middle", set_up_lists, deletes_middle, look_at_list, "0123", "023", "", "" },
		{ "del last", set_up_lists, deletes_last, look_at_list, "0123", "012", "", "" },
		{ "del only", set_up_one, deletes_first, look_at_list, "0", "", "", "" },
		{ "bidir_del", set_up_lists, deletes_both_ways, look_both_ways, "0123", "023", "", "" },
		{ "bidir_del only", set_up_one, deletes_first_both_ways, look_both_ways, "0", "", "", "" },
		{ "replace", set_up_lists, replaces, look_at_list, "0123", "0423", "", "" },
		{ "replace last", set_up_lists, replaces_last, look_at_list, "0123", "0124", "", "" },
		{ "bidir_replace first", set_up_lists, replaces_first_both_ways, look_both_ways, "0123", "4123", "", "" },
		{ "bidir_replace", set_up_lists, replaces_both_ways, look_both_ways, "0123", "0143", "", "" },
		{ "bidir_replace only", set_up_one, replaces_first_both_ways, look_both_ways, "0", "4", "", "" },
		{ "splice", set_up_lists, splices, look_at_splice, "0123", "560123", "56", "" },
		{ "splice to none", set_up_none, splices, look_at_splice, "", "56", "56", "" },
		{ "splice behind", set_up_lists, splices_behind, look_at_splice, "0123", "015623", "56", "" },
		{ "splice_tail", set_up_lists, splices_at_end, look_at_splice, "0123", "012356", "56", "" },
	};

	STEP_THROUGH_ALL(updates);
}

/* ---- a reader that is overtaken ------------------------------------------------------------------------------------ */

static const struct item *finds_first(void)
{
	return lull_list_first_or_null_rcu(&list, struct item, link);
}

static const struct item *finds_next(void)
{
	return lull_list_next_or_null_rcu(&list, &list, struct item, link);
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
		lull_list_add_rcu(&items[0].link, &list);
	else
		lull_list_del_rcu(&items[0].link);
}

/* The only element comes or goes, at each step in turn. What is found is the element or nothing, and not the head. */
static void overtake(const struct item *(*find)(void), bool by_addition)
{
	comes = by_addition;
	step_of_update = 0;
	do {
		const struct item *found;

		if (comes)
			set_up_none();
		else
			set_up_one();
		steps = 0;
		set_trap_flag(true);
		found = find();
		set_trap_flag(false);
		assert_true(!found || found == &items[0]);
	} while (step_of_update++ < steps);
	assert_true(step_of_update > 5);
}
#endif

TEST(or_null)
{
	set_up_one();
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

/* ---- hlists -------------------------------------------------------------------------------------------------------- */

static void set_up_hlists(void)
{
	number_items();
	lull_hlist_init(&hlist);
	lull_hlist_init(&hother);
	for (int i = 3; i >= 0; i--)
		lull_hlist_add_head(&items[i].hlink, &hlist);
	for (int i = 6; i >= 5; i--)
		lull_hlist_add_head(&items[i].hlink, &hother);
}

DOES(hadds, lull_hlist_add_head_rcu(&items[4].hlink, &hlist))
DOES(hadds_before, lull_hlist_add_before_rcu(&items[4].hlink, &items[1].hlink))
DOES(hadds_behind, lull_hlist_add_behind_rcu(&items[4].hlink, &items[3].hlink))
DOES(hadds_at_end, lull_hlist_add_tail_rcu(&items[4].hlink, &hlist))
DOES(hdeletes_first, lull_hlist_del_rcu(&items[0].hlink))
DOES(hdeletes_last, lull_hlist_del_rcu(&items[3].hlink))
DOES(hdeletes_and_inits, lull_hlist_del_init_rcu(&items[2].hlink))
DOES(hreplaces, lull_hlist_replace_rcu(&items[1].hlink, &items[4].hlink))
DOES(hreplaces_last, lull_hlist_replace_rcu(&items[3].hlink, &items[4].hlink))
DOES(swaps, lull_hlist_swap_heads_rcu(&hlist, &hother))

TEST(hlist)
{
	static const struct update updates[] = {
		{ "add_head", set_up_hlists, hadds, look_at_hlist, "0123", "40123", "56", "56" },
		{ "add_before", set_up_hlists, hadds_before, look_at_hlist, "0123", "04123", "56", "56" },
		{ "add_behind", set_up_hlists, hadds_behind, look_at_hlist, "0123", "01234", "56", "56" },
		{ "add_tail", set_up_hlists, hadds_at_end, look_at_hlist, "0123", "01234", "56", "56" },
		{ "del first", set_up_hlists, hdeletes_first, look_at_hlist, "0123", "123", "56", "56" },
		{ "del last", set_up_hlists, hdeletes_last, look_at_hlist, "0123", "012", "56", "56" },
		{ "del_init", set_up_hlists, hdeletes_and_inits, look_at_hlist, "0123", "013", "56", "56" },
		{ "replace", set_up_hlists, hreplaces, look_at_hlist, "0123", "0423", "56", "56" },
		{ "replace last", set_up_hlists, hreplaces_last, look_at_hlist, "0123", "0124", "56", "56" },
		{ "swap_heads", set_up_hlists, swaps, look_at_swap, "0123", "56", "56", "0123" },
	};

	swapped = 0;
	STEP_THROUGH_ALL(updates);
	assert_true(swapped > 0);
}

/* ---- nulls lists --------------------------------------------------------------------------------------------------- */

static void set_up_nulls(void)
{
	number_items();
	for (int i = 0; i < 2; i++)
		lull_hlist_nulls_init(&nulls[i], (uintptr_t)i);
	for (int i = 3; i >= 0; i--)
		lull_hlist_nulls_add_head_rcu(&items[i].nlink, &nulls[0]);
	for (int i = 6; i >= 5; i--)
		lull_hlist_nulls_add_head_rcu(&items[i].nlink, &nulls[1]);
}

DOES(nadds, lull_hlist_nulls_add_head_rcu(&items[4].nlink, &nulls[0]))
DOES(ndeletes_first, lull_hlist_nulls_del_rcu(&items[0].nlink))
DOES(ndeletes_last, lull_hlist_nulls_del_init_rcu(&items[3].nlink))
DOES(nreplaces, lull_hlist_nulls_replace_rcu(&items[1].nlink, &items[4].nlink))
DOES(nreplaces_last, lull_hlist_nulls_replace_rcu(&items[3].nlink, &items[4].nlink))

/* A reader on it comes to one of the two ends, and learns from the number which. */
static void moves(void)
{
	lull_hlist_nulls_del_rcu(&items[1].nlink);
	lull_hlist_nulls_add_head_rcu(&items[1].nlink, &nulls[1]);
}

TEST(nulls)
{
	static const struct update updates[] = {
		{ "add_head", set_up_nulls, nadds, look_at_nulls, "0123", "40123", "56", "56" },
		{ "del first", set_up_nulls, ndeletes_first, look_at_nulls, "0123", "123", "56", "56" },
		{ "del_init last", set_up_nulls, ndeletes_last, look_at_nulls, "0123", "012", "56", "56" },
		{ "replace", set_up_nulls, nreplaces, look_at_nulls, "0123", "0423", "56", "56" },
		{ "replace last", set_up_nulls, nreplaces_last, look_at_nulls, "0123", "0124", "56", "56" },
		{ "move", set_up_nulls, moves, look_at_nulls, "0123", "023", "56", "156" },
	};

	STEP_THROUGH_ALL(updates);
}

/* ---- a second deletion --------------------------------------------------------------------------------------------- */

#define TWICE(name, setup, first, second) static void name(void) { setup(); first; lull_compiler_barrier(); /* it would warn */ second; }

TWICE(deletes_plain_twice, set_up_lists, lull_list_del(&items[1].link),
      lull_list_del(&items[1].link))
TWICE(deletes_twice, set_up_lists, lull_list_del_rcu(&items[1].link),
      lull_list_del_rcu(&items[1].link))
TWICE(deletes_replaced, set_up_lists, lull_list_replace_rcu(&items[1].link, &items[4].link),
      lull_list_del_rcu(&items[1].link))
TWICE(hdeletes_plain_twice, set_up_hlists, lull_hlist_del(&items[1].hlink),
      lull_hlist_del(&items[1].hlink))
TWICE(hdeletes_twice, set_up_hlists, lull_hlist_del_rcu(&items[1].hlink),
      lull_hlist_del_rcu(&items[1].hlink))
TWICE(hdeletes_replaced, set_up_hlists, lull_hlist_replace_rcu(&items[1].hlink, &items[4].hlink),
      lull_hlist_del_rcu(&items[1].hlink))
TWICE(ndeletes_twice, set_up_nulls, lull_hlist_nulls_del_rcu(&items[1].nlink),
      lull_hlist_nulls_del_rcu(&items[1].nlink))
TWICE(ndeletes_replaced, set_up_nulls, lull_hlist_nulls_replace_rcu(&items[1].nlink, &items[4].nlink),
      lull_hlist_nulls_del_rcu(&items[1].nlink))

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
