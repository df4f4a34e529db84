/* SPDX-License-Identifier: MIT */
/* table_figures.c - every figure that refscale, hashscale, labelscale and keyscale publish, from made-up results. */
#include "test.h"

#include "common/bench.h"
#include "lock_scheme.h"

#include "../engine/text_table.c"
#define find_job find_hash_job
#include "../instruments/hash/results.c"
#undef cell_time
#define cell_time cell_time_within
#include "../instruments/hash/reload_results.c"
#include "../instruments/labels/results.c"
#include "../instruments/lockdep_keys/results.c"
#include "../instruments/read/results.c"

#include "tests/made_up.h"

/* A result of which no figure is like another, or like that of other results. */
static struct bench_result result(double ns, bool counted)
{
	return (struct bench_result){ .ns = { ns * 0.9, ns, ns * 1.3, 5 },
				      .mops = { 1300 / ns, 1700 / ns, 1900 / ns, 5 },
				      .cycles = { ns * 2, ns * 2.5, ns * 4, counted ? 5 : 0 },
				      .instructions = { ns * 5, ns * 6, ns * 7, counted ? 5 : 0 },
				      .ops = 12345,
				      .slices = 20 + (unsigned)ns,
				      .dropped = 3,
				      .disturbed = 4 + (unsigned)ns % 5,
				      .runs = 5 };
}

/* ---- refscale -------------------------------------------------------------------------------- */

TEST(read)
{
	static const char *const names[] = { "none", "rcu", "rwlock" };
	const struct bench_result results[] = { result(2, true), result(3.5, true), result(110, true) };
	const struct read_sections sections[] = { { .mode = MODE_READ }, { .mode = MODE_HOLD, .hold_ns = 700 },
						  { .mode = MODE_NESTED, .nested = 3 } };
	struct jsonout *json = made_up_json();
	size_t i;

	begin_printing();
	read_print(names, 3, results);
	assert_printed(
		"scheme     ns per section  x none  cycles  instructions  Mops/s\n"
		"none    2.00 [1.80..2.60]   x1.00     5.0          12.0   850.0\n"
		"rcu     3.50 [3.15..4.55]   x1.75     8.8          21.0   485.7\n"
		"rwlock      110 [99..143]   x55.0   275.0         660.0    15.5\n"
		"(17 slices were disturbed by other programs and had to be used all the same)\n");
	for (i = 0; i < 3; i++)
		read_write_json(json, &sections[i], names[i], (unsigned)i + 1, &results[i], &results[0], true);
	assert_rows(json,
		"{scheme:none,threads:1,metric:read_section,unit:ns,min:1.8,median:2.0,max:2.6,mops:850.0,"
		"cycles:5.0,cycles_from:counter,instructions:12.0,instructions_from:counter,times_none:1.0,"
		"slices:22,slices_dropped:3,slices_disturbed:6}\n"
		"{scheme:rcu,threads:2,metric:read_hold,unit:ns,min:3.15,median:3.5,max:4.55,mops:485.714,"
		"cycles:8.75,cycles_from:counter,instructions:21.0,instructions_from:counter,times_none:1.75,"
		"slices:23,slices_dropped:3,slices_disturbed:7,hold_ns:700}\n"
		"{scheme:rwlock,threads:3,metric:read_nested,unit:ns,min:99.0,median:110.0,max:143.0,"
		"mops:15.4545,cycles:275.0,cycles_from:counter,instructions:660.0,instructions_from:counter,"
		"times_none:55.0,slices:130,slices_dropped:3,slices_disturbed:4,nested:3}\n");
}

