/* SPDX-License-Identifier: MIT */
/*
 * figures.c - every figure that the measuring engine publishes, from made-up samples: medians, percentiles, times,
 * rates, cycles and instructions per operation, and their rows in the JSON. Then a loop whose cost is known.
 */
#include "test.h"

#include "common/bench.h"
#include "common/clock.h"
#include "common/counters.h"
#include "common/proc_counts.h"
#include "common/slices.h"

#include "made_up.h"

/* ---- medians and percentiles ----------------------------------------------------------------- */

TEST(median)
{
	static const struct {
		double v[6];
		size_t count;
		double min, median, max;
	} rows[] = {
		{ { 7 }, 1, 7, 7, 7 },
		{ { 9, 2 }, 2, 2, 5.5, 9 },
		{ { 30, -4, 11 }, 3, -4, 11, 30 },
		{ { 8, 100, 1, 5 }, 4, 1, 6.5, 100 },
		{ { 5, 3, 50, 2, 4 }, 5, 2, 4, 50 },
		{ { 1, 90, 7, 16, 2, 30 }, 6, 1, 11.5, 90 },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double v[6];
		struct bench_stat s;

		memcpy(v, rows[i].v, sizeof(v));
		s = bench_stat_of(v, rows[i].count);
		assert_float_equal(s.min, rows[i].min, 0);
		assert_float_equal(s.median, rows[i].median, 0);
		assert_float_equal(s.max, rows[i].max, 0);
		assert_int_equal(s.count, rows[i].count);
		s = bench_stat_scale(s, 2.5);
		assert_float_equal(s.min, rows[i].min * 2.5, 0);
		assert_float_equal(s.median, rows[i].median * 2.5, 0);
		assert_float_equal(s.max, rows[i].max * 2.5, 0);
		assert_int_equal(s.count, rows[i].count);
	}
	assert_int_equal(bench_stat_of(NULL, 0).count, 0);
}

/* The smallest value with at least so many at or below it: the values are the squares, so that a rank shows. */
TEST(percentiles)
{
	static const struct {
		size_t count;
		double percent;
		size_t rank;
	} rows[] = {
		{ 1, 0.1, 1 },	 { 1, 50, 1 },	  { 1, 100, 1 },   { 2, 50, 1 },    { 2, 50.1, 2 },   { 3, 50, 2 },
		{ 4, 50, 2 },	 { 10, 90, 9 },	  { 10, 99, 10 },  { 11, 90, 10 },  { 100, 99, 99 },  { 100, 90, 90 },
		{ 100, 1, 1 },	 { 101, 99, 100 }, { 200, 99, 198 }, { 250, 90, 225 }, { 1000, 99, 990 }, { 1000, 99.9, 999 },
		{ 1000, 100, 1000 },
	};
	uint64_t v[1000];
	size_t i;

	for (i = 0; i < 1000; i++)
		v[i] = (i + 1) * (i + 1);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_float_equal(bench_percentile(v, rows[i].count, rows[i].percent),
				   (double)(rows[i].rank * rows[i].rank), 0);
	assert_float_equal(bench_percentile(v, 0, 50), 0, 0);
}

