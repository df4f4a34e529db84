/* SPDX-License-Identifier: MIT */
/* The recommendation of `lull compare`, over results made up for each case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../tools/choose/protection.c"
#include "../../tools/common/units.c"

#include "tools/choose_support.h"

static const unsigned percents[] = { 0, 10, 100 };

enum { MUTEX, SPIN, RCU, QSBR, COUNT, ROWS };

static struct choose_row row[ROWS];

/* A mutex, a spin lock, RCU, RCU with a demand, and counting, on an ordinary machine. */
static struct choose_input ordinary(void)
{
	struct choose_input in = { row, ROWS, percents, 3, 2 };
	static const double mops[ROWS][3] = {
		{ 20, 15, 6 }, { 30, 20, 8 }, { 60, 30, 4 }, { 63, 31, 4 }, { 14, 11, 5 },
	};
	size_t i, j;

	memset(row, 0, sizeof(row));
	row[MUTEX].name = "mutex";
	row[SPIN].name = "spinlock";
	row[RCU].name = "rcu";
	row[QSBR].name = "rcu-qsbr";
	row[COUNT].name = "refcount";
	for (i = 0; i < ROWS; i++) {
		row[i].family = i == RCU || i == QSBR ? CHOOSE_DEFERRED : CHOOSE_LOCK;
		row[i].effort = i == RCU ? 2 : i == QSBR ? 3 : i == COUNT;
		for (j = 0; j < 3; j++) {
			row[i].mops[j] = mops[i][j];
			row[i].spread[j] = 0.02;
		}
	}
	row[QSBR].demand = "threads can report quiescent states";
	row[COUNT].long_readers = true;
	return in;
}

static struct choose_result run(const struct choose_input *in)
{
	struct choose_result result;

	choose(in, &result);
	lines = choose_words(in, &result, line);
	return result;
}

static void picks_the_fastest(void **state)
{
	struct choose_input in = ordinary();
	struct choose_result r;

	(void)state;
	r = run(&in);
	assert_true(r.matters);
	assert_int_equal(r.pick[0].row, RCU);
	assert_int_equal(r.pick[1].row, RCU);
	assert_int_equal(r.pick[2].row, SPIN);
	assert_int_equal(r.pick[0].least, SPIN);
	assert_true(said("0 to 10 % updates: rcu, 60 M operations/s on 2 threads, x2 spinlock."));
	assert_true(said("100 % updates: spinlock, 8 M"));
	assert_false(said("busy"));
}

static void lines_cross(void **state)
{
	struct choose_input in = ordinary();
	struct choose_result r;

	(void)state;
	r = run(&in);
	/* Ahead by 50 % at 10, behind by 50 % at 100. */
	assert_float_equal(r.crossing, 55, 0.01);
	assert_true(said("From about 55 % updates on"));

	row[RCU].mops[2] = 9;
	r = run(&in);
	assert_true(r.crossing < 0);
	assert_false(said("From about"));

	/* Behind all along is no crossing either. */
	ordinary();
	row[RCU].mops[0] = row[RCU].mops[1] = row[RCU].mops[2] = 1;
	assert_true(run(&in).crossing < 0);
}

static void ties_go_to_less_effort(void **state)
{
	struct choose_input in = ordinary();
	struct choose_result r;

	(void)state;
	row[RCU].mops[1] = 20.8;
	row[QSBR].mops[1] = 20.9;
	r = run(&in);
	assert_int_equal(r.pick[1].fastest, RCU);
	assert_int_equal(r.pick[1].row, SPIN);
	assert_true(said("10 to 100 % updates: spinlock, 20 M"));
	assert_true(said("rcu is not faster by more than the figures scatter"));

	/* The same figures apart by more than they scatter are no tie. */
	row[RCU].mops[1] = 22;
	assert_int_equal(run(&in).pick[1].row, RCU);
	/* And with more scatter they are one again. */
	row[RCU].spread[1] = row[SPIN].spread[1] = 0.15;
	assert_int_equal(run(&in).pick[1].row, SPIN);
	/* But whatever the scatter, twice as fast is faster. */
	row[RCU].spread[0] = row[SPIN].spread[0] = 0.9;
	assert_int_equal(run(&in).pick[0].row, RCU);
}

