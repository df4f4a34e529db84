/* SPDX-License-Identifier: MIT */
/* The choice of a lock in `lull compare`, over results made up for each case. */
#include "test.h"

#include "../choose/lock.c"
#include "../choose/ratio.c"
#include "common/units.c"

#include "choose_support.h"

enum { PTHREAD, ADAPTIVE, LULL, SPIN, LOCKS };
enum { ONE, TWO, FOUR, TWO_HOGS, FOUR_HOGS, LONGER, CASES };

static const struct choose_lock_case cases[CASES] = {
	{ 1, false, false }, { 2, false, false }, { 4, false, false },
	{ 2, true, false },  { 4, true, false },  { 4, false, true },
};

static struct choose_lock lock[LOCKS];

#define ROUNDS 6

/* Scatter of a lock's figures, as a share: the first lock's do not scatter, the others' each in their own order. */
static double scattered(size_t which, size_t round, double spread)
{
	static const double by[ROUNDS] = { -1, 0, 1, 0.5, 0, -0.5 };

	return which == PTHREAD ? 1 : 1 + spread * by[(round + which) % ROUNDS];
}

static void set_rate(size_t which, size_t at, double rate, double spread)
{
	struct choose_rounds *rounds = &lock[which].section[at];

	for (rounds->count = 0; rounds->count < ROUNDS; rounds->count++)
		rounds->ns[rounds->count] = 1e9 / rate / scattered(which, rounds->count, spread);
}

static void set_scattering(size_t which, double spread, double one, double two, double four, double two_hogs,
			   double four_hogs, double longer)
{
	const double rate[CASES] = { one, two, four, two_hogs, four_hogs, longer };
	size_t i;

	for (i = 0; i < CASES; i++)
		set_rate(which, i, rate[i], spread);
}

