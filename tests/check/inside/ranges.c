/* SPDX-License-Identifier: MIT */
/*
 * ranges.c - src/check/ranges.c from the inside: the set against an array, its lock when it is taken, and a child's
 * copy.
 */
#include "random.h"

#ifdef LULL_DEBUG
#include "../src/check/ranges.h"

struct element {
	struct lull__range range;
	char more[20];
};

static struct lull__ranges set = { .size = sizeof(struct element) };

/* ---- what is in it ---------------------------------------------------------------------------- */

#define UNITS 300 /* of the addresses, in each of which a range may begin */
#define UNIT  16

static struct lull__range *in_set[UNITS]; /* the same, by where they begin */

static uintptr_t address(unsigned unit)
{
	return 0x10000 + (uintptr_t)unit * UNIT;
}

/* A range in each unit is shorter than that, by a different length. */
static uintptr_t end_of(unsigned unit)
{
	return address(unit) + 1 + unit % UNIT;
}

static void add(unsigned unit)
{
	struct lull__range *range = lull__ranges_new(&set);

	assert_non_null(range);
	memset((char *)range + sizeof(*range), 0x55, sizeof(struct element) - sizeof(*range));
	range->from = address(unit);
	range->to = end_of(unit);
	lull__ranges_insert(&set, range);
	in_set[unit] = range;
}

/* Any place of [@from, @to) in the array says what the set must say. */
static void check_find(uintptr_t from, uintptr_t to)
{
	struct lull__range *found = lull__ranges_find(&set, from, to);
	bool is_there = false;

	for (unsigned unit = 0; unit < UNITS; unit++)
		is_there = is_there || (in_set[unit] && address(unit) < to && end_of(unit) > from);
	assert_true(is_there == (found != NULL));
	if (found) {
		assert_true(found->from < to && found->to > from);
		assert_ptr_equal(found, in_set[(found->from - address(0)) / UNIT]);
	}
}

static void check_all(void)
{
	unsigned count = 0;

	for (unsigned unit = 0; unit < UNITS; unit++) {
		count += in_set[unit] != NULL;
		check_find(address(unit), address(unit) + 1);
		check_find(end_of(unit) - 1, end_of(unit));
		check_find(end_of(unit), address(unit) + UNIT);
		check_find(address(unit), address(unit) + 5 * UNIT);
	}
	assert_int_equal(set.count, count);
}

TEST(against_array)
{
	uint64_t random = test_seed();

	lull__ranges_enter(&set);
	assert_null(lull__ranges_find(&set, 0, UINTPTR_MAX));
	for (int i = 0; i < 3000; i++) {
		unsigned unit = dice(&random, UNITS);

		if (in_set[unit]) {
			lull__ranges_remove(&set, in_set[unit]);
			in_set[unit] = NULL;
		} else {
			add(unit);
		}
		if (i % 100 == 0)
			check_all();
	}
	check_all();
	for (unsigned unit = 0; unit < UNITS; unit++)
		if (in_set[unit]) {
			lull__ranges_remove(&set, in_set[unit]);
			in_set[unit] = NULL;
		}
	assert_null(set.root);
	check_all();
	lull__ranges_leave(&set);
}

/* More than one block of memory holds: each element is another one, and all are given again. */
TEST(memory)
{
	enum { MANY = 5000 };
	static struct lull__range *got[MANY];
	struct lull__range *first;

	lull__ranges_enter(&set);
	for (int i = 0; i < MANY; i++) {
		got[i] = lull__ranges_new(&set);
		assert_non_null(got[i]);
		memset(got[i], 0xaa, sizeof(struct element));
		got[i]->from = 100 * (uintptr_t)i;
		got[i]->to = 100 * (uintptr_t)i + sizeof(struct element);
	}
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(got[i]->from, 100 * (uintptr_t)i); /* no other thread's */
		lull__ranges_insert(&set, got[i]);
	}
	assert_int_equal(set.count, MANY);
	for (int i = 0; i < MANY; i++)
		lull__ranges_remove(&set, got[i]);
	first = lull__ranges_new(&set);
	assert_ptr_equal(first, got[MANY - 1]); /* given back last */
	first->left = set.unused;
	set.unused = first;
	lull__ranges_leave(&set);
}

/* ---- its lock --------------------------------------------------------------------------------- */

/*
 * A handler that interrupts its thread in here gives up, also of other sets: the thread may have their locks, too. A
 * thread that finds the lock taken gives up as well. Both try again later.
 */
TEST(lock)
{
	static struct lull__ranges other;

	for (int tried = 0; tried < 2; tried++) {
		if (tried)
			assert_true(lull__ranges_try_enter(&set));
		else
			lull__ranges_enter(&set);
		assert_int_not_equal(set.lock.word, 0);
		assert_false(lull__ranges_try_enter(&set));
		assert_false(lull__ranges_try_enter(&other));
		assert_int_equal(other.lock.word, 0);
		lull__ranges_leave(&set);
		assert_int_equal(set.lock.word, 0);
		lull__lock(&set.lock); /* as another thread */
		assert_false(lull__ranges_try_enter(&set));
		lull__unlock(&set.lock);
	}
	assert_true(lull__ranges_try_enter(&other));
	lull__ranges_leave(&other);
}

/* ---- fork -------------------------------------------------------------------------------------- */

/* The lock is taken for the child, if no thread is in the middle of a change. */
TEST(fork_prepare)
{
	assert_true(lull__ranges_fork_prepare(&set));
	assert_int_not_equal(set.lock.word, 0);
	lull__unlock(&set.lock);
	lull__lock(&set.lock);
	assert_false(lull__ranges_fork_prepare(&set));
	lull__unlock(&set.lock);
	lull__ranges_enter(&set); /* and then a signal handler forks */
	lull__unlock(&set.lock);
	assert_false(lull__ranges_fork_prepare(&set));
	lull__lock(&set.lock);
	lull__ranges_leave(&set);
}

/* A child has the whole set, or none. */
TEST(fork_child)
{
	add(3);
	add(7);
	lull__lock(&set.lock);
	lull__ranges_fork_child(&set, true);
	assert_int_equal(set.lock.word, 0);
	check_all();
	lull__lock(&set.lock);
	lull__ranges_fork_child(&set, false);
	assert_int_equal(set.lock.word, 0);
	in_set[3] = in_set[7] = NULL;
	assert_null(set.unused); /* half of a change may be in it */
	check_all();
	add(5);
	check_all();
}

#else
TEST(in_debug_builds)
{
	SKIP("only debug builds have this check");
}
#endif