static void it_does_not_matter(void **state)
{
	struct choose_input in = ordinary();
	struct choose_result r;
	size_t i, j;

	(void)state;
	for (i = 0; i < ROWS; i++)
		for (j = 0; j < 3; j++)
			row[i].mops[j] = 10 + 0.1 * (double)i;
	r = run(&in);
	assert_false(r.matters);
	assert_true(said("It does not matter here: nothing is faster than spinlock beyond doubt."));
	assert_false(said("updates:"));
	assert_false(said("still"));
	assert_false(said("From about"));
}

static void update_heavy(void **state)
{
	static const unsigned all[] = { 100 };
	struct choose_input in = ordinary();
	size_t i;

	(void)state;
	for (i = 0; i < ROWS; i++)
		row[i].mops[0] = row[i].mops[2];
	in.percent = all;
	in.percents = 1;
	/* The spin lock is fastest and of the least effort: there is nothing to decide. */
	assert_int_equal(run(&in).pick[0].row, SPIN);
	assert_true(said("Take that."));

	row[COUNT].mops[0] = 16;
	assert_int_equal(run(&in).pick[0].row, COUNT);
	assert_true(said("100 % updates: refcount, 16 M operations/s on 2 threads, x2 spinlock."));
}

static void read_only(void **state)
{
	struct choose_input in = ordinary();

	(void)state;
	in.percents = 1;
	assert_int_equal(run(&in).pick[0].row, RCU);
	assert_true(said("Lookups only: rcu"));
	assert_false(said("% updates:"));
}

static void what_asks_for_something_is_named_beside(void **state)
{
	struct choose_input in = ordinary();
	struct choose_result r;

	(void)state;
	r = run(&in);
	assert_int_equal(r.pick[0].beyond, CHOOSE_NOTHING);
	assert_false(said("still"));

	row[QSBR].mops[0] = 120;
	row[QSBR].mops[1] = 60;
	r = run(&in);
	assert_int_equal(r.pick[0].row, RCU);
	assert_int_equal(r.pick[0].beyond, QSBR);
	assert_int_equal(r.pick[2].beyond, CHOOSE_NOTHING);
	assert_true(said(
		"Where threads can report quiescent states, rcu-qsbr is faster still: x2 rcu at 0 "
		"%"));
	assert_false(said("at 10 % updates"));
}

static void the_unprotected_is_never_recommended(void **state)
{
	struct choose_input in = ordinary();

	(void)state;
	row[MUTEX].family = CHOOSE_UNPROTECTED;
	row[MUTEX].mops[0] = 1000;
	assert_int_equal(run(&in).pick[0].row, RCU);
	assert_int_not_equal(run(&in).pick[0].least, MUTEX);
}

static void nothing_measured(void **state)
{
	struct choose_input in = ordinary();
	size_t i, j;

	(void)state;
	for (i = 0; i < ROWS; i++)
		row[i].mops[1] = 0;
	assert_int_equal(run(&in).pick[1].row, CHOOSE_NOTHING);
	assert_int_equal(run(&in).pick[0].row, RCU);
	assert_true(said("Lookups only: rcu"));

	for (i = 0; i < ROWS; i++)
		for (j = 0; j < 3; j++)
			row[i].mops[j] = 0;
	run(&in);
	assert_int_equal(lines, 1);
	assert_true(said("Nothing was measured"));

	in.rows = 0;
	run(&in);
	assert_true(said("Nothing was measured"));
}

/* Only those with a demand were asked for: there is nothing to recommend without. */
static void only_demands(void **state)
{
	struct choose_input in = ordinary();

	(void)state;
	in.row = &row[QSBR];
	in.rows = 1;
	assert_int_equal(run(&in).pick[0].row, CHOOSE_NOTHING);
	assert_true(said("Nothing was measured that could be recommended."));
}

