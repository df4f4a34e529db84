/* SPDX-License-Identifier: MIT */
/* engine_figures.c - instructions, turns, waits and what other programs take, where each is known beforehand. */
#include "test.h"

#include <math.h>

#include "common/bench.h"
#include "common/clock.h"
#include "common/cpus.h"

static uint64_t made_up_ns;

#define bench_now_ns() made_up_ns
#define bench_cpus() 3u

#include "../engine/other_programs.c"
#include "../engine/text_table.c"
#define bench_lock_work made_up_work
static uint64_t made_up_work(uint64_t x, uint64_t turns);
#include "../engine/turns.c"
#undef bench_lock_work

#include "../engine/instructions.h"
#include "../instruments/read/predict.h"
#include "tests/made_up.h"

/* ---- instructions ------------------------------------------------------------------------------ */

#ifdef __x86_64__
/* 13 instructions that do nothing, and 2 of the loop. */
static uint64_t fifteen(void *arg, uint64_t n)
{
	(void)arg;
	__asm__ volatile("1:\n\t.rept 13\n\tnop\n\t.endr\n\tsub $1, %0\n\tjnz 1b" : "+r"(n) : : "cc");
	return n;
}

static uint64_t thirty(void *arg, uint64_t n)
{
	return fifteen(arg, 2 * n);
}

TEST(instructions)
{
	double counted = step_count(NULL, NULL, fifteen, NULL);

	if (counted < 0)
		SKIP("no single steps here");
	assert_float_equal(counted, 15, 0);
	assert_float_equal(step_count(NULL, NULL, thirty, NULL), 30, 0);
}
#endif

/* ---- turns -------------------------------------------------------------------------------------- */

static unsigned attempts;

/* 2.5 turns in a nanosecond at best; other programs make most of them slower. */
static uint64_t made_up_work(uint64_t x, uint64_t turns)
{
	made_up_ns += turns * 2 / 5 + 100 * (attempts++ % 3);
	return x;
}

TEST(turns)
{
	attempts = 1;
	bench_turns_calibrate();
	assert_int_equal(bench_turns(0), 0);
	assert_int_equal(bench_turns(1000), 2501); /* 4096 turns in 1638 ns */
	assert_int_equal(bench_turns(77000), 192547);
}

/* ---- other programs ----------------------------------------------------------------------------- */

/* 1 s of three CPUs: 0.7 s idle, 1.1 s for this process, 0.5 s for its hogs; 0.03 s is the grain. */
TEST(foreign)
{
	const struct bench_load from = { 1000, 300000000, 400000000, 200000000 },
				to = { 1000001000, 1400000000, 1100000000, 700000000 };

	assert_float_equal(bench_foreign(&from, &to), (3 - 2.3 - 0.03) / 3 - 0.1, 1e-9);
}

/* This process stands for two hogs. */
TEST(load)
{
	const pid_t hogs[] = { getpid(), getpid() };
	struct bench_load one, two;
	unsigned i;

	/* Some time that it has used. */
	for (i = 0; i < 10000; i++)
		bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	bench_load_read(&one, hogs, 1);
	bench_load_read(&two, hogs, 2);
	assert_true(one.own_ns && one.hogs_ns >= one.own_ns);
	assert_true(two.hogs_ns >= 2 * one.hogs_ns);
	bench_load_read(&one, hogs, 0);
	assert_int_equal(one.hogs_ns, 0);
}

/* ---- the distribution of waits ------------------------------------------------------------------ */

