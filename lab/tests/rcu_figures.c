/* SPDX-License-Identifier: MIT */
/*
 * rcu_figures.c - every figure that lull rcuscale prints, and writes to its JSON, from blocks that are made up: no scheme,
 * round or figure is like another.
 */
#include "test.h"

#include <lull/percpu_ref.h>

#include "common/bench.h"
#include "common/clock.h"
#include "common/counters.h"
#include "common/cpus.h"
#include "common/progress.h"

static uint64_t made_up_ns;
static bool counters;

#define bench_now_ns() made_up_ns
#define bench_cpus() 3u
#define bench_pin(cpu) ((void)(cpu))
#define bench_counters_work() counters
#define bench_pool_new(threads) ((void)(threads), (struct bench_pool *)NULL)
#define bench_pool_free(pool) ((void)(pool))
#define bench_measure(pool, plan, cases, nr_cases, results) made_up_results(plan, nr_cases, results)
#define lull_percpu_ref_per_cpu() true

static void made_up_results(const struct bench_plan *plan, size_t nr_cases, struct bench_result *results);

#include "../engine/budget.c"
#include "../engine/text_table.c"
#include "../instruments/rcu/counted.c"
#include "../instruments/rcu/fqs.c"
#include "../instruments/rcu/names.c"
#include "../instruments/rcu/rounds.c"
#define run_block run_latency_block
#define cell_us cell_us_of_latency
#include "../instruments/rcu/latency.c"
#undef run_block
#undef cell_us
#define run_block run_replacement_block
#include "../instruments/rcu/replacement.c"
#undef run_block
#include "../instruments/rcu/interrupts.c"
#include "../instruments/rcu/letter_table.c"
#include "../instruments/rcu/paced.c"
#include "../instruments/rcu/polled.c"
#include "../instruments/rcu/updaters.c"

#include "tests/made_up.h"

/* ---- two schemes, and their blocks ------------------------------------------------------------ */

static unsigned blocks; /* so far */

static void fill(uint64_t *ns, uint32_t count, uint64_t least)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		ns[i] = least + 130 * blocks + 3 * ((i * 7 + blocks) % count) * ((i * 7 + blocks) % count);
}

static void make_block(uint64_t times, const struct rcuscale_job *job, struct rcuscale_block *out)
{
	uint32_t i, most = job->most;

	blocks++;
	memset(out, 0, sizeof(*out));
	out->interrupts_known = true;
	out->elapsed_ns = 3000000 * times + 100000 * blocks;
	out->interrupts = 50 * times + 7 * blocks;
	out->heavy = 20 * times + 3 * blocks;
	out->switches = 70 * times + 9 * blocks;
	out->cpu_ns = 800. * (double)times + 31 * blocks;
	out->own_cpu_ns = 300. * (double)times + 17 * blocks;
	out->replaced.ns = 150. * (double)times + 11 * blocks;
	out->replaced.peak = 4000 * times - 1000 * (blocks % 3);
	out->counted = (struct bench_counted){ .ops = most, .cycles = 90 * most * times + 50 * blocks,
					       .instructions = 60 * most * times + 77 * blocks };
	out->count = job->what == WHAT_REPLACE ? 4 : most;
	if (job->what == WHAT_REPLACE) {
		out->cost = options_alloc(4, sizeof(*out->cost));
		for (i = 0; i < 4; i++)
			out->cost[i] = 13. * (double)times + (i * 3 % 4) * 5 + blocks;
		return;
	}
	out->ns = options_alloc(out->count, sizeof(*out->ns));
	out->until_ns = options_alloc(out->count, sizeof(*out->until_ns));
	fill(out->ns, out->count, 1000 * times);
	fill(out->until_ns, out->count, 200000 * times);
}

static const struct bench_gp_scheme gp[] = {
	{ .name = "one", .ways = { [BENCH_GP_CALL] = true, [BENCH_GP_FREE] = true } },
	{ .name = "two", .ways = { [BENCH_GP_CALL] = true, [BENCH_GP_NOW] = true } },
};

struct rcuscale_scheme rcuscale_schemes[RCUSCALE_SCHEMES_MAX] = { { .name = "one", .gp = &gp[0], .ours = true },
								  { .name = "two", .gp = &gp[1] } };
size_t rcuscale_nr_schemes = 2;
static const struct rcuscale_scheme *const both[] = { &rcuscale_schemes[0], &rcuscale_schemes[1], NULL };

bool rcuscale_can(const struct rcuscale_scheme *scheme, enum rcuscale_what what)
{
	(void)scheme;
	(void)what;
	return true;
}

const struct bench_gp_scheme *rcuscale_gp(const struct rcuscale_scheme *scheme)
{
	return scheme ? scheme->gp : &gp[0];
}

void rcuscale_run(const struct bench_gp_scheme *scheme, const struct rcuscale_job *job, struct rcuscale_block *out)
{
	make_block(job->quiet ? 5 : scheme == &gp[0] ? 1 : 2, job, out);
}

