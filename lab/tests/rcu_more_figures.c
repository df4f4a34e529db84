/* SPDX-License-Identifier: MIT */
/*
 * rcu_more_figures.c - every figure of the other tables of lull rcuscale, from made-up blocks: interrupts, waking up,
 * paced calls, the letter's lines, scans, updaters.
 */
#include "rcu_blocks.h"

#define bench_pool_new(threads) ((void)(threads), (struct bench_pool *)NULL)
#define bench_pool_free(pool) ((void)(pool))
#define bench_measure(pool, plan, cases, nr_cases, results) made_up_results(plan, nr_cases, results)

static void made_up_results(const struct bench_plan *plan, size_t nr_cases, struct bench_result *results);

#include "../instruments/rcu/fqs.c"
#include "../instruments/rcu/interrupts.c"
#include "../instruments/rcu/letter_table.c"
#include "../instruments/rcu/paced.c"
#include "../instruments/rcu/polled.c"
#include "../instruments/rcu/updaters.c"


static const struct rcuscale_scheme *const both[] = { &rcuscale_schemes[0], &rcuscale_schemes[1], NULL };

TEST(interrupts)
{
	struct jsonout *json = made_up_json();

	begin(false);
	rcuscale_interrupts(both, 3, 10, json);
	assert_printed(
		"\n"
		"interrupts while 100 updates per second wait for readers, a busy reader on each other CPU; per "
		"second\n"
		"scheme      interrupts per core  heavy fences of lull\n"
		"one           7647 [6129..8919]    9412 [7419..11081]\n"
		"two           6923 [6129..7647]                     -\n"
		"no-updates    6239 [5904..6562]     7564 [7124..7987]\n");
	assert_rows(json,
		"{scheme:one,threads:3,metric:interrupts_busy,unit:1/s/core,min:6129.03,median:7647.06,"
		"max:8918.92,heavy_fences_per_second:9411.76}\n"
		"{scheme:two,threads:3,metric:interrupts_busy,unit:1/s/core,min:6129.03,median:6923.08,"
		"max:7647.06}\n"
		"{scheme:no-updates,threads:3,metric:interrupts_busy,unit:1/s/core,min:5904.14,median:6239.32,"
		"max:6561.84,heavy_fences_per_second:7564.1}\n");
}

TEST(interrupts_unknown)
{
	begin(false);
	uncounted = true;
	rcuscale_interrupts(both, 3, 10, NULL);
	uncounted = false;
	assert_printed(
		"\n"
		"interrupts while 100 updates per second wait for readers, a busy reader on each other CPU; per "
		"second\n"
		"scheme      interrupts per core  heavy fences of lull\n"
		"one                         n/a    9412 [7419..11081]\n"
		"two                         n/a                     -\n"
		"no-updates                  n/a     7564 [7124..7987]\n");
}

TEST(wake)
{
	struct jsonout *json = made_up_json();

	begin(false);
	rcuscale_wake(both, 3, 300, 10, json);
	assert_printed(
		"\n"
		"waiting for a reader that sleeps for 2 ms: from its unlock to the return of the wait, and "
		"processor time per wait; us\n"
		"scheme  waits  min  p50   p90   p99   max  cpu of the call  of the process\n"
		"one       300  1.1  8.6  25.4  30.5  31.1              0.4             0.9\n"
		"two       300  2.3  9.8  26.5  31.6  32.2              0.7             1.7\n");
	assert_rows(json,
		"{scheme:one,threads:2,metric:wake,unit:ns,min:1130.0,median:8630.0,max:31053.0,mean:11240.5,"
		"p50:8630.0,p90:25413.0,p99:30462.0,count:300,own_cpu_ns:351.0,process_cpu_ns:893.0}\n"
		"{scheme:two,threads:2,metric:wake,unit:ns,min:2260.0,median:9760.0,max:32183.0,mean:12370.5,"
		"p50:9760.0,p90:26543.0,p99:31592.0,count:300,own_cpu_ns:668.0,process_cpu_ns:1724.0}\n");
}