/* Cycles from a clock on which a chain of 8 multiplications is 24 of them, instructions from single steps. */
TEST(read_without_counters)
{
	static const char *const names[] = { "none", "rcu" };
	const struct read_sections chain = { .mode = MODE_CHAIN };
	struct bench_result results[] = { result(2, false), result(3.5, false), result(6, true) }, clock = result(12, false);
	struct jsonout *json = made_up_json();

	if (!read_clock_known())
		SKIP("no clock is known here");
	read_fill_in(&results[0], 7, &clock);
	read_fill_in(&results[1], -1, &clock);
	read_fill_in(&results[2], 9, &clock);
	read_fill_in(&clock, 0, &clock);
	assert_int_equal(clock.instructions.count, 1);
	assert_float_equal(results[0].cycles.median, 4, 1e-9);
	assert_float_equal(results[1].cycles.max, 3.5 * 1.3 * 2, 1e-9);
	assert_float_equal(results[2].cycles.median, 15, 1e-9);
	assert_float_equal(results[2].instructions.median, 36, 1e-9);
	begin_printing();
	read_print(names, 2, results);
	assert_printed(
		"scheme     ns per section  x none  cycles  instructions  Mops/s\n"
		"none    2.00 [1.80..2.60]   x1.00     4.0           7.0   850.0\n"
		"rcu     3.50 [3.15..4.55]   x1.75     7.0           n/a   485.7\n"
		"(13 slices were disturbed by other programs and had to be used all the same)\n");
	read_write_json(json, &chain, names[0], 1, &results[0], &results[0], false);
	read_write_json(json, &chain, names[1], 1, &results[1], &results[0], false);
	results[1].cycles.count = results[1].mops.count = 0;
	read_write_json(json, &chain, names[1], 2, &results[1], &results[0], false);
	assert_rows(json,
		"{scheme:none,threads:1,metric:read_chain,unit:ns,min:1.8,median:2.0,max:2.6,mops:850.0,"
		"cycles:4.0,cycles_from:clock,instructions:7.0,instructions_from:single-step,times_none:1.0,"
		"slices:22,slices_dropped:3,slices_disturbed:6}\n"
		"{scheme:rcu,threads:1,metric:read_chain,unit:ns,min:3.15,median:3.5,max:4.55,mops:485.714,"
		"cycles:7.0,cycles_from:clock,instructions:null,instructions_from:n/a,times_none:1.75,slices:23,"
		"slices_dropped:3,slices_disturbed:7}\n"
		"{scheme:rcu,threads:2,metric:read_chain,unit:ns,min:3.15,median:3.5,max:4.55,mops:null,"
		"cycles:null,cycles_from:n/a,instructions:null,instructions_from:n/a,times_none:1.75,slices:23,"
		"slices_dropped:3,slices_disturbed:7}\n");
}

/* ---- hashscale ------------------------------------------------------------------------------- */

static const struct bench_hash_scheme none = { .name = "none" }, one = { .name = "one" }, two = { .name = "two" };
static unsigned updates[] = { 0, 10 };
static const struct hashscale_settings settings = { .updates = updates, .nr_updates = 2 };

static struct hashscale made_up_run(struct jsonout *json)
{
	return (struct hashscale){ .settings = &settings, .json = json, .count = 3,
				   .entries = { { .scheme = &one }, { .scheme = &none }, { .scheme = &two } } };
}