void rcuscale_run_scheme(const struct rcuscale_scheme *scheme, const struct rcuscale_job *job, struct rcuscale_block *out)
{
	rcuscale_run(scheme->gp, job, out);
}

void rcuscale_prime(const struct bench_gp_scheme *scheme)
{
	(void)scheme;
}

/* ---- what tables of figures ask for ----------------------------------------------------------- */

static unsigned threads[] = { 3 };
static const struct options opt = { .seconds = 100, .threads = threads, .nr_threads = 1 };

static const struct rcuscale_settings settings = { .calls = 300, .objects = 1000, .rounds = 3, .chosen = { true, true } };

static void begin(bool with_counters)
{
	counters = with_counters;
	blocks = 0;
	made_up_ns = 1000;
	budget_begin(&opt, 100, 1);
	begin_printing();
}

TEST(latency)
{
	struct jsonout *json = made_up_json();

	begin(true);
	rcuscale_latency_table(&settings, WHAT_SYNCHRONIZE, SETUP_BUSY, 10, json);
	assert_printed(
		"\n"
		"synchronize: one busy reader; us\n"
		"scheme  calls  average   min   p50    p90    p99    max       p50 by round  interrupts/call  "
		"/s/core  cycles  instructions\n"
		"one       300    11.24  1.13  8.63  25.41  30.46  31.05  8.59 [8.33..8.85]             0.71     "
		"7172    91.5          62.3\n"
		"two       300    12.37  2.26  9.76  26.54  31.59  32.18  9.72 [9.46..9.98]             1.28     "
		"6667   182.0         123.1\n");
	assert_rows(json,
		"{scheme:one,threads:2,metric:synchronize_busy,unit:ns,min:1130.0,median:8630.0,max:31053.0,"
		"mean:11240.5,p50:8630.0,p90:25413.0,p99:30462.0,count:300,p50_round_min:8333.0,"
		"p50_round_median:8593.0,p50_round_max:8853.0,interrupts_per_call:0.71,"
		"interrupts_per_second_per_core:7171.72,cycles:91.5,instructions:62.31}\n"
		"{scheme:two,threads:2,metric:synchronize_busy,unit:ns,min:2260.0,median:9760.0,max:32183.0,"
		"mean:12370.5,p50:9760.0,p90:26543.0,p99:31592.0,count:300,p50_round_min:9463.0,"
		"p50_round_median:9723.0,p50_round_max:9983.0,interrupts_per_call:1.28,"
		"interrupts_per_second_per_core:6666.67,cycles:182.0,instructions:123.08}\n");
}

TEST(latency_without_counters)
{
	begin(false);
	rcuscale_latency_table(&settings, WHAT_KILL, SETUP_IDLE, 10, NULL);
	assert_printed(
		"\n"
		"kill of a percpu_ref until it is confirmed, and one membarrier: idle process; us\n"
		"scheme  calls  average   min   p50    p90    p99    max       p50 by round  interrupts/call  "
		"/s/core\n"
		"one       300    11.24  1.13  8.63  25.41  30.46  31.05  8.59 [8.33..8.85]             0.71     "
		"7172\n"
		"two       300    12.37  2.26  9.76  26.54  31.59  32.18  9.72 [9.46..9.98]             1.28     "
		"6667\n");
}

TEST(replacing)
{
	struct jsonout *json = made_up_json();

	begin(true);
	rcuscale_replace_table(&settings, SETUP_IDLE, 10, json);
	assert_printed(
		"\n"
		"replacing 64-byte objects, 1000 of them: idle process; ns per object\n"
		"scheme    by  until all are freed  deferred at peak     the call alone  processor time of it "
		"all  cycles  instructions\n"
		"one     call       205 [161..249]              4000  25.5 [21.5..29.5]           955 "
		"[831..1079]    90.2          60.4\n"
		"one     free       216 [172..260]              4000  26.5 [22.5..30.5]           986 "
		"[862..1110]    90.3          60.5\n"
		"two     call       377 [333..421]              8000  40.5 [36.5..44.5]         1817 "
		"[1693..1941]   180.3         120.5\n"
		"two        -       388 [344..432]              8000  41.5 [37.5..45.5]         1848 "
		"[1724..1972]   180.4         120.6\n");
	assert_rows(json,
		"{scheme:one,threads:1,metric:replace_call_idle,unit:ns,min:161.0,median:205.0,max:249.0,"
		"objects:1000,peak_objects:4000,retire_ns:25.5,retire_cpu_ns:955.0,cycles:90.25,"
		"instructions:60.385}\n"
		"{scheme:one,threads:1,metric:replace_free_idle,unit:ns,min:172.0,median:216.0,max:260.0,"
		"objects:1000,peak_objects:4000,retire_ns:26.5,retire_cpu_ns:986.0,cycles:90.3,"
		"instructions:60.462}\n"
		"{scheme:two,threads:1,metric:replace_call_idle,unit:ns,min:333.0,median:377.0,max:421.0,"
		"objects:1000,peak_objects:8000,retire_ns:40.5,retire_cpu_ns:1817.0,cycles:180.35,"
		"instructions:120.539}\n"
		"{scheme:two,threads:1,metric:replace_now_idle,unit:ns,min:344.0,median:388.0,max:432.0,"
		"objects:1000,peak_objects:8000,retire_ns:41.5,retire_cpu_ns:1848.0,cycles:180.4,"
		"instructions:120.616}\n");
}