TEST(latency)
{
	uint64_t v[250], two[] = { 70, 13 };
	struct bench_latency l;
	size_t i;

	/* The squares of 1 to 250, shuffled: 97 has no divisor in common with 250. */
	for (i = 0; i < 250; i++)
		v[i] = (i * 97 % 250 + 1) * (i * 97 % 250 + 1);
	l = bench_latency_of(v, 250);
	assert_float_equal(l.min, 1, 0);
	assert_float_equal(l.mean, 250. * 251 * 501 / 6 / 250, 1e-6);
	assert_float_equal(l.p50, 125 * 125, 0);
	assert_float_equal(l.p90, 225 * 225, 0);
	assert_float_equal(l.p99, 248 * 248, 0);
	assert_float_equal(l.max, 250 * 250, 0);
	assert_int_equal(l.count, 250);
	l = bench_latency_of(two, 2);
	assert_float_equal(l.min, 13, 0);
	assert_float_equal(l.mean, 41.5, 0);
	assert_float_equal(l.p50, 13, 0);
	assert_float_equal(l.p90, 70, 0);
	assert_float_equal(l.max, 70, 0);
	l = bench_latency_of(NULL, 0);
	assert_int_equal(l.count, 0);
	assert_float_equal(l.max, 0, 0);
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* Three workers, of which none began, ended or worked as another did. */
static const struct bench_sample three[] = {
	{ .ops = 1000, .start = 5000, .end = 12000, .cycles = 21000, .instructions = 33000, .counted = true },
	{ .ops = 300, .start = 4000, .end = 9000, .cycles = 15000, .instructions = 11000, .counted = true },
	{ .ops = 700, .start = 6000, .end = 14000, .cycles = 24000, .instructions = 16000, .counted = true },
};

/* 2000 operations in 20000 ns of three threads, from 4000 to 14000. */
TEST(slice)
{
	struct bench_sample sample[3];
	struct bench_slice s = bench_slice_of(three, 3, false);

	assert_int_equal(s.ops, 2000);
	assert_float_equal(s.figure[BENCH_NS], 10, 1e-9);
	assert_float_equal(s.figure[BENCH_MOPS], 200, 1e-9);
	assert_float_equal(s.figure[BENCH_CYCLES], 30, 1e-9);
	assert_float_equal(s.figure[BENCH_INSTRUCTIONS], 30, 1e-9);
	assert_true(s.counted);
	assert_false(s.disturbed);
	/* The first two alone: 1300 in 12000 ns, from 4000 to 12000. */
	s = bench_slice_of(three, 2, false);
	assert_int_equal(s.ops, 1300);
	assert_float_equal(s.figure[BENCH_NS], 12000. / 1300, 1e-9);
	assert_float_equal(s.figure[BENCH_MOPS], 162.5, 1e-9);
	assert_float_equal(s.figure[BENCH_CYCLES], 36000. / 1300, 1e-9);
	assert_float_equal(s.figure[BENCH_INSTRUCTIONS], 44000. / 1300, 1e-9);
	memcpy(sample, three, sizeof(three));
	sample[0].preempted = true;
	assert_true(bench_slice_of(sample, 3, false).disturbed);
	assert_false(bench_slice_of(sample, 3, true).disturbed);
	sample[1].counted = false;
	assert_false(bench_slice_of(sample, 3, false).counted);
	assert_true(bench_slice_of(sample, 1, false).counted);
}

/* A slice with figures of its own, all different. */
static struct bench_slice slice(double ns, bool disturbed)
{
	return (struct bench_slice){ .figure = { ns, 1000 / ns, 3 * ns, 2 * ns + 1 }, .ops = (uint64_t)(ns * 10),
				     .counted = true, .disturbed = disturbed };
}

static void add_run(struct bench_tally *y, const struct bench_plan *plan, struct bench_result *r, const double *ns)
{
	bench_tally_begin(y);
	for (; *ns != 0; ns++)
		bench_tally_add(y, slice(*ns < 0 ? -*ns : *ns, *ns < 0));
	bench_tally_end_run(y, plan, r);
}

static void expect(const struct bench_stat *s, double min, double median, double max, size_t count)
{
	assert_float_equal(s->min, min, 1e-9);
	assert_float_equal(s->median, median, 1e-9);
	assert_float_equal(s->max, max, 1e-9);
	assert_int_equal(s->count, count);
}

/* A negative time is a slice that was disturbed. */
TEST(result_of_runs)
{
	const struct bench_plan plan = { .threads = 1, .runs = 3, .slices = 3, .redo = 2 };
	struct bench_tally y = bench_tally_new(&plan);
	struct bench_result r = { 0 };

	y.counted = true;
	add_run(&y, &plan, &r, (double[]){ 5, -90, 4, 20, 0 });	      /* 5, and 90 is dropped */
	add_run(&y, &plan, &r, (double[]){ 8, 10, 0 });		      /* 9 */
	add_run(&y, &plan, &r, (double[]){ 40, -25, -16, -2, -50, 0 }); /* too few are good: 25 of all */
	bench_tally_finish(&y, &r);
	expect(&r.ns, 5, 9, 25, 3);
	expect(&r.mops, 40, 112.5, 200, 3);
	expect(&r.cycles, 15, 27, 75, 3);
	expect(&r.instructions, 11, 19, 51, 3);
	assert_int_equal(r.ops, 10 * (5 + 4 + 20 + 8 + 10 + 40 + 25 + 16 + 2 + 50));
	assert_int_equal(r.slices, 10);
	assert_int_equal(r.dropped, 1);
	assert_int_equal(r.disturbed, 4);
	assert_int_equal(r.runs, 3);
}

/* Slices of a single run are its figures, not their median alone. What no counter has counted is not said. */
TEST(result_of_one_run)
{
	const struct bench_plan plan = { .threads = 1, .runs = 1, .slices = 4, .redo = 0 };
	struct bench_tally y = bench_tally_new(&plan);
	struct bench_result r = { 0 };

	add_run(&y, &plan, &r, (double[]){ 40, 5, 8, 20, 0 });
	bench_tally_finish(&y, &r);
	expect(&r.ns, 5, 14, 40, 4);
	expect(&r.mops, 25, 87.5, 200, 4);
	assert_int_equal(r.cycles.count, 0);
	assert_int_equal(r.instructions.count, 0);
	assert_int_equal(r.runs, 1);
	assert_int_equal(r.slices, 4);
}

/* Half of the slices that were planned, or that there was time for, have to be good. */
TEST(enough_good_slices)
{
	static const struct {
		double ns[8];
		unsigned dropped, disturbed;
	} rows[] = {
		{ { 3, 4, -5, 0 }, 1, 0 },	 { { 3, -4, -5, 0 }, 0, 2 },   { { 3, -4, 0 }, 1, 0 },
		{ { -3, -4, 0 }, 0, 2 },	 { { 3, 6, -4, -5, 0 }, 2, 0 }, { { 3, 6, -4, -5, -7, -8, 0 }, 4, 0 },
		{ { 3, -4, -5, -7, -8, 0 }, 0, 4 },
	};
	const struct bench_plan plan = { .threads = 1, .runs = 2, .slices = 4, .redo = 4 };
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench_tally y = bench_tally_new(&plan);
		struct bench_result r = { 0 };

		add_run(&y, &plan, &r, rows[i].ns);
		bench_tally_finish(&y, &r);
		assert_int_equal(r.dropped, rows[i].dropped);
		assert_int_equal(r.disturbed, rows[i].disturbed);
	}
}