TEST(paced)
{
	struct jsonout *json = made_up_json();

	begin(false);
	rcuscale_paced(both, 2, 0.05, json);
	assert_printed(
		"\n"
		"deferred calls at a fixed rate, idle process; us\n"
		"scheme  calls/s  the call, p50   p99  until it has run, p50   p99   max  switches/s  heavy "
		"fences/s\n"
		"one        1000           1.13  1.73                    300   301   301       29394            "
		"8788\n"
		"two        1000           2.27  2.89                    500   501   501       27500             "
		"  -\n"
		"one      100000            294  1151                    494  1351  1374       32857           "
		"10000\n"
		"two      100000            295  1153                    694  1552  1574       29394             "
		"  -\n");
	assert_rows(json,
		"{scheme:one,threads:1,metric:paced_1000_call,unit:ns,min:1133.0,median:1133.0,max:1725.0,"
		"mean:1429.0,p50:1133.0,p90:1725.0,p99:1725.0,count:14}\n"
		"{scheme:one,threads:1,metric:paced_1000_until_run,unit:ns,min:300133.0,median:300133.0,"
		"max:300725.0,mean:300429.0,p50:300133.0,p90:300725.0,p99:300725.0,count:14,"
		"switches_per_second:29393.9,heavy_fences_per_second:8787.88}\n"
		"{scheme:two,threads:1,metric:paced_1000_call,unit:ns,min:2272.0,median:2272.0,max:2888.0,"
		"mean:2580.0,p50:2272.0,p90:2888.0,p99:2888.0,count:14}\n"
		"{scheme:two,threads:1,metric:paced_1000_until_run,unit:ns,min:500272.0,median:500272.0,"
		"max:500888.0,mean:500580.0,p50:500272.0,p90:500888.0,p99:500888.0,count:14,"
		"switches_per_second:27500.0,heavy_fences_per_second:null}\n"
		"{scheme:one,threads:1,metric:paced_100000_call,unit:ns,min:1390.0,median:293942.0,max:1.17378e6,"
		"mean:392588.0,p50:293942.0,p90:952297.0,p99:1.15139e6,count:1252}\n"
		"{scheme:one,threads:1,metric:paced_100000_until_run,unit:ns,min:201390.0,median:493942.0,"
		"max:1.37378e6,mean:592588.0,p50:493942.0,p90:1.1523e6,p99:1.35139e6,count:1252,"
		"switches_per_second:32857.1,heavy_fences_per_second:10000.0}\n"
		"{scheme:two,threads:1,metric:paced_100000_call,unit:ns,min:2520.0,median:295072.0,max:1.17492e6,"
		"mean:393718.0,p50:295072.0,p90:953427.0,p99:1.15252e6,count:1252}\n"
		"{scheme:two,threads:1,metric:paced_100000_until_run,unit:ns,min:401520.0,median:694072.0,"
		"max:1.57392e6,mean:792718.0,p50:694072.0,p90:1.35243e6,p99:1.55152e6,count:1252,"
		"switches_per_second:29393.9,heavy_fences_per_second:null}\n");
}

/* ---- the letter's lines ------------------------------------------------------------------------ */

const void *peers_need(enum peer_kind kind, const char *name)
{
	(void)kind;
	return strcmp(name, "rcu") ? &gps[1] : &gps[0];
}

TEST(flavors)
{
	static const struct {
		const char *words;
		bool flavor[NR_FLAVORS], both;
	} rows[] = { { "rcu,hazptr", { true, false, false, true, false }, false },
		     { "shazptr", { false, true, false, false, false }, false },
		     { "letter", { true, true, true, false, false }, true },
		     { "all", { true, true, true, true, true }, true },
		     { "letter,hazptr", { true, true, true, true, false }, true } };
	size_t i, j;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rcuscale_letter letter = { .given = false };

		rcuscale_letter_flavors(&letter, rows[i].words);
		assert_true(letter.given);
		assert_int_equal(letter.both, rows[i].both);
		for (j = 0; j < NR_FLAVORS; j++)
			assert_int_equal(letter.flavor[j], rows[i].flavor[j]);
	}
}