TEST(hash)
{
	struct jsonout *json = made_up_json();
	struct hashscale run = made_up_run(json);
	double cpu[5][3] = { { 30, 10, 20 }, { 7, 9, 8 }, { 41, 43, 47 }, { 90, 70, 60 }, { 4, 6, 4 } };
	/* "two" has no updates beside readers; its lookups come last. */
	const struct hashscale_job jobs[] = {
		{ .entry = &run.entries[0], .percent = 0, .cpu = cpu[0], .slices = 3, .waiting = 11, .result = result(50, true) },
		{ .entry = &run.entries[1], .percent = 0, .cpu = cpu[1], .slices = 3, .waiting = 12, .result = result(20, true) },
		{ .entry = &run.entries[0], .percent = 10, .cpu = cpu[2], .slices = 3, .waiting = 13, .result = result(90, true) },
		{ .entry = &run.entries[1], .percent = 10, .cpu = cpu[3], .slices = 2, .waiting = 14, .result = result(30, false) },
		{ .entry = &run.entries[2], .percent = 0, .cpu = cpu[4], .slices = 3, .waiting = 15, .result = result(250, false) },
	};

	begin_printing();
	hashscale_print_mops(&run, jobs, 5);
	hashscale_print_cpu(&run, jobs, 5);
	hashscale_print_counted(&run, jobs, 5);
	assert_printed(
		"Mops/s by updates         0 %        10 %  x none\n"
		"one                34.0 +-24%  18.9 +-24%   x2.50\n"
		"none               85.0 +-24%  56.7 +-24%   x1.00\n"
		"two                6.80 +-24%         n/a   x12.5\n"
		"\n"
		"CPU ns/operation  0 %  10 %\n"
		"one                20    43\n"
		"none                8    80\n"
		"two                 4   n/a\n"
		"\n"
		"cycles/operation  0 %  10 %\n"
		"one               125   225\n"
		"none               50    75\n"
		"two               625   n/a\n"
		"\n"
		"instructions/operation   0 %  10 %\n"
		"one                      300   540\n"
		"none                     120   180\n"
		"two                     1500   n/a\n");
	hashscale_write_json(&run, jobs, 5, 3);
	assert_rows(json,
		"{scheme:one,threads:3,metric:operations,unit:Mops,min:26.0,median:34.0,max:38.0,"
		"update_percent:0,ns:50.0,cpu_ns:20.0,times_none:2.5,cycles:125.0,instructions:300.0,"
		"deferred_items:11,slices:70,slices_dropped:3,slices_disturbed:4}\n"
		"{scheme:none,threads:3,metric:operations,unit:Mops,min:65.0,median:85.0,max:95.0,"
		"update_percent:0,ns:20.0,cpu_ns:8.0,times_none:1.0,cycles:50.0,instructions:120.0,"
		"deferred_items:12,slices:40,slices_dropped:3,slices_disturbed:4}\n"
		"{scheme:one,threads:3,metric:operations,unit:Mops,min:14.4444,median:18.8889,max:21.1111,"
		"update_percent:10,ns:90.0,cpu_ns:43.0,times_none:4.5,cycles:225.0,instructions:540.0,"
		"deferred_items:13,slices:110,slices_dropped:3,slices_disturbed:4}\n"
		"{scheme:none,threads:3,metric:operations,unit:Mops,min:43.3333,median:56.6667,max:63.3333,"
		"update_percent:10,ns:30.0,cpu_ns:80.0,times_none:1.5,cycles:null,instructions:null,"
		"deferred_items:14,slices:50,slices_dropped:3,slices_disturbed:4}\n"
		"{scheme:two,threads:3,metric:operations,unit:Mops,min:5.2,median:6.8,max:7.6,update_percent:0,"
		"ns:250.0,cpu_ns:4.0,times_none:12.5,cycles:null,instructions:null,deferred_items:15,slices:270,"
		"slices_dropped:3,slices_disturbed:4}\n");
}

TEST(hash_slices)
{
	struct hashscale_job job = { .waiting = 0 };

	hashscale_note_slice(&job, 9000, 300, 5);
	hashscale_note_slice(&job, 8000, 400, 9);
	hashscale_note_slice(&job, 7000, 100, 7);
	assert_int_equal(job.slices, 3);
	assert_float_equal(job.cpu[0], 30, 0);
	assert_float_equal(job.cpu[1], 20, 0);
	assert_float_equal(job.cpu[2], 70, 0);
	assert_int_equal(job.waiting, 9);
	free(job.cpu);
}