TEST(waits)
{
	static struct bench_lock_waits w, more;
	unsigned i;

	for (i = 1; i <= 1000; i++)
		bench_lock_waits_note(&w, i * 10);
	bench_lock_waits_note(&more, 500000);
	bench_lock_waits_note(&more, 20);
	assert_int_equal(w.count, 1000);
	assert_int_equal(w.sum, 5005000);
	assert_int_equal(w.max, 10000);
	/* Ends of buckets: 28 are in 9728 to 10239, 51 in the one before; no wait is longer than the longest. */
	assert_float_equal(bench_lock_waits_above(&w, 0.05), 9728, 0);
	assert_float_equal(bench_lock_waits_above(&w, 0.001), 10000, 0);
	assert_float_equal(bench_lock_waits_above(&w, 0.5), 5120, 0);
	bench_lock_waits_add(&w, &more);
	assert_int_equal(w.count, 1002);
	assert_int_equal(w.sum, 5505020);
	assert_int_equal(w.max, 500000);
	assert_float_equal(bench_lock_waits_above(&w, 0), 500000, 0);
	/* Short waits are exact. */
	memset(&w, 0, sizeof(w));
	for (i = 0; i < 100; i++)
		bench_lock_waits_note(&w, i < 90 ? 3 : i < 99 ? 7 : 12);
	assert_float_equal(bench_lock_waits_above(&w, 0.1), 4, 0);
	assert_float_equal(bench_lock_waits_above(&w, 0.09), 8, 0);
	assert_float_equal(bench_lock_waits_above(&w, 0.01), 8, 0);
	assert_float_equal(bench_lock_waits_above(&w, 0), 12, 0);
}

/* ---- what threads do beside locking -------------------------------------------------------------- */

static uint64_t after_turns(uint64_t x, uint64_t turns)
{
	while (turns--)
		x = x * 0x5851f42d4c957f2du + 1;
	return x;
}

/* Chance says, in this order: whether the section is longer, whether it sleeps, how long the thread is outside. */
TEST(sections)
{
	struct bench_lock_plan plan = { .section = 100, .outside = 1000, .longer = 700, .longer_share = 1u << 31,
					.sleep_ns = 3, .sleep_share = 1u << 30 };
	struct bench_lock_thread t = { .rng = 12345, .sections = 7 };
	uint64_t rng = 12345, sink = 0, turns, sleep_ns;
	unsigned i;

	for (i = 0; i < 200; i++) {
		turns = bench_random(&rng) >> 32 < 1u << 31 ? 800 : 100;
		sleep_ns = bench_random(&rng) >> 32 < 1u << 30 ? 3 : 0;
		bench_lock_outside(&plan, &t);
		assert_int_equal(t.turns, turns);
		assert_int_equal(t.sleep_ns, sleep_ns);
		sink = after_turns(sink, (bench_random(&rng) >> 32) * 1000 >> 32);
		assert_true(t.sink == sink);
		bench_lock_inside(&plan, &t);
		sink = after_turns(sink, turns);
		assert_true(t.sink == sink);
	}
	assert_int_equal(plan.guarded, 200);
	assert_int_equal(t.sections, 207);
	/* Shares of 0 ask chance for nothing. */
	plan.longer_share = plan.sleep_share = 0;
	bench_lock_outside(&plan, &t);
	bench_random(&rng);
	assert_true(t.rng == rng);
	assert_int_equal(t.turns, 100);
}

/* ---- cells of tables ---------------------------------------------------------------------------- */

TEST(cells)
{
	struct bench_table *t = bench_table_new("name|stat|ratio");
	const struct bench_stat stats[] = { { 1, 2.346, 9.5, 3 }, { 90, 99.96, 1234.4, 3 }, { 8, 55.55, 77, 1 }, { 0, 0, 0, 0 } };
	size_t i;

	for (i = 0; i < 4; i++) {
		bench_cell(t, "row %zu", i);
		bench_cell_stat(t, &stats[i]);
		bench_cell_ratio(t, &stats[i], &stats[2]);
	}
	bench_cell(t, "last");
	bench_cell(t, "x");
	bench_cell_ratio(t, &stats[0], &stats[3]);
	begin_printing();
	bench_table_print(t);
	assert_printed(
		"name                stat  ratio\n"
		"row 0  2.35 [1.00..9.50]  x0.04\n"
		"row 1     100 [90..1234]  x1.80\n"
		"row 2   55.5 [8.0..77.0]  x1.00\n"
		"row 3                n/a    n/a\n"
		"last                   x    n/a\n");
}