/* ---- what the kernel counts ------------------------------------------------------------------ */

static const char interrupts[] = "           CPU0       CPU2       CPU3\n"
				 "  0:         41         42         43   IO-APIC    2-edge      timer\n"
				 "RES:       1000       2000       3000   Rescheduling interrupts\n"
				 "CAL:         70        800       9000   Function call interrupts\n"
				 "TLB:          5          6          7   TLB shootdowns\n";

TEST(interrupts)
{
	uint64_t total = 1, per_cpu[] = { 1, 1, 1, 1, 77 };
	FILE *file = fmemopen((char *)(uintptr_t)interrupts, sizeof(interrupts) - 1, "r");

	assert_true(proc_call_interrupts(file, &total, per_cpu, 4));
	assert_int_equal(total, 9870);
	assert_int_equal(per_cpu[0], 70);
	assert_int_equal(per_cpu[1], 0);
	assert_int_equal(per_cpu[2], 800);
	assert_int_equal(per_cpu[3], 9000);
	assert_int_equal(per_cpu[4], 77);
	rewind(file);
	assert_true(proc_call_interrupts(file, &total, NULL, 0));
	assert_int_equal(total, 9870);
	/* Nothing is left: there is no such line. */
	assert_false(proc_call_interrupts(file, &total, NULL, 0));
	assert_int_equal(total, 0);
	fclose(file);
}

static const char stat_lines[] = "cpu  900 90 80 70 60 5 4 3 2 1\n"
				 "cpu0 1 2 3 100 20 6 7 8 9 10\n"
				 "cpu1 1 2 3 4000 500 6 7 8 9 10\n"
				 "cpu12 1 2 3 30 4 6 7 8 9 10\n"
				 "intr 1 2 3 4 5\n";

static bool but_the_second(int cpu)
{
	return cpu != 1;
}

TEST(idle)
{
	FILE *file = fmemopen((char *)(uintptr_t)stat_lines, sizeof(stat_lines) - 1, "r");

	assert_int_equal(proc_idle_ns(file, 1e7, but_the_second), 1540000000);
	fclose(file);
}

/* ---- rows of the JSON ------------------------------------------------------------------------ */

TEST(rows)
{
	struct jsonout *json = made_up_json();
	const struct bench_stat stat = { 1.5, 2.25, 70, 3 }, none = { 0 };
	const struct bench_latency latency = { 1, 20, 3, 4, 50, 600, 7 }, nothing = { 0 };

	jsonout_stat(json, "a", 4, "read", "ns", &stat);
	jsonout_stat(json, "b", 1, "write", "1/s", &none);
	jsonout_latency(json, "c", 2, "wait", &latency);
	jsonout_latency(json, "d", 3, "wait", &nothing);
	assert_rows(json,
		"{scheme:a,threads:4,metric:read,unit:ns,min:1.5,median:2.25,max:70.0}\n"
		"{scheme:b,threads:1,metric:write,unit:1/s,min:null,median:null,max:null}\n"
		"{scheme:c,threads:2,metric:wait,unit:ns,min:1.0,median:3.0,max:600.0,mean:20.0,p50:3.0,p90:4.0,"
		"p99:50.0,count:7}\n"
		"{scheme:d,threads:3,metric:wait,unit:ns,min:null,median:null,max:null,mean:null,p50:null,"
		"p90:null,p99:null,count:0}\n");
}