/* Without the unprotected table there is nothing to hold against. */
TEST(hash_without_none)
{
	struct jsonout *json = made_up_json();
	struct hashscale run = made_up_run(json);
	double cpu[] = { 5 };
	const struct hashscale_job job = { .entry = &run.entries[0], .percent = 0, .cpu = cpu, .slices = 1,
					   .result = result(50, false) };

	run.count = 1;
	begin_printing();
	hashscale_print_mops(&run, &job, 1);
	assert_printed(
		"Mops/s by updates         0 %  10 %  x none\n"
		"one                34.0 +-24%   n/a     n/a\n");
	hashscale_write_json(&run, &job, 1, 2);
	assert_rows(json,
		"{scheme:one,threads:2,metric:operations,unit:Mops,min:26.0,median:34.0,max:38.0,"
		"update_percent:0,ns:50.0,cpu_ns:5.0,times_none:null,cycles:null,instructions:null,"
		"deferred_items:0,slices:70,slices_dropped:3,slices_disturbed:4}\n");
}

/* The first slice is the engine's and counts for nothing. */
TEST(hash_updates)
{
	struct jsonout *json = made_up_json();
	struct hashscale run = made_up_run(json);
	struct hashscale_update jobs[] = {
		{ .job = { .entry = &run.entries[0], .waiting = 17 },
		  .slice = { { 1, 1, 1, 1, 1, 99999, 100 },
			     { 30, 50, 40, 60, 800, 2000, 10 },
			     { 25, 58, 45, 70, 700, 3000, 20 },
			     { 35, 51, 47, 62, 950, 1000, 40 } },
		  .slices = 4 },
		{ .job = { .entry = &run.entries[2], .waiting = 0 },
		  .slice = { { 1, 1, 1, 1, 1, 99999, 100 },
			     { 300, 500, 400, 600, 8000, 20000, 10 },
			     { 250, 590, 460, 740, 7000, 30000, 20 } },
		  .slices = 3 },
	};

	begin_printing();
	hashscale_report_updates(&run, jobs, 2, 2);
	assert_printed(
		"\n"
		"single updates, while another thread looks up\n"
		"scheme  update p50     p90     p99    max  waiting at most  bytes\n"
		"one          45 ns   62 ns  800 ns   3 us               17   1088\n"
		"two         430 ns  670 ns  7.5 us  30 us                0      0\n");
	assert_rows(json,
		"{scheme:one,threads:2,metric:update,unit:ns,min:25.0,median:45.0,max:3000.0,mean:51.0,p50:45.0,"
		"p90:62.0,p99:800.0,count:70,deferred_items:17,deferred_bytes:1088}\n"
		"{scheme:two,threads:2,metric:update,unit:ns,min:250.0,median:430.0,max:30000.0,mean:545.0,"
		"p50:430.0,p90:670.0,p99:7500.0,count:30,deferred_items:0,deferred_bytes:0}\n");
}

/* ---- reloads ---------------------------------------------------------------------------------- */

static void slice_of(struct hashscale_tally *t, unsigned by)
{
	unsigned i;

	memset(t, 0, sizeof(*t));
	for (i = 0; i < 4; i++)
		hashscale_add_reload(t, 1000000 * by + 70000 * (i * 3 % 4));
	t->given_up = by - 1;
	for (i = 0; i < 90; i++)
		bench_lock_waits_note(&t->updates, 9);
	for (i = 0; i < 8; i++)
		bench_lock_waits_note(&t->updates, 300 * by);
	bench_lock_waits_note(&t->updates, 4000 * by);
	bench_lock_waits_note(&t->updates, 50000 * by);
	t->lookups[0] = 3000 * by;
	t->lookups_ns[0] = 20000;
	t->lookups[1] = 9000 * by;
	t->lookups_ns[1] = 30000;
	t->waiting = 100 - 30 * by;
}