TEST(letter)
{
	struct rcuscale_letter letter = { .flavor = { true, true }, .calls = 300, .rounds = 2, .seconds = 10, .both = true,
					  .setup = SETUP_BUSY };
	struct jsonout *json = made_up_json();

	begin(false);
	rcuscale_letter(&letter, json);
	assert_printed(
		"\n"
		"rcu:\n"
		"\n"
		"Average grace-period duration: 23.601 microseconds\n"
		"Minimum grace-period duration: 1.130\n"
		"50th percentile grace-period duration: 17.948\n"
		"90th percentile grace-period duration: 55.388\n"
		"99th percentile grace-period duration: 66.842\n"
		"Maximum grace-period duration: 68.123\n"
		"(300 calls; interrupts per call: 0.45)\n"
		"\n"
		"shazptr:\n"
		"\n"
		"Average grace-period duration: 24.730 microseconds\n"
		"Minimum grace-period duration: 2.260\n"
		"50th percentile grace-period duration: 19.078\n"
		"90th percentile grace-period duration: 56.518\n"
		"99th percentile grace-period duration: 67.972\n"
		"Maximum grace-period duration: 69.253\n"
		"(300 calls; interrupts per call: 0.83)\n"
		"\n"
		"shazptr (skip_self_scan=1):\n"
		"\n"
		"Average grace-period duration: 24.860 microseconds\n"
		"Minimum grace-period duration: 2.390\n"
		"50th percentile grace-period duration: 19.208\n"
		"90th percentile grace-period duration: 56.648\n"
		"99th percentile grace-period duration: 68.102\n"
		"Maximum grace-period duration: 69.383\n"
		"(300 calls; interrupts per call: 0.88)\n");
	assert_rows(json,
		"{scheme:rcu,threads:2,metric:flavor,unit:ns,min:1130.0,median:17948.0,max:68123.0,mean:23600.5,"
		"p50:17948.0,p90:55388.0,p99:66842.0,count:300,interrupts_per_call:0.45}\n"
		"{scheme:shazptr,threads:2,metric:flavor,unit:ns,min:2260.0,median:19078.0,max:69253.0,"
		"mean:24730.5,p50:19078.0,p90:56518.0,p99:67972.0,count:300,interrupts_per_call:0.83}\n"
		"{scheme:shazptr,threads:2,metric:flavor_skip_self_scan,unit:ns,min:2390.0,median:19208.0,"
		"max:69383.0,mean:24860.5,p50:19208.0,p90:56648.0,p99:68102.0,count:300,"
		"interrupts_per_call:0.876667}\n");
}

/* ---- scans, whose cost is known: on a clock that only they move --------------------------------- */

static void occupy(void **object, size_t count)
{
	while (count)
		assert_non_null(object[--count]);
}

static void retire(void **object, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		free(object[i]);
	made_up_ns += 45 * count + 2000 * (blocks_made++ % 25);
}

static void nothing(void)
{
}

static const struct bench_scan_scheme scans = { .name = "one", .occupy = occupy, .retire = retire, .barrier = nothing,
						.vacate = nothing, .most_slots = 600 };

size_t peers_schemes(enum peer_kind kind, const char *const *order, const void **found, size_t room)
{
	(void)kind;
	(void)order;
	(void)room;
	found[0] = &scans;
	return 1;
}

TEST(scans)
{
	struct jsonout *json = made_up_json();

	begin(false);
	rcuscale_scan(both, 3, 10, json);
	assert_printed(
		"\n"
		"retiring 2000 objects at a time while other slots are in use; ns per object\n"
		"scheme  slots in use  retired, looked up and freed\n"
		"one                8             57.5 [57.5..57.5]\n"
		"one              500             57.5 [57.5..57.5]\n");
	assert_rows(json,
		"{scheme:one,threads:1,metric:scan_8,unit:ns,min:57.5,median:57.5,max:57.5}\n"
		"{scheme:one,threads:1,metric:scan_500,unit:ns,min:57.5,median:57.5,max:57.5}\n");
}