/* JSON is UTF-8; what is not has a mark for each byte. And without --json there is none. */
TEST(strings)
{
	struct options opt = OPTIONS_INIT("made-up");
	json_t *plain = jsonout_string("caf\xc3\xa9"), *other = jsonout_string("caf\xe9 \x7f~");

	assert_string_equal(json_string_value(plain), "caf\xc3\xa9");
	assert_string_equal(json_string_value(other), "caf? ?~");
	json_decref(plain);
	json_decref(other);
	assert_null(jsonout_open(&opt));
	assert_null(jsonout_stat(NULL, "a", 1, "read", "ns", NULL));
	jsonout_close(NULL);
}

/* What a row says is what is read of it again. */
TEST(rows_read_again)
{
	json_t *row = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:s}", "min", 1., "median", 2., "max", 3.,
				"mean", 4., "p50", 5., "p90", 6., "p99", 7., "count", 8, "name", "nine");
	struct bench_stat s = jsonin_stat(row);
	struct bench_latency l = jsonin_latency(row);

	expect(&s, 1, 2, 3, 1);
	assert_float_equal(l.min, 1, 0);
	assert_float_equal(l.max, 3, 0);
	assert_float_equal(l.mean, 4, 0);
	assert_float_equal(l.p50, 5, 0);
	assert_float_equal(l.p90, 6, 0);
	assert_float_equal(l.p99, 7, 0);
	assert_int_equal(l.count, 8);
	assert_string_equal(jsonin_text(row, "name"), "nine");
	assert_string_equal(jsonin_text(row, "no"), "");
	json_object_set_new(row, "median", json_null());
	assert_int_equal(jsonin_stat(row).count, 0);
	json_decref(row);
}

/* ---- a cost that is known --------------------------------------------------------------------- */

struct known {
	uint64_t ns;		    /* of an operation, at least */
	uint64_t first[2], last[2]; /* when each thread was there in this slice, warming up included */
	double spent;		    /* so, all slices that count */
	unsigned slices;
};

/* An operation is over when so long has gone by: whoever else runs makes it longer, and nobody makes it shorter. */
static uint64_t known_body(struct bench_thread *t, void *arg, uint64_t n)
{
	struct known *known = arg;
	uint64_t now = bench_now_ns(), until = now + n * known->ns;

	if (!known->first[t->index])
		known->first[t->index] = now;
	do
		now = bench_now_ns();
	while (now < until);
	known->last[t->index] = now;
	return now;
}

static void known_before(void *arg, unsigned threads)
{
	struct known *known = arg;

	memset(known->first, 0, threads * sizeof(*known->first));
}

static void known_after(void *arg, unsigned threads, uint64_t ops, uint64_t ns)
{
	struct known *known = arg;

	(void)ops;
	(void)ns;
	while (known->slices && threads--)
		known->spent += (double)(known->last[threads] - known->first[threads]);
	known->slices++;
}

/*
 * What is published of it lies between what it is, and what the threads themselves saw go by. Each run has one slice, so
 * that times and rates are those of the same slices; the first of all counts for nothing.
 */
TEST(known_cost)
{
	struct bench_plan plan = { .runs = 5, .slices = 1, .slice_ns = 3000000, .warm_ns = 10000 };
	struct bench_pool *pool = bench_pool_new(2);
	struct bench_result r[2];
	unsigned i;

	for (plan.threads = 1; plan.threads <= 2; plan.threads++) {
		struct known known[] = { { .ns = 1000 }, { .ns = 3000 } };
		struct bench_case cases[2];

		for (i = 0; i < 2; i++)
			cases[i] = (struct bench_case){ .name = "known", .arg = &known[i], .body = known_body,
							.before = known_before, .after = known_after };
		bench_measure(pool, &plan, cases, 2, r);
		for (i = 0; i < 2; i++) {
			assert_int_equal(r[i].runs, 5);
			assert_int_equal(known[i].slices, 6);
			assert_true(r[i].ns.min >= (double)known[i].ns);
			assert_true((double)r[i].ops * r[i].ns.min <= known[i].spent * 1.01);
			assert_true(r[i].mops.max <= plan.threads * 1000. / (double)known[i].ns);
			/* Threads that begin and end together would have no less. */
			assert_true(r[i].mops.median <= plan.threads * 1000. / r[i].ns.median * (1 + 1e-9));
		}
		if (plan.threads == 1)
			assert_float_equal(r[0].mops.median * r[0].ns.median, 1000, 1e-6);
	}
	bench_pool_free(pool);
}