TEST(reloads)
{
	struct jsonout *json = made_up_json();
	struct hashscale run = made_up_run(json);
	struct hashscale_cell cell[3] = { { .entry = &run.entries[0], .readers = 2 }, { .entry = &run.entries[1], .readers = 2 },
					  { .entry = &run.entries[2], .readers = 2 } };
	struct hashscale_tally t;
	size_t i;

	/* Two quiet slices and a disturbed one; disturbed ones alone; updates that are one step. */
	for (i = 0; i < 5; i++) {
		slice_of(&t, i == 2 ? 3 : 1 + (unsigned)i % 2);
		if (i == 4)
			memset(&t.updates, 0, sizeof(t.updates));
		hashscale_add_tally(&cell[i < 3 ? 0 : i - 2].tally[i == 2 || i == 3], &t);
		free(t.reload_ns);
	}
	begin_printing();
	hashscale_report_reloads(&run, cell, 3, 2200000);
	hashscale_print_disturbed(cell, 3);
	hashscale_print_disturbed(cell + 2, 1);
	assert_printed(
		"\n"
		"2 readers\n"
		"scheme  reload, median    slowest  through  one update, p50      p99     max  M lookups/s "
		"meanwhile  in pauses  elements waiting\n"
		"one            1.21 ms  > 2.21 ms   7 of 8            10 ns  8.19 us  100 us                 "
		"450.00     225.00                70\n"
		"none           2.07 ms  > 2.21 ms   3 of 4            10 ns  8.19 us  100 us                 "
		"600.00     300.00                40\n"
		"two            1.07 ms    1.21 ms   4 of 4                -        -       -                 "
		"300.00     150.00                70\n"
		"\n"
		"Other programs took a tenth of the processors or more in 2 of 5 slices. These slices are left "
		"out, except in 1 of 3 rows, which have no others.\n");
	assert_rows(json,
		"{scheme:one,threads:2,metric:reload,unit:ns,min:1e6,median:1.21e6,max:2.21e6,mean:1.605e6,"
		"p50:1.21e6,p90:2.21e6,p99:2.21e6,count:8,given_up:1,lookups_mops:450.0,"
		"lookups_mops_in_pauses:225.0,deferred_items:70,slices:2,slices_disturbed:1}\n"
		"{scheme:one,threads:2,metric:reload_update,unit:ns,min:10.0,median:10.0,max:100000.0,mean:854.1,"
		"p50:10.0,p90:10.0,p99:8192.0,count:200}\n"
		"{scheme:none,threads:2,metric:reload,unit:ns,min:2e6,median:2.07e6,max:2.21e6,mean:2.105e6,"
		"p50:2.07e6,p90:2.21e6,p99:2.21e6,count:4,given_up:1,lookups_mops:600.0,"
		"lookups_mops_in_pauses:300.0,deferred_items:40,slices:1,slices_disturbed:1}\n"
		"{scheme:none,threads:2,metric:reload_update,unit:ns,min:10.0,median:10.0,max:100000.0,"
		"mean:1136.1,p50:10.0,p90:10.0,p99:8192.0,count:100}\n"
		"{scheme:two,threads:2,metric:reload,unit:ns,min:1e6,median:1.07e6,max:1.21e6,mean:1.105e6,"
		"p50:1.07e6,p90:1.21e6,p99:1.21e6,count:4,given_up:0,lookups_mops:300.0,"
		"lookups_mops_in_pauses:150.0,deferred_items:70,slices:1,slices_disturbed:0}\n"
		"{scheme:two,threads:2,metric:reload_update,unit:ns,min:null,median:null,max:null,mean:null,"
		"p50:null,p90:null,p99:null,count:0}\n");
	for (i = 0; i < 3; i++) {
		free(cell[i].tally[0].reload_ns);
		free(cell[i].tally[1].reload_ns);
	}
}

/* ---- labelscale and keyscale ------------------------------------------------------------------ */

