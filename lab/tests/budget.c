/* SPDX-License-Identifier: MIT */
/* Tests how `lull compare` shares out its time over parts that take more or less than they were given. */
#include "test.h"

#include "../compare/budget.c"

static const double share[] = { 0.25, 0.25, 0.4, 0.1 };

#define PARTS (sizeof(share) / sizeof(share[0]))

/* Return what it takes in all when each part takes @times of its time and @extra seconds. */
static double run(double seconds, double times, double extra)
{
	struct compare_budget b = { seconds, 0, 0 };
	double gone = 0;
	size_t i;

	for (i = 0; i < PARTS; i++)
		gone += extra + times * compare_budget_for(&b, gone, share, i, PARTS);
	return gone;
}

TEST(shares_are_shares)
{
	struct compare_budget b = { 100, 0, 0 };

	assert_float_equal(compare_budget_for(&b, 0, share, 0, PARTS), 25, 1e-9);
	assert_float_equal(compare_budget_for(&b, 25, share, 1, PARTS), 25, 1e-9);
	assert_float_equal(compare_budget_for(&b, 50, share, 2, PARTS), 40, 1e-9);
	assert_float_equal(compare_budget_for(&b, 90, share, 3, PARTS), 10, 1e-9);
	assert_float_equal(run(100, 1, 0), 100, 1e-6);
}

/* The time that was asked for is kept within a fifth, also where parts take longer or less. */
TEST(what_one_takes_others_give)
{
	struct compare_budget b = { 100, 80, 0 };

	assert_in_range((int)run(100, 1, 5), 85, 115);
	assert_in_range((int)run(100, 1.5, 0), 85, 115);
	assert_in_range((int)run(100, 2, 0), 85, 115);
	assert_in_range((int)run(100, 0.7, 0), 80, 100);
	assert_float_equal(compare_budget_for(&b, 130, share, 2, PARTS), 0, 0);
	assert_float_equal(compare_budget_for(&b, 100, share, 3, PARTS), 0, 0);
	/* A part gets less if those before took too long: their 20 seconds were 40. */
	b.given = 20;
	assert_float_equal(compare_budget_for(&b, 40, share, 2, PARTS), 24, 1e-9);
	assert_float_equal(b.given, 44, 1e-9);
	/* A part that was shorter than its share makes the next no longer. */
	b.given = 80;
	assert_float_equal(compare_budget_for(&b, 40, share, 2, PARTS), 48, 1e-9);
	b.given = 0;
	assert_float_equal(compare_budget_for(&b, 40, share, 2, PARTS), 48, 1e-9);
}

/* A part that would get less than it must is left out, and those behind it get its time. */
TEST(what_does_not_fit_is_left_out)
{
	struct compare_budget b = { 100, 25, 0.4 };

	assert_float_equal(compare_budget_for(&b, 25, share, 1, PARTS), 25, 1e-9);
	/* 88 of 50 that were given: 12 are left, 10 of the third one's share, of which it must get 16. */
	assert_float_equal(compare_budget_for(&b, 88, share, 2, PARTS), 0, 0);
	assert_float_equal(b.given, 50, 1e-9);
	/* The last gets what is left of the 12, held back as far as those before took longer. */
	assert_float_equal(compare_budget_for(&b, 88, share, 3, PARTS), 12 * 50. / 88, 1e-9);
	/* A little more than the least is enough, a little less is not. */
	b = (struct compare_budget){ 100, 0, 0.4 };
	assert_float_equal(compare_budget_for(&b, 95.999, share, 3, PARTS), 4.001, 1e-9);
	assert_float_equal(compare_budget_for(&b, 96.001, share, 3, PARTS), 0, 0);
}