/* Fewer rounds, then fewer objects: 1500 of 5000 in the time of one round. */
TEST(replacing_in_little_time)
{
	struct rcuscale_settings many = settings;

	many.objects = 5000;
	begin(false);
	rcuscale_replace_table(&many, SETUP_IDLE, 0.0018, NULL);
	assert_printed(
		"\n"
		"replacing 64-byte objects, 1500 of them: idle process; ns per object\n"
		"scheme    by  until all are freed  deferred at peak     the call alone  processor time of it "
		"all\n"
		"one     call       161 [161..161]              3000  21.5 [21.5..21.5]            831 "
		"[831..831]\n"
		"one     free       172 [172..172]              2000  22.5 [22.5..22.5]            862 "
		"[862..862]\n"
		"two     call       333 [333..333]              8000  36.5 [36.5..36.5]         1693 "
		"[1693..1693]\n"
		"two        -       344 [344..344]              7000  37.5 [37.5..37.5]         1724 "
		"[1724..1724]\n");
}

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
		"one        1000           1.13  1.73                    200   201   201       29394            "
		"8788\n"
		"two        1000           2.27  2.89                    400   401   401       27500             "
		"  -\n"
		"one      100000            294  1151                    493  1350  1373       32857           "
		"10000\n"
		"two      100000            295  1153                    693  1551  1573       29394             "
		"  -\n");
	assert_rows(json,
		"{scheme:one,threads:1,metric:paced_1000_call,unit:ns,min:1133.0,median:1133.0,max:1725.0,"
		"mean:1429.0,p50:1133.0,p90:1725.0,p99:1725.0,count:14}\n"
		"{scheme:one,threads:1,metric:paced_1000_until_run,unit:ns,min:200133.0,median:200133.0,"
		"max:200725.0,mean:200429.0,p50:200133.0,p90:200725.0,p99:200725.0,count:14,"
		"switches_per_second:29393.9,heavy_fences_per_second:8787.88}\n"
		"{scheme:two,threads:1,metric:paced_1000_call,unit:ns,min:2272.0,median:2272.0,max:2888.0,"
		"mean:2580.0,p50:2272.0,p90:2888.0,p99:2888.0,count:14}\n"
		"{scheme:two,threads:1,metric:paced_1000_until_run,unit:ns,min:400272.0,median:400272.0,"
		"max:400888.0,mean:400580.0,p50:400272.0,p90:400888.0,p99:400888.0,count:14,"
		"switches_per_second:27500.0,heavy_fences_per_second:null}\n"
		"{scheme:one,threads:1,metric:paced_100000_call,unit:ns,min:1390.0,median:293942.0,max:1.17378e6,"
		"mean:392588.0,p50:293942.0,p90:952297.0,p99:1.15139e6,count:1252}\n"
		"{scheme:one,threads:1,metric:paced_100000_until_run,unit:ns,min:200390.0,median:492942.0,"
		"max:1.37278e6,mean:591588.0,p50:492942.0,p90:1.1513e6,p99:1.35039e6,count:1252,"
		"switches_per_second:32857.1,heavy_fences_per_second:10000.0}\n"
		"{scheme:two,threads:1,metric:paced_100000_call,unit:ns,min:2520.0,median:295072.0,max:1.17492e6,"
		"mean:393718.0,p50:295072.0,p90:953427.0,p99:1.15252e6,count:1252}\n"
		"{scheme:two,threads:1,metric:paced_100000_until_run,unit:ns,min:400520.0,median:693072.0,"
		"max:1.57292e6,mean:791718.0,p50:693072.0,p90:1.35143e6,p99:1.55052e6,count:1252,"
		"switches_per_second:29393.9,heavy_fences_per_second:null}\n");
}

/* ---- the letter's lines ------------------------------------------------------------------------ */

const void *peers_need(enum peer_kind kind, const char *name)
{
	(void)kind;
	return strcmp(name, "rcu") ? &gp[1] : &gp[0];
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
	(void)object;
	(void)count;
}

static void retire(void **object, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		free(object[i]);
	made_up_ns += 45 * count + 2000 * (blocks++ % 25);
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
	rcuscale_updaters(both, &opt, json);
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
	made_up_ns += 2000000 + 500000 * (blocks % 4);
	return 1 + blocks++ % 3 / 2;
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
