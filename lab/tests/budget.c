/* SPDX-License-Identifier: MIT */
/* Tests how a command shares out its time over parts that take more or less than they were given. */
#include "test.h"

#include <string.h>

#include "common/bench.h"
#include "common/clock.h"

static uint64_t made_up_ns;

#define bench_now_ns() made_up_ns
#include "../engine/budget.c"
#include "../instruments/rcu/rounds.c"

#include "tests/made_up.h"

static const double share[] = { 0.25, 0.25, 0.4, 0.1 };

#define PARTS (sizeof(share) / sizeof(share[0]))

/* Return the seconds for @part, which must be at least so much of its share of 100. */
static double for_part(struct budget *b, double gone, size_t part, double least)
{
	double rest = 0;
	size_t i;

	for (i = part; i < PARTS; i++)
		rest += share[i];
	return budget_for(b, gone, share[part], rest, least * share[part] * 100);
}

/* Return what it takes in all when each part takes @times of its time and @extra seconds. */
static double run(double seconds, double times, double extra)
{
	struct budget b = { seconds, 0 };
	double gone = 0;
	size_t i;

	for (i = 0; i < PARTS; i++)
		gone += extra + times * for_part(&b, gone, i, 0);
	return gone;
}

TEST(shares_are_shares)
{
	struct budget b = { 100, 0 };

	assert_float_equal(for_part(&b, 0, 0, 0), 25, 1e-9);
	assert_float_equal(for_part(&b, 25, 1, 0), 25, 1e-9);
	assert_float_equal(for_part(&b, 50, 2, 0), 40, 1e-9);
	assert_float_equal(for_part(&b, 90, 3, 0), 10, 1e-9);
	assert_float_equal(run(100, 1, 0), 100, 1e-6);
}

/* The time that was asked for is kept within a fifth, also where parts take longer or less. */
TEST(what_one_takes_others_give)
{
	struct budget b = { 100, 80 };

	assert_in_range((int)run(100, 1, 5), 85, 115);
	assert_in_range((int)run(100, 1.5, 0), 85, 115);
	assert_in_range((int)run(100, 2, 0), 85, 115);
	assert_in_range((int)run(100, 0.7, 0), 80, 100);
	assert_float_equal(for_part(&b, 130, 2, 0), 0, 0);
	assert_float_equal(for_part(&b, 100, 3, 0), 0, 0);
	/* A part gets less if those before took too long: their 20 seconds were 40. */
	b.given = 20;
	assert_float_equal(for_part(&b, 40, 2, 0), 24, 1e-9);
	assert_float_equal(b.given, 44, 1e-9);
	/* A part that was shorter than its share makes the next no longer. */
	b.given = 80;
	assert_float_equal(for_part(&b, 40, 2, 0), 48, 1e-9);
	b.given = 0;
	assert_float_equal(for_part(&b, 40, 2, 0), 48, 1e-9);
}

/* A part that would get less than it must is left out, and those behind it get its time. */
TEST(what_does_not_fit_is_left_out)
{
	struct budget b = { 100, 25 };

	assert_float_equal(for_part(&b, 25, 1, 0.4), 25, 1e-9);
	/* 88 of 50 that were given: 12 are left, 10 of the third one's share, of which it must get 16. */
	assert_float_equal(for_part(&b, 88, 2, 0.4), 0, 0);
	assert_float_equal(b.given, 50, 1e-9);
	/* The last gets what is left of the 12, held back as far as those before took longer. */
	assert_float_equal(for_part(&b, 88, 3, 0.4), 12 * 50. / 88, 1e-9);
	/* A little more than the least is enough, a little less is not. */
	b = (struct budget){ 100, 0 };
	assert_float_equal(for_part(&b, 95.999, 3, 0.4), 4.001, 1e-9);
	assert_float_equal(for_part(&b, 96.001, 3, 0.4), 0, 0);
}

/* ---- tables on a clock that only their blocks move ------------------------------------------- */

#define ROWS_MAX 39

/* Rows whose blocks take @times of their time, and @extra_ns. */
struct rows {
	double times;
	uint64_t extra_ns, longest_ns;
	bool measured[ROWS_MAX];
};

static const char *row_name(const void *rows, size_t i)
{
	(void)rows;
	(void)i;
	return "row";
}

static void row_block(void *arg, size_t i, uint64_t budget_ns)
{
	struct rows *rows = arg;
	uint64_t ns = (uint64_t)(rows->times * (double)budget_ns) + rows->extra_ns;

	rows->measured[i] = true;
	rows->longest_ns = ns > rows->longest_ns ? ns : rows->longest_ns;
	made_up_ns += ns;
}

/* Run tables of rows in @seconds: no block begins when they are over, and each row is measured or left out by name. */
static double run_tables(double seconds, unsigned tables, size_t count, unsigned rounds, double times, uint64_t extra_ns,
			 size_t *left_out)
{
	struct rows rows = { .times = times, .extra_ns = extra_ns };
	uint64_t from = made_up_ns;
	size_t done = 0, without = 0, i;
	unsigned table;
	double took;

	memset(&now, 0, sizeof(now));
	budget_begin(&(struct options){ .seconds = seconds }, 0, tables);
	for (table = 0; table < tables; table++) {
		double one = budget_next(1, 0, "table");

		memset(rows.measured, 0, sizeof(rows.measured));
		if (one > 0)
			rcuscale_rounds(&(struct rcuscale_rounds){ "title", rounds, count, one, &rows, row_name, row_block });
		else
			without++;
		for (i = 0; i < count; i++)
			done += rows.measured[i];
	}
	took = (double)(made_up_ns - from) / 1e9;
	assert_true(took <= seconds + (double)rows.longest_ns / 1e9);
	assert_int_equal(done + without * count + (json_array_size(now.left_out) - without), tables * count);
	*left_out = json_array_size(now.left_out);
	json_decref(now.left_out);
	return took;
}