/* ---- several updaters --------------------------------------------------------------------------- */

static void made_up_results(const struct bench_plan *plan, size_t nr_cases, struct bench_result *results)
{
	size_t i;

	for (i = 0; i < nr_cases; i++)
		results[i] = (struct bench_result){ .ns = { 90. + (double)i, 100. + (double)(i * i), 300, 3 },
						    .mops = { 2, 7. + (double)i, 11, 3 },
						    .cycles = { 1, 400, 2, i != 1 },
						    .instructions = { 1, 500, 2, i != 2 },
						    .runs = plan->runs };
}

TEST(updaters)
{
	struct jsonout *json = made_up_json();

	begin(false);
	rcuscale_updaters(both, &given, json);
	assert_printed(
		"\n"
		"3 threads, each replaces 64-byte objects in a place of its own\n"
		"scheme    by  Mops/s, all threads  ns of a thread's time\n"
		"one     call   7.00 [2.00..11.00]          100 [90..300]\n"
		"one     free   8.00 [2.00..11.00]          101 [91..300]\n"
		"two     call   9.00 [2.00..11.00]          104 [92..300]\n"
		"two      now     10.0 [2.0..11.0]          109 [93..300]\n");
	assert_rows(json,
		"{scheme:one,threads:3,metric:updaters_call,unit:Mops,min:2.0,median:7.0,max:11.0,ns:100.0,"
		"cycles:400.0,instructions:500.0}\n"
		"{scheme:one,threads:3,metric:updaters_free,unit:Mops,min:2.0,median:8.0,max:11.0,ns:101.0,"
		"cycles:null,instructions:500.0}\n"
		"{scheme:two,threads:3,metric:updaters_call,unit:Mops,min:2.0,median:9.0,max:11.0,ns:104.0,"
		"cycles:400.0,instructions:null}\n"
		"{scheme:two,threads:3,metric:updaters_now,unit:Mops,min:2.0,median:10.0,max:11.0,ns:109.0,"
		"cycles:400.0,instructions:500.0}\n");
}

/* ---- scans of the driver, one after the other ----------------------------------------------------- */

static unsigned made_up_gp(struct fqs *fqs, struct fqs_thread *self)
{
	(void)fqs;
	(void)self;
	made_up_ns += 2000000 + 500000 * (blocks_made % 4);
	return 1 + blocks_made++ % 3 / 2;
}

TEST(polled)
{
	const struct rcuscale_polled polled = { .calls = 5, .runs = 2 };
	const struct table t = { "polled", "synchronize_made_up", "ms", 1e6, made_up_gp };
	struct jsonout *json = made_up_json();
	unsigned all = 0;

	begin(false);
	assert_int_equal(print_runs(&polled, &t, 10, NULL, NULL, json, &all), 3);
	assert_int_equal(all, 10);
	assert_printed(
		"| Run | Mean      | Min       | Max       |\n"
		"|-----|-----------|-----------|-----------|\n"
		"| 1   |  2.600 ms |  2.000 ms |  3.500 ms |\n"
		"| 2   |  2.700 ms |  2.000 ms |  3.500 ms |\n");
	assert_rows(json,
		"{scheme:polled,threads:5,metric:synchronize_made_up,unit:ns,min:2e6,median:2.5e6,max:3.5e6,"
		"mean:2.6e6,p50:2.5e6,p90:3.5e6,p99:3.5e6,count:5,run:1}\n"
		"{scheme:polled,threads:5,metric:synchronize_made_up,unit:ns,min:2e6,median:2.5e6,max:3.5e6,"
		"mean:2.7e6,p50:2.5e6,p90:3.5e6,p99:3.5e6,count:5,run:2}\n");
}
