/* SPDX-License-Identifier: MIT */
/*
 * rcu_figures.c - every figure of the waits and replacements of lull rcuscale, printed and in its JSON, from blocks that
 * are made up: no scheme, round or figure is like another.
 */
#include "rcu_blocks.h"

#define run_block run_latency_block
#define cell_us cell_us_of_latency
#include "../instruments/rcu/latency.c"
#undef run_block
#undef cell_us
#define run_block run_replacement_block
#include "../instruments/rcu/replacement.c"
#undef run_block

static const struct rcuscale_settings settings = { .calls = 300, .objects = 1000, .rounds = 3, .chosen = { true, true } };

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

/* A figure is unknown if one block does not know it. */
TEST(not_known)
{
	struct jsonout *json = made_up_json();

	begin(true);
	uncounted = true;
	rcuscale_replace_table(&settings, SETUP_BUSY, 10, json);
	rcuscale_latency_table(&settings, WHAT_CALL, SETUP_THREADS64, 10, json);
	uncounted = false;
	assert_printed(
		"\n"
		"replacing 64-byte objects, 1000 of them: one busy reader; ns per object\n"
		"scheme    by  until all are freed  deferred at peak  the call alone  processor time of it all  "
		"cycles  instructions\n"
		"one     call       194 [161..227]              3000             n/a                       n/a   "
		"  n/a           n/a\n"
		"one     free       205 [172..238]              2000             n/a                       n/a   "
		"  n/a           n/a\n"
		"two     call       366 [333..399]              8000             n/a                       n/a   "
		"  n/a           n/a\n"
		"\n"
		"call until its callback runs, one at a time: 64 registered threads asleep; us\n"
		"scheme  calls  average   min    p50    p90    p99    max        p50 by round  interrupts/call  "
		"/s/core  cycles  instructions\n"
		"one       300    12.41  2.30   9.80  26.58  31.63  32.22  9.76 [9.50..10.02]              n/a   "
		"   n/a     n/a           n/a\n"
		"two       300    13.54  3.43  10.93  27.71  32.76  33.35   10.9 [10.6..11.2]              n/a   "
		"   n/a     n/a           n/a\n");
	assert_rows(json,
		"{scheme:one,threads:2,metric:replace_call_busy,unit:ns,min:161.0,median:194.0,max:227.0,"
		"objects:1000,peak_objects:3000,retire_ns:null,retire_cpu_ns:null,cycles:null,"
		"instructions:null}\n"
		"{scheme:one,threads:2,metric:replace_free_busy,unit:ns,min:172.0,median:205.0,max:238.0,"
		"objects:1000,peak_objects:2000,retire_ns:null,retire_cpu_ns:null,cycles:null,"
		"instructions:null}\n"
		"{scheme:two,threads:2,metric:replace_call_busy,unit:ns,min:333.0,median:366.0,max:399.0,"
		"objects:1000,peak_objects:8000,retire_ns:null,retire_cpu_ns:null,cycles:null,"
		"instructions:null}\n"
		"{scheme:one,threads:65,metric:call_threads64,unit:ns,min:2300.0,median:9800.0,max:32223.0,"
		"mean:12410.5,p50:9800.0,p90:26583.0,p99:31632.0,count:300,p50_round_min:9503.0,"
		"p50_round_median:9763.0,p50_round_max:10023.0,cycles:null,instructions:null}\n"
		"{scheme:two,threads:65,metric:call_threads64,unit:ns,min:3430.0,median:10930.0,max:33353.0,"
		"mean:13540.5,p50:10930.0,p90:27713.0,p99:32762.0,count:300,p50_round_min:10633.0,"
		"p50_round_median:10893.0,p50_round_max:11153.0,cycles:null,instructions:null}\n");
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
