/* SPDX-License-Identifier: MIT */
/* The choice of a lock in `lull compare`, over results made up for each case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../tools/choose/lock.c"
#include "../../tools/common/units.c"
#include "../../tools/choose/workload_words.c"

#include "tools/choose_support.h"

enum { PTHREAD, ADAPTIVE, LULL, SPIN, LOCKS };
enum { ONE, TWO, FOUR, TWO_HOGS, FOUR_HOGS, LONGER, CASES };

static const struct choose_lock_case cases[CASES] = {
	{ 1, false, false }, { 2, false, false }, { 4, false, false },
	{ 2, true, false },  { 4, true, false },  { 4, false, true },
};

static struct choose_lock lock[LOCKS];

static void set_rates(size_t which, double one, double two, double four, double two_hogs,
		      double four_hogs, double longer)
{
	const double rate[CASES] = { one, two, four, two_hogs, four_hogs, longer };
	size_t i;

	for (i = 0; i < CASES; i++) {
		lock[which].rate[i] = rate[i];
		lock[which].spread[i] = 0.02;
	}
}

/* A spin lock that is the best without hogs and falls with them. */
static struct choose_locks ordinary(void)
{
	static const char *const names[] = { "pthread", "adaptive", "lull-mutex", "spinlock" };
	static const unsigned effort[] = { 0, 0, 1, 2 };
	static const double alone[] = { 20, 21, 15, 10 };
	struct choose_locks in;
	size_t i;

	memset(&in, 0, sizeof(in));
	memset(lock, 0, sizeof(lock));
	for (i = 0; i < LOCKS; i++) {
		lock[i].name = names[i];
		lock[i].effort = effort[i];
		lock[i].alone_ns = alone[i];
	}
	set_rates(PTHREAD, 500, 100, 100, 100, 100, 10);
	set_rates(ADAPTIVE, 500, 150, 140, 110, 110, 10);
	set_rates(LULL, 500, 200, 180, 120, 130, 10.2);
	set_rates(SPIN, 500, 210, 120, 90, 40, 5);
	in.lock = lock;
	in.locks = LOCKS;
	in.at = cases;
	in.cases = CASES;
	in.section_ns = 1000;
	in.longer_ns = 200e3;
	in.hogs = 2;
	return in;
}

static struct choose_lock_verdict run(const struct choose_locks *in)
{
	struct choose_lock_verdict v;

	choose_lock(in, &v);
	lines = choose_lock_words(in, &v, line);
	return v;
}

static void names_the_one_that_gets_most_done(void **state)
{
	struct choose_locks in = ordinary();
	struct choose_lock_verdict v = run(&in);

	(void)state;
	assert_int_equal(v.best, LULL);
	/* The fourth root of 2 x 1.8 x 1.2 x 1.3; one thread and long sections do not count. */
	assert_true(v.gain[LULL].mean > 1.53 && v.gain[LULL].mean < 1.55);
	assert_true(said("use lull-mutex, which gets 1.54 x as much done as pthread, 1.20 x at "
			 "worst, with 2 threads beside 2 busy processes"));
	assert_true(said("(2 to 4 threads, with and without 2 busy processes beside them, sections of "
			 "1 us; geometric mean)"));
}

static void says_where_it_does_not_pay(void **state)
{
	struct choose_locks in = ordinary();

	(void)state;
	run(&in);
	assert_true(said("It gains nothing where nobody waits (lock and unlock: 15 ns, pthread 20 ns) or "
			 "where sections take 200 us (1.02 x)."));
	in.section_ns = 50;
	run(&in);
	assert_true(said("It is also faster where nobody waits (lock and unlock: 15 ns, pthread 20 ns); it "
			 "gains nothing where sections take 200 us (1.02 x)."));
	lock[LULL].rate[LONGER] = 15;
	run(&in);
	assert_true(said("It is also faster where nobody waits (lock and unlock: 15 ns, pthread 20 ns) and "
			 "where sections take 200 us (1.50 x)."));
	in.section_ns = 1000;
	run(&in);
	assert_true(said("It gains nothing where nobody waits (lock and unlock: 15 ns, pthread 20 ns); it "
			 "is also faster where sections take 200 us (1.50 x)."));
}