TEST(tables_keep_the_time)
{
	static const double seconds[] = { 1, 2, 10, 100 }, times[] = { 0.1, 1, 3 };
	static const unsigned tables[] = { 1, 3, 14 }, rows[] = { 1, 4, ROWS_MAX }, rounds[] = { 1, 8, 40 };
	static const uint64_t extra_ns[] = { 0, 1000000, 20000000, 700000000 };
	unsigned i;

	for (i = 0; i < 4 * 3 * 3 * 3 * 3 * 4; i++) {
		double s = seconds[i % 4], t = times[i / 108 % 3];
		uint64_t extra = extra_ns[i / 324];
		size_t left_out;
		double took =
			run_tables(s, tables[i / 4 % 3], rows[i / 12 % 3], rounds[i / 36 % 3], t, extra, &left_out);

		if (t != 1 || extra)
			continue;
		/* Blocks that take what they are given: there is time for all, and none is left over. */
		assert_int_equal(left_out, 0);
		assert_true(took > 0.9 * s);
	}
}

/* Return how many rounds begin, each @longer than the one before, the first of @seconds. */
static unsigned rounds_of(double seconds, double longer, unsigned least, unsigned most)
{
	struct budget_rounds r = budget_rounds(10);

	for (; budget_round(&r, least, most); seconds += longer)
		made_up_ns += (uint64_t)(seconds * 1e9);
	return r.done;
}

TEST(rounds_fit)
{
	memset(&now, 0, sizeof(now));
	now.b.seconds = 10;
	assert_int_equal(rounds_of(3, 0, 1, 100), 3);
	assert_int_equal(rounds_of(2, 0, 1, 100), 5);
	assert_int_equal(rounds_of(2, 0, 1, 4), 4);
	/* The next is as long as the longest; the first ones are not asked. */
	assert_int_equal(rounds_of(1, 1, 1, 100), 4);
	assert_int_equal(rounds_of(6, -1, 1, 100), 1);
	assert_int_equal(rounds_of(3, 0, 6, 100), 6);
	assert_int_equal(rounds_of(30, 0, 6, 4), 4);
	/* Time for trying things out has all. */
	now.b.seconds = 0.1;
	assert_int_equal(rounds_of(3, 0, 1, 100), 100);
}

TEST(plans_fit)
{
	static const double seconds[] = { 1, 2, 10, 80 };
	static const unsigned threads[] = { 1, 100000 }, runs[] = { 0, 1, 9 }, cases[] = { 2, 40 };
	unsigned i;

	for (i = 0; i < 4 * 2 * 3 * 2; i++) {
		double s = seconds[i % 4], least = bench_least_seconds(threads[i / 4 % 2], cases[i / 24]), all;
		unsigned asked = runs[i / 8 % 3];
		struct bench_plan plan = bench_plan_for(threads[i / 4 % 2], asked, s, cases[i / 24]);

		assert_in_range(plan.runs, 1, asked ? asked : BENCH_RUNS);
		assert_in_range(plan.slices, 1, UINT32_MAX);
		all = (1 + plan.runs * plan.slices) * least / 2;
		/* As many runs as were asked for; but then it may be over before the last. */
		if (asked)
			assert_int_equal(plan.runs, asked);
		if (s >= least && all > s * 1.0001)
			assert_true(asked && plan.slices == 1);
		if (s >= 10 * least)
			assert_true(all > 0.6 * s);
	}
}

/* The JSON lists the parts that were left out, beside the seconds that were given and those that were planned. */
TEST(end)
{
	struct options opt = { .seconds = 12, .runs = 5 };
	struct jsonout *json = made_up_json();
	json_t *root = jsonout_root(json);

	now.b.seconds = 0.5; /* for trying things out: nothing is cut off */
	assert_int_equal(budget_most_ns(2), 0);
	now.planned_ns = 0;
	bench_planned_ns = 1500000000;
	budget_begin(&opt, 60, 2);
	budget_planned(2e9);
	budget_leave_out("row %d", 3);
	budget_runs(3, "reading");
	budget_runs(5, "all of it");
	assert_int_equal(budget_most_ns(2), 2000000001);
	made_up_ns += 3000000000;
	assert_true(budget_is_over(0.25));
	assert_false(budget_is_over(0.2501));
	assert_float_equal(budget_left(), 9, 1e-9);
	begin_printing();
	budget_end(json);
	assert_printed("\nleft out, for there was no time left: row 3, 2 of 5 runs of reading; a longer --seconds has all\n");
	assert_float_equal(jsonin_number(root, "seconds"), 12, 0);
	assert_float_equal(jsonin_number(root, "planned_seconds"), 3.5, 1e-9);
	assert_int_equal(json_array_size(json_object_get(root, "left_out")), 2);
	jsonout_close(json);
}