static void set_rates(size_t which, double one, double two, double four, double two_hogs,
		      double four_hogs, double longer)
{
	set_scattering(which, 0.004, one, two, four, two_hogs, four_hogs, longer);
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

TEST(names_the_one_that_gets_most_done)
{
	struct choose_locks in = ordinary();
	struct choose_lock_verdict v = run(&in);

	assert_int_equal(v.best, LULL);
	/* The fourth root of 2 x 1.8 x 1.2 x 1.3; one thread and long sections do not count. */
	assert_true(v.gain[LULL].mean > 1.53 && v.gain[LULL].mean < 1.55);
	assert_true(said("use lull-mutex, which gets 1.54 x as much done as pthread, 1.20 x at "
			 "worst, with 2 threads beside 2 busy processes"));
	assert_true(said("(2 to 4 threads, with and without 2 busy processes beside them, sections of "
			 "1 us; geometric mean)"));
}

/* Cases that there was no time for decide nothing, and are not claimed. */
TEST(says_that_some_were_not_measured)
{
	struct choose_locks in = ordinary();
	struct choose_lock_verdict v;
	size_t i;

	for (i = 0; i < LOCKS; i++)
		lock[i].section[FOUR].count = lock[i].section[FOUR_HOGS].count = 0;
	v = run(&in);
	assert_int_equal(v.best, LULL);
	assert_true(said("(2 threads, with and without 2 busy processes beside them, sections of 1 us; some of these "
			 "were not measured; geometric mean)"));
	for (i = 0; i < LOCKS; i++)
		lock[i].section[TWO_HOGS].count = 0;
	set_rate(SPIN, TWO, 120, 0.004);
	run(&in);
	assert_true(said("(2 threads, sections of 1 us; some"));
}

TEST(says_where_it_does_not_pay)
{
	struct choose_locks in = ordinary();

	run(&in);
	assert_true(said("It gains nothing where nobody waits (lock and unlock: 15 ns, pthread 20 ns) or "
			 "where sections take 200 us (1.02 x)."));
	in.section_ns = 50;
	run(&in);
	assert_true(said("It is also faster where nobody waits (lock and unlock: 15 ns, pthread 20 ns); it "
			 "gains nothing where sections take 200 us (1.02 x)."));
	set_rate(LULL, LONGER, 15, 0.004);
	run(&in);
	assert_true(said("It is also faster where nobody waits (lock and unlock: 15 ns, pthread 20 ns) and "
			 "where sections take 200 us (1.50 x)."));
	in.section_ns = 1000;
	run(&in);
	assert_true(said("It gains nothing where nobody waits (lock and unlock: 15 ns, pthread 20 ns); it "
			 "is also faster where sections take 200 us (1.50 x)."));
}

TEST(says_only_what_was_measured)
{
	struct choose_locks in = ordinary();

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
	set_rate(SPIN, TWO, 150, 0.004);
	run(&in);
	assert_true(said("(2 threads, sections of 1 us; "));
	in.cases = ONE + 1;
	assert_int_equal(run(&in).best, CHOOSE_NOTHING);
	assert_int_equal(lines, 0);
}

TEST(what_collapses_is_not_named)
{
	struct choose_locks in = ordinary();

	assert_true(run(&in).best != SPIN);
	assert_true(said("The worst choice: spinlock, 0.40 x pthread with 4 threads beside 2 busy "
			 "processes."));
	/* A lock that collapses in one case is not named, even if it gets most done in all. */
	set_rates(SPIN, 500, 2000, 2000, 1000, 79, 5);
	assert_int_equal(run(&in).best, LULL);
	set_rates(SPIN, 500, 2000, 2000, 1000, 81, 5);
	assert_int_equal(run(&in).best, SPIN);
	assert_false(said("The worst"));
	set_rates(SPIN, 500, 210, 120, 90, 81, 5);
	run(&in);
	assert_false(said("The worst"));
}

TEST(of_equals_the_easier_one)
{
	struct choose_locks in = ordinary();

	set_rates(ADAPTIVE, 500, 200, 175, 118, 129, 10);
	assert_int_equal(run(&in).best, ADAPTIVE);
	set_rates(ADAPTIVE, 500, 102, 102, 102, 102, 10);
	set_rates(LULL, 500, 103, 103, 103, 103, 10);
	set_rates(SPIN, 500, 100, 100, 100, 100, 10);
	/* The first of equal effort wins, whichever got more done this time. */
	assert_int_equal(run(&in).best, PTHREAD);
	assert_true(said("pthread will do, none that can be relied on gets more than 5 % more done ("));
	assert_false(said("gains nothing"));
}

/* A lock that got more done, and is not named, is told all the same: a reader sees it in the tables. */
TEST(level_hides_no_lead)
{
	struct choose_locks in = ordinary();

	/* Measured figures: ahead in three of four cases, and by 2 % in all. */
	set_rates(ADAPTIVE, 500, 180, 175, 103, 128, 10);
	set_rates(LULL, 500, 193, 194, 126, 96, 10);
	set_rates(SPIN, 500, 100, 100, 100, 40, 10);
	assert_int_equal(run(&in).best, ADAPTIVE);
	assert_true(said("use adaptive, which gets 1.43 x as much done as pthread"));
	assert_true(said("lull-mutex got 1.46 x; within 5 % is called level."));
	set_rates(ADAPTIVE, 500, 100, 100, 100, 100, 10);
	set_rates(LULL, 500, 104, 104, 104, 104, 10);
	assert_int_equal(run(&in).best, PTHREAD);
	assert_true(said("lull-mutex got 1.04 x; within 5 % is called level."));
	/* No lead is told where the named lock got most done. */
	set_rates(LULL, 500, 150, 150, 150, 150, 10);
	assert_int_equal(run(&in).best, LULL);
	assert_false(said("is called level"));
	set_rates(LULL, 500, 99, 99, 99, 99, 10);
	assert_int_equal(run(&in).best, PTHREAD);
	assert_false(said("is called level"));
}

TEST(doubt_names_nobody)
{
	struct choose_locks in = ordinary();
	struct choose_lock_verdict v;

	set_rates(ADAPTIVE, 500, 99, 99, 99, 99, 10);
	set_rates(SPIN, 500, 100, 100, 100, 100, 10);
	set_rates(LULL, 500, 125, 125, 125, 125, 10);
	assert_int_equal(run(&in).best, LULL);
	/* A lock in the gap is not named. */
	set_rates(LULL, 500, 107, 107, 107, 107, 10);
	v = run(&in);
	assert_int_equal(v.best, CHOOSE_NOTHING);
	assert_true(v.close[PTHREAD] && v.close[LULL]);
	assert_false(v.close[SPIN]);
	assert_true(said("no winner, because pthread (1.00 x pthread), adaptive (0.99 x pthread) and lull-mutex (1.07 x "
			 "pthread) are too close to each other."));
	/* Level in the median round, but not in all that count. */
	set_rates(LULL, 500, 125, 125, 125, 125, 10);
	set_scattering(ADAPTIVE, 0.08, 500, 124, 124, 124, 124, 10);
	v = run(&in);
	assert_int_equal(v.best, CHOOSE_NOTHING);
	assert_true(v.close[ADAPTIVE] && v.close[LULL]);
	set_scattering(ADAPTIVE, 0.01, 500, 124, 124, 124, 124, 10);
	assert_int_equal(run(&in).best, ADAPTIVE);
	set_rates(ADAPTIVE, 500, 99, 99, 99, 99, 10);
	/* Far apart, but it scatters by as much. */
	set_scattering(LULL, 0.2, 500, 125, 125, 125, 125, 10);
	assert_int_equal(run(&in).best, CHOOSE_NOTHING);
	assert_true(said("no winner"));
	set_scattering(LULL, 0.4, 500, 150, 150, 150, 150, 10);
	v = run(&in);
	assert_int_equal(v.best, CHOOSE_NOTHING);
	assert_true(said("no verdict, because the figures scatter by 40 %, and a verdict takes 25 % at most. What is missing: an "
			 "idle machine, or more time (--seconds)."));
	assert_int_equal(lines, 1);
	set_scattering(LULL, 0.9, 500, 300, 300, 300, 300, 10);
	set_scattering(ADAPTIVE, 0.9, 500, 100, 100, 100, 100, 10);
	set_scattering(SPIN, 0.9, 500, 100, 100, 100, 100, 10);
	run(&in);
	assert_true(said("no verdict, because the figures scatter by more than 100 %, and a verdict takes 25 % at most."));
}

/* One lock that repeats badly is no reason to say nothing of the others. */
TEST(one_may_scatter)
{
	struct choose_locks in = ordinary();

	set_scattering(SPIN, 0.9, 500, 110, 110, 110, 110, 5);
	assert_int_equal(run(&in).best, LULL);
}

/* Disturb all locks in a round by the same factor, which is in all their figures and in no ratio. */
static void disturb_rounds(void)
{
	static const double by[ROUNDS] = { 1, 3, 0.7, 1.6, 5, 0.5 };
	size_t i, j, k;

	for (i = 0; i < LOCKS; i++)
		for (j = 0; j < CASES; j++)
			for (k = 0; k < ROUNDS; k++)
				lock[i].section[j].ns[k] *= by[(k + j) % ROUNDS];
}

TEST(rounds_are_compared_one_by_one)
{
	struct choose_locks in = ordinary();
	struct choose_lock_verdict quiet, v;

	quiet = run(&in);
	disturb_rounds();
	v = run(&in);
	assert_int_equal(v.best, LULL);
	assert_float_equal(v.gain[LULL].mean, quiet.gain[LULL].mean, 1e-9);
	assert_float_equal(v.gain[LULL].worst, quiet.gain[LULL].worst, 1e-9);
	assert_float_equal(v.longer, quiet.longer, 1e-9);
	assert_float_equal(v.noise, quiet.noise, 1e-9);
	/* Nor is one that is level taken for another. */
	in = ordinary();
	set_rates(ADAPTIVE, 500, 198, 178, 118, 129, 10);
	disturb_rounds();
	assert_int_equal(run(&in).best, ADAPTIVE);
}

/* Which a few rounds cannot tell. */
TEST(few_rounds_are_no_proof)
{
	struct choose_locks in = ordinary();
	size_t i, j;

	for (i = 0; i < LOCKS; i++)
		for (j = 0; j < CASES; j++)
			lock[i].section[j].count = ROUNDS - 1;
	assert_int_equal(run(&in).best, CHOOSE_NOTHING);
	assert_true(said("no verdict, because 5 rounds of measurements cannot say how the figures scatter. What is missing: at "
			 "least 6 rounds (--runs)."));
	assert_int_equal(lines, 1);
	/* Too few rounds in one case are enough to spoil it. */
	in = ordinary();
	lock[LULL].section[FOUR_HOGS].count = 1;
	run(&in);
	assert_true(said("no verdict, because 1 round of measurements cannot say"));
}

TEST(sections_that_sleep)
{
	struct choose_locks in = ordinary();

	in.sleep = true;
	in.hogs = 1;
	run(&in);
	assert_true(said("with and without 1 busy process beside them, sections that sleep for 1 us"));
}