TEST(labels)
{
	static const char *const names[] = { "none", "hazptr" };
	const struct bench_result results[] = { result(800, false), result(1100, false) };
	const uint64_t failed[] = { 5, 6 };
	struct jsonout *json = made_up_json();

	begin_printing();
	labelscale_print(names, 2, results);
	assert_printed(
		"scheme   thousand opens/s  of none       ns per open\n"
		"none    2125 [1625..2375]  100.0 %   800 [720..1040]\n"
		"hazptr  1545 [1182..1727]   72.7 %  1100 [990..1430]\n");
	labelscale_write_json(json, names, failed, 2, 3, results);
	assert_rows(json,
		"{scheme:none,threads:3,metric:opens,unit:1/s,min:1.625e6,median:2.125e6,max:2.375e6,ns:800.0,"
		"times_none:1.0,failed:5}\n"
		"{scheme:hazptr,threads:3,metric:opens,unit:1/s,min:1.18182e6,median:1.54545e6,max:1.72727e6,"
		"ns:1100.0,times_none:0.727273,failed:6}\n");
}

struct keyscale_scheme {
	const char *name;
};

static const struct keyscale_scheme keys[] = { { "rcu" }, { "hazptr" }, { "shazptr" } };
const struct keyscale_scheme *const keyscale_schemes[] = { &keys[0], &keys[1], &keys[2] };

const char *keyscale_name(const struct keyscale_scheme *scheme)
{
	return scheme->name;
}

TEST(keys)
{
	/* 30 in 2 ms are 15000 a second, of which 1000 take 66.7 ms. */
	const struct keyscale_result results[] = {
		{ .ms = { 20, 23, 29, 3 }, .one = { 1, 2, 17000, 4, 66000, 130000, 8 }, .per_second = { 2e6, 3.3e6, 4e6, 3 } },
		{ .ms = { 1, 1.5, 2, 3 }, .one = { 1, 2, 900, 4, 5000, 26000, 9 } },
	};
	struct jsonout *json = made_up_json();

	assert_float_equal(keyscale_per_second(30, 2000000), 15000, 1e-9);
	assert_float_equal(keyscale_ms_for_1000(15000), 1000 / 15., 1e-9);
	begin_printing();
	keyscale_print(keyscale_schemes, 2, results);
	keyscale_print(keyscale_schemes + 1, 1, results + 1);
	assert_printed(
		"scheme        ms for 1000  speed-up  one: p50 us  p99 us  max us  million lookups/s\n"
		"rcu     23.0 [20.0..29.0]     x1.00        17.00   66.00     130  3.30 [2.00..4.00]\n"
		"hazptr  1.50 [1.00..2.00]     x15.3         0.90    5.00      26                n/a\n"
		"scheme        ms for 1000  speed-up  one: p50 us  p99 us  max us  million lookups/s\n"
		"hazptr  1.50 [1.00..2.00]       n/a         0.90    5.00      26                n/a\n");
	keyscale_write_json(json, keyscale_schemes, 2, "lookups", 4, 3, results);
	keyscale_write_json(json, keyscale_schemes + 1, 1, "idle", 0, 2, results + 1);
	assert_rows(json,
		"{scheme:rcu,threads:4,metric:unregister_1000_lookups,unit:ms,min:20.0,median:23.0,max:29.0,"
		"updaters:3,times_rcu:1.0,p50_ns:17000.0,p99_ns:66000.0,max_ns:130000.0,count:8,"
		"lookups_per_second:3.3e6}\n"
		"{scheme:hazptr,threads:4,metric:unregister_1000_lookups,unit:ms,min:1.0,median:1.5,max:2.0,"
		"updaters:3,times_rcu:0.0652174,p50_ns:900.0,p99_ns:5000.0,max_ns:26000.0,count:9,"
		"lookups_per_second:null}\n"
		"{scheme:hazptr,threads:0,metric:unregister_1000_idle,unit:ms,min:1.0,median:1.5,max:2.0,"
		"updaters:2,times_rcu:null,p50_ns:900.0,p99_ns:5000.0,max_ns:26000.0,count:9,"
		"lookups_per_second:null}\n");
}