static void remarks(void **state)
{
	struct choose_input in = ordinary();
	size_t i, j;

	(void)state;
	row[RCU].waiting_bytes = 120e3;
	row[QSBR].waiting_bytes = 130e3;
	run(&in);
	assert_true(said("keeps what it found for long, or sleeps with it: refcount, 14 M"));
	assert_false(said("to be freed"));

	row[QSBR].waiting_bytes = 17e6;
	for (i = 0; i < ROWS; i++)
		for (j = 0; j < 3; j++)
			row[i].spread[j] = 0.4;
	run(&in);
	assert_true(said("up to 17 MB with rcu-qsbr, 120 kB with rcu."));
	assert_true(said("scatter by 40 %: the machine was busy."));
}

/* Who keeps an object for long without a count is compared with who counts. */
static void long_readers(void **state)
{
	struct choose_input in = ordinary();

	(void)state;
	row[QSBR].long_readers = true;
	run(&in);
	assert_true(said("sleeps with it: rcu-qsbr, 63 M operations/s, x4.5 refcount. With other"));

	row[QSBR].long_readers = false;
	run(&in);
	assert_true(said("sleeps with it: refcount, 14 M operations/s. With other"));

	row[COUNT].long_readers = false;
	run(&in);
	assert_false(said("keeps what it found"));
}

/* Memory that stays bounded is worth a word where the pick's does not. */
static void bounded_memory(void **state)
{
	struct choose_input in = ordinary();

	(void)state;
	run(&in);
	assert_false(said("bounded"));

	row[COUNT].family = CHOOSE_DEFERRED;
	row[COUNT].bounded = true;
	row[COUNT].waiting_bytes = 64e3;
	run(&in);
	assert_true(said("must stay bounded all the same: refcount, 14 M operations/s, x0.233 rcu; at "
			 "most 64 kB waited."));

	row[RCU].bounded = true;
	run(&in);
	assert_false(said("bounded"));

	/* With a lock nothing waits. */
	row[RCU].bounded = false;
	row[SPIN].mops[0] = 100;
	assert_int_equal(run(&in).pick[0].row, SPIN);
	assert_false(said("bounded"));
}

static void waits(void **state)
{
	struct choose_input in = ordinary();

	(void)state;
	row[RCU].wait_ns = 20000;
	run(&in);
	assert_false(said("goes on after"));

	row[COUNT].wait_ns = 100;
	run(&in);
	assert_true(said("goes on after 100 ns with refcount, after 20 us with rcu."));

	/* Nothing that asks for something, and nothing that is about the same. */
	row[COUNT].wait_ns = 0;
	row[QSBR].wait_ns = 100;
	run(&in);
	assert_false(said("goes on after"));
	row[COUNT].wait_ns = 10000;
	run(&in);
	assert_false(said("goes on after"));
}

/* Long names and many rows must not write past the lines. */
static void lines_are_bounded(void **state)
{
	static char name[600];
	struct choose_input in = ordinary();
	size_t i;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	for (i = 0; i < ROWS; i++)
		row[i].name = name;
	run(&in);
	for (i = 0; i < lines; i++)
		assert_true(strlen(line[i]) < CHOOSE_LINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(picks_the_fastest),
		cmocka_unit_test(lines_cross),
		cmocka_unit_test(ties_go_to_less_effort),
		cmocka_unit_test(it_does_not_matter),
		cmocka_unit_test(update_heavy),
		cmocka_unit_test(read_only),
		cmocka_unit_test(what_asks_for_something_is_named_beside),
		cmocka_unit_test(the_unprotected_is_never_recommended),
		cmocka_unit_test(nothing_measured),
		cmocka_unit_test(only_demands),
		cmocka_unit_test(remarks),
		cmocka_unit_test(long_readers),
		cmocka_unit_test(bounded_memory),
		cmocka_unit_test(waits),
		cmocka_unit_test(lines_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