static void says_only_what_was_measured(void **state)
{
	struct choose_locks in = ordinary();

	(void)state;
	in.cases = LONGER;
	run(&in);
	assert_true(said("pthread 20 ns)."));
	assert_false(said("200 us"));
	lock[PTHREAD].alone_ns = 0;
	run(&in);
	assert_false(said("pay"));
	in.cases = TWO_HOGS;
	run(&in);
	assert_false(said("busy"));
	in.cases = FOUR;
	run(&in);
	assert_true(said("(2 threads, sections of 1 us; "));
	in.cases = ONE + 1;
	assert_int_equal(run(&in).best, CHOOSE_NOTHING);
	assert_int_equal(lines, 0);
}

static void what_collapses_is_not_named(void **state)
{
	struct choose_locks in = ordinary();

	(void)state;
	assert_true(run(&in).best != SPIN);
	assert_true(said("The worst to be had: spinlock, 0.40 x pthread with 4 threads beside 2 busy "
			 "processes."));
	/* Also when it gets most done all in all. */
	set_rates(SPIN, 500, 2000, 2000, 1000, 79, 5);
	assert_int_equal(run(&in).best, LULL);
	set_rates(SPIN, 500, 2000, 2000, 1000, 81, 5);
	assert_int_equal(run(&in).best, SPIN);
	assert_false(said("The worst"));
	set_rates(SPIN, 500, 210, 120, 90, 81, 5);
	run(&in);
	assert_false(said("The worst"));
}

static void of_equals_the_easier_one(void **state)
{
	struct choose_locks in = ordinary();
	size_t i;

	(void)state;
	set_rates(ADAPTIVE, 500, 190, 170, 115, 125, 10);
	assert_int_equal(run(&in).best, ADAPTIVE);
	set_rates(ADAPTIVE, 500, 104, 104, 104, 104, 10);
	set_rates(LULL, 500, 106, 106, 106, 106, 10);
	set_rates(SPIN, 500, 100, 100, 100, 100, 10);
	/* The same effort as pthread, a little more done. */
	assert_int_equal(run(&in).best, ADAPTIVE);
	set_rates(ADAPTIVE, 500, 99, 99, 99, 99, 10);
	assert_int_equal(run(&in).best, PTHREAD);
	assert_true(said("pthread will do"));
	assert_false(said("pay"));
	/* What scatters must be further apart. */
	set_rates(LULL, 500, 120, 120, 120, 120, 10);
	assert_int_equal(run(&in).best, LULL);
	for (i = 0; i < CASES; i++)
		lock[LULL].spread[i] = lock[PTHREAD].spread[i] = 0.2;
	assert_int_equal(run(&in).best, PTHREAD);
	assert_false(said("scatter by"));
	for (i = 0; i < CASES; i++)
		lock[LULL].spread[i] = lock[PTHREAD].spread[i] = lock[SPIN].spread[i] = 0.5;
	run(&in);
	assert_true(said("The figures scatter by 38 %"));
}

static void sections_that_sleep(void **state)
{
	struct choose_locks in = ordinary();

	(void)state;
	in.sleep = true;
	in.hogs = 1;
	run(&in);
	assert_true(said("with and without 1 busy process beside them, sections that sleep for 1 us"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_the_one_that_gets_most_done),
		cmocka_unit_test(says_where_it_does_not_pay),
		cmocka_unit_test(says_only_what_was_measured),
		cmocka_unit_test(what_collapses_is_not_named),
		cmocka_unit_test(of_equals_the_easier_one),
		cmocka_unit_test(sections_that_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
