/* SPDX-License-Identifier: MIT */
/*
 * top_figures.c - every column of lull top and every member of its JSON, from made-up pages. No two figures are
 * alike, so that one in another's place shows.
 */
#include "test.h"

#include "top/check.c"
#include "top/figures.c"
#include "top/json.c"
#include "top/lines.c"
#include "top/procfile.c"
#include "top/waits.c"
#include "top/words.c"

#include <lull/fence.h>

#include "made_up.h"

#define S UINT64_C(1000000000)

/* A page at @taken_ns, 100 s after the process began, in both copies. */
static struct top_sample sample_at(uint64_t taken_ns)
{
	struct top_sample s;

	memset(&s, 0, sizeof(s));
	s.first.page = (struct lull_stats_page){
		.magic = LULL_STATS_MAGIC, .version = LULL_STATS_VERSION, .size = sizeof(struct lull_stats_page),
		.pid = 42, .fence = LULL_FENCE_MEMBARRIER, .threads = 7, .began_ns = 50 * S,
		.gp_started = 34, .gp_ended = 33, .gp_ns_sum = 600000, .gp_ns_max = 70000,
		.heavy_fences = 202, .queued_items = 3003, .queued_bytes = 404040, .done_items = 2505, .done_bytes = 303030,
		.waiting_items = 498, .waiting_bytes = 101010, .peak_items = 888, .peak_bytes = 777000,
		.hard_items = 1000, .hard_bytes = 200000, .passes = 66, .wakeups = 77, .scans = 88, .shazptr_scans = 99,
		.slots_in_use = 13, .kept = 17, .mutex_sleeps = 111, .stalls = 3,
	};
	/* 30 of 33 grace periods: 20 of 8.192 to 16.384 us, 10 of 32.768 to 65.536 us, but the longest took 70 us. */
	s.first.page.gp_ns[13] = 20;
	s.first.page.gp_ns[15] = 9;
	s.first.page.gp_ns[16] = 1;
	s.first.len = sizeof(s.first.page);
	s.first.taken_ns = s.again.taken_ns = taken_ns;
	s.again = s.first;
	return s;
}

/* Compare the lines, from the @first on. */
static void look(const struct top_view *view, unsigned first, const char *expected)
{
	struct top_lines lines;
	unsigned i;

	top_lines(&lines, view, 200);
	begin_printing();
	for (i = first; i < lines.count; i++)
		puts(lines.text[i]);
	assert_printed(expected);
}

static struct top_view view_of(const struct top_sample *before, const struct top_sample *after)
{
	struct top_view view;

	top_figures(&view, before, after);
	top_waits(&view, after);
	strcpy(view.command, "made-up");
	return view;
}

/* Compare the JSON, from this member on: what comes before "pid" is the version. */
static void told(const struct top_view *view, const char *member, const char *expected)
{
	char *text = top_told(view), *from = strstr(text, member);

	assert_non_null(from);
	assert_same(from, expected);
	free(text);
}

TEST(since_it_began)
{
	struct top_sample s = sample_at(150 * S);
	struct top_view view = view_of(NULL, &s);

	look(&view, 0,
		"process 42 (made-up), up 1 min 40 s, threads 7, fence membarrier\n"
		"               per second         ever                  per second         ever\n"
		"grace periods         0.3           33   reclaimed            25.1         2505\n"
		"heavy fences          2.0          202     their bytes     3.03 kB       303 kB\n"
		"passes                0.7           66   hazptr scans          0.9           88\n"
		"wake-ups              0.8           77   shazptr scans         1.0           99\n"
		"deferred             30.0         3003   mutex sleeps          1.1          111\n"
		"  their bytes     4.04 kB       404 kB   stalls                0.0            3\n"
		"grace periods            mean        p50        p99          max    number\n"
		"  last 1 min 40 s       20 us    14.3 us      70 us        70 us        33\n"
		"  ever                  20 us    14.3 us      70 us        70 us        33\n"
		"waiting to be reclaimed\n"
		"  items  [#########...........]         498  of        1000   peak         888\n"
		"  bytes  [##########..........]      101 kB  of      200 kB   peak      777 kB\n"
		"  last scan: 13 hazard pointers in use, 17 objects kept for them\n"
		"who waits for whom: nobody\n");
	told(&view, "\"pid\"",
		"\"pid\":42,\"command\":\"made-up\",\"began_ns\":50000000000,\"up_seconds\":100.0,"
		"\"seconds\":100.0,\"threads\":7,\"fence\":\"membarrier\",\"debug\":false,"
		"\"per_second\":{\"grace_periods\":0.33,\"heavy_fences\":2.02,\"passes\":0.66,\"wakeups\":0.77,"
		"\"queued_items\":30.03,\"queued_bytes\":4040.4,\"done_items\":25.05,\"done_bytes\":3030.3,"
		"\"scans\":0.88,\"shazptr_scans\":0.99,\"mutex_sleeps\":1.11,\"stalls\":0.03},"
		"\"total\":{\"grace_periods\":33,\"heavy_fences\":202,\"passes\":66,\"wakeups\":77,"
		"\"queued_items\":3003,\"queued_bytes\":404040,\"done_items\":2505,\"done_bytes\":303030,"
		"\"scans\":88,\"shazptr_scans\":99,\"mutex_sleeps\":111,\"stalls\":3},"
		"\"gp_latency_ns\":{\"lately\":{\"count\":33,\"mean\":20000.0,\"p50\":14336.0,\"p99\":70000.0,"
		"\"max\":70000.0,\"at_most\":70000.0},\"ever\":{\"count\":33,\"mean\":20000.0,\"p50\":14336.0,"
		"\"p99\":70000.0,\"max\":70000.0,\"at_most\":70000.0}},\"waiting\":{\"items\":{\"now\":498,"
		"\"peak\":888,\"hard_limit\":1000},\"bytes\":{\"now\":101010,\"peak\":777000,"
		"\"hard_limit\":200000}},\"slots_in_use\":13,\"kept\":17,\"waits\":[]}");
}

/* 4 s later, on a page where everything has changed by something else. */
static struct top_sample later(void)
{
	struct top_sample s = sample_at(154 * S);
	struct lull_stats_page *p = &s.again.page;

	p->gp_started += 11;
	p->gp_ended += 11;
	p->gp_ns_sum += 31000;
	p->gp_ns[10] += 4;
	p->gp_ns[11] += 6;
	p->heavy_fences += 22;
	p->passes += 4;
	p->wakeups += 6;
	p->queued_items += 1000;
	p->queued_bytes += 64000;
	p->done_items += 800;
	p->done_bytes += 50000;
	p->scans += 14;
	p->shazptr_scans += 30;
	p->mutex_sleeps += 1;
	p->waiting_items = 1200;
	p->waiting_bytes = 0;
	p->hard_bytes = 0;
	p->debug = 1;
	p->fence = LULL_FENCE_FULL;
	s.first.page = *p;
	return s;
}

TEST(between_two_looks)
{
	struct top_sample before = sample_at(150 * S), after = later();
	struct top_view view = view_of(&before, &after);

	look(&view, 0,
		"process 42 (made-up), up 1 min 44 s, threads 7, fence full, debug build\n"
		"               per second         ever                  per second         ever\n"
		"grace periods         2.8           44   reclaimed             200         3305\n"
		"heavy fences          5.5          224     their bytes     12.5 kB       353 kB\n"
		"passes                1.0           70   hazptr scans          3.5          102\n"
		"wake-ups              1.5           83   shazptr scans         7.5          129\n"
		"deferred              250         4003   mutex sleeps          0.2          112\n"
		"  their bytes       16 kB       468 kB   stalls                0.0            3\n"
		"grace periods            mean        p50        p99          max    number\n"
		"  last 4 s             3.1 us    2.39 us    4.06 us     < 4.1 us        11\n"
		"  ever                15.8 us    12.3 us      70 us        70 us        44\n"
		"waiting to be reclaimed\n"
		"  items  [####################]        1200  of        1000   peak         888  OVER\n"
		"  bytes  [....................]         0 B  of    no limit   peak      777 kB\n"
		"  last scan: 13 hazard pointers in use, 17 objects kept for them\n"
		"who waits for whom: nobody\n");
	told(&view, "\"pid\"",
		"\"pid\":42,\"command\":\"made-up\",\"began_ns\":50000000000,\"up_seconds\":104.0,"
		"\"seconds\":4.0,\"threads\":7,\"fence\":\"full\",\"debug\":true,"
		"\"per_second\":{\"grace_periods\":2.75,\"heavy_fences\":5.5,\"passes\":1.0,\"wakeups\":1.5,"
		"\"queued_items\":250.0,\"queued_bytes\":16000.0,\"done_items\":200.0,\"done_bytes\":12500.0,"
		"\"scans\":3.5,\"shazptr_scans\":7.5,\"mutex_sleeps\":0.25,\"stalls\":0.0},"
		"\"total\":{\"grace_periods\":44,\"heavy_fences\":224,\"passes\":70,\"wakeups\":83,"
		"\"queued_items\":4003,\"queued_bytes\":468040,\"done_items\":3305,\"done_bytes\":353030,"
		"\"scans\":102,\"shazptr_scans\":129,\"mutex_sleeps\":112,\"stalls\":3},"
		"\"gp_latency_ns\":{\"lately\":{\"count\":11,\"mean\":3100.0,\"p50\":2389.33333,"
		"\"p99\":4061.86667,\"max\":null,\"at_most\":4096.0},\"ever\":{\"count\":44,\"mean\":15775.0,"
		"\"p50\":12288.0,\"p99\":70000.0,\"max\":70000.0,\"at_most\":70000.0}},"
		"\"waiting\":{\"items\":{\"now\":1200,\"peak\":888,\"hard_limit\":1000},\"bytes\":{\"now\":0,"
		"\"peak\":777000,\"hard_limit\":null}},\"slots_in_use\":13,\"kept\":17,\"waits\":[]}");
}

/* The longest of all grace periods is among the last ones: then it is known exactly, and bounds the percentiles. */
TEST(longest_was_lately)
{
	struct top_sample before = sample_at(150 * S), after = later();
	struct top_view view;

	after.again.page.gp_ns[17]++;
	after.again.page.gp_ended++;
	after.again.page.gp_ns_sum += 140000;
	after.again.page.gp_ns_max = 140000;
	view = view_of(&before, &after);
	assert_true(view.lately.known && view.lately.timed && view.lately.max_exact);
	assert_int_equal(view.lately.count, 12);
	assert_float_equal(view.lately.max, 140000, 0);
	assert_float_equal(view.lately.mean, 171000. / 11, 1e-9);
	/* The 5.5th is one and a half into the six of 2.048 to 4.096 us; the 10.89th would be at 247 us. */
	assert_float_equal(view.lately.p50, 2048 * (1 + 1.5 / 6), 1e-9);
	assert_float_equal(view.lately.p99, 140000, 0);
}

/* Counts that go backwards are not known; those that are noted late stand still, and are never below zero. */
TEST(backwards)
{
	struct top_sample before = sample_at(150 * S), after = sample_at(152 * S);
	struct top_view view;
	unsigned i;

	for (i = 0; i < TOP_COUNTERS; i++) {
		uint64_t one = 1;

		memcpy((char *)&after.again.page + top_counters[i].at, &one, sizeof(one));
	}
	view = view_of(&before, &after);
	for (i = 0; i < TOP_COUNTERS; i++) {
		assert_int_equal(view.rate[i].known, top_counters[i].late);
		assert_float_equal(view.rate[i].per_s, 0, 0);
		assert_int_equal(view.total[i], 1);
	}
	assert_false(view.lately.known);
	after.again.page.done_items = UINT64_MAX;
	after.again.page.passes = UINT64_MAX;
	after.again.page.waiting_items = UINT64_MAX - 3;
	after.again.page.waiting_bytes = UINT64_MAX - 3;
	view = view_of(&before, &after);
	assert_int_equal(view.total[6], 0);
	assert_true(view.total[2] == UINT64_MAX);
	assert_int_equal(view.items.now, 0);
	assert_int_equal(view.bytes.now, 0);
}

/* Sums, numbers or buckets of times that shrink contradict; so does a page of another time than before's. */
TEST(latency_backwards)
{
	struct top_sample before = sample_at(150 * S), after;

	after = later();
	after.again.page.gp_ns_sum = 599999;
	assert_false(view_of(&before, &after).lately.known);
	after = later();
	after.again.page.gp_ended = 32;
	assert_false(view_of(&before, &after).lately.known);
	after = later();
	after.again.page.gp_ns[16] = 0;
	assert_false(view_of(&before, &after).lately.known);
	after = later();
	assert_true(view_of(&before, &after).lately.known);
	before.again.page.began_ns++;
	assert_int_equal(view_of(&before, &after).lately.count, 44);
	assert_float_equal(view_of(&before, &after).seconds, 104, 0);
}

/* Percentiles inside a bucket; a sum that was read late makes no mean above the longest; the last bucket has no end. */
TEST(percentiles)
{
	static const struct {
		unsigned bucket[2];
		uint64_t count[2], sum, max;
		double mean, p50, p99;
	} rows[] = {
		{ { 3, 4 }, { 4, 0 }, 40, 15, 10, 12, 8 * 1.99 > 15 ? 15 : 8 * 1.99 },
		{ { 0, 5 }, { 50, 50 }, 2000, 60, 20, 2, 32 * (1 + 49. / 50) > 60 ? 60 : 32 * (1 + 49. / 50) },
		{ { 7, 8 }, { 1, 3 }, 5000, 400, 400, 256 * (1 + 1. / 3), 400 },
		{ { 2, 39 }, { 1, 9 }, 100, UINT64_C(1) << 41, 10, (double)(UINT64_C(1) << 39) * (1 + 4. / 9),
		  (double)(UINT64_C(1) << 39) * (1 + 8.9 / 9) },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct top_sample s = sample_at(150 * S);
		struct lull_stats_page *p = &s.again.page;
		struct top_latency l;

		memset(p->gp_ns, 0, sizeof(p->gp_ns));
		p->gp_ns[rows[i].bucket[0]] = rows[i].count[0];
		p->gp_ns[rows[i].bucket[1]] += rows[i].count[1];
		p->gp_ns_sum = rows[i].sum;
		p->gp_ns_max = rows[i].max;
		p->gp_ended = p->gp_started = rows[i].count[0] + rows[i].count[1] + 3;
		s.first = s.again;
		l = view_of(NULL, &s).ever;
		assert_true(l.known);
		assert_float_equal(l.mean, rows[i].mean, 1e-9);
		assert_float_equal(l.p50, rows[i].p50, 1e-3);
		assert_float_equal(l.p99, rows[i].p99, 1e-3);
	}
}

/* JSON is UTF-8, and a command any bytes. */
TEST(command)
{
	static const struct {
		const char *command, *told;
	} rows[] = { { "\xc3\xa9", "\"command\":\"\\u00E9\"," }, { "a\xff", "\"command\":\"a?\"," }, { "b\177", "\"command\":\"b?\"," } };
	struct top_sample s = sample_at(150 * S);
	struct top_view view = view_of(NULL, &s);
	struct top_lines lines;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text;

		strcpy(view.command, rows[i].command);
		text = top_told(&view);
		assert_non_null(strstr(text, rows[i].told));
		free(text);
	}
	/* Nothing that could steer a terminal. */
	strcpy(view.command, "a\x1b[2J\xff");
	top_lines(&lines, &view, 30);
	assert_string_equal(lines.text[0], "process 42 (a?[2J?), up 1 min");
}

/* ---- who waits for whom ---------------------------------------------------------------------- */

static struct lull_stats_wait wait_at(uint32_t kind, uint32_t waiter, uint32_t holder, uint64_t since_ns)
{
	struct lull_stats_wait w;

	memset(&w, 0, sizeof(w));
	w.kind = kind;
	w.waiter_tid = waiter;
	w.tid = holder;
	w.since_ns = since_ns;
	w.holders = holder % 3;
	w.depth = holder % 5;
	w.site = holder * 16;
	return w;
}

static void name(struct top_thread *t, const char *text, char state, const char *where)
{
	strcpy(t->name, text);
	t->state = state;
	strcpy(t->where, where);
}

TEST(threads)
{
	static const struct {
		const char *comm, *stat, *where;
		char state;
		bool gone;
		const char *name, *told;
	} rows[] = {
		{ "reader", "7 (reader) S 1", "futex_wait", 'S', false, "futex_wait", "sleeps" },
		{ "reader", "7 (reader) I 1", "0", 'I', false, "", "sleeps" },
		{ "reader", "7 (reader) R 1", NULL, 'R', false, "", "runs" },
		{ "reader", "7 (reader) D 1", "", 'D', false, "", "waits for a device" },
		{ "reader", "7 (reader) t 1", "0", 't', false, "", "is stopped" },
		{ "reader", "7 (reader) T 1", "0", 'T', false, "", "is stopped" },
		{ "reader", "7 (reader) Z 1", "0", 'Z', true, "", "has exited" },
		{ "reader", "7 (reader) X 1", "0", 'X', true, "", "has exited" },
		{ NULL, NULL, NULL, 0, false, "", "?" },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct top_thread t = { .tid = 7 };

		top_thread_is(&t, rows[i].comm, rows[i].stat, rows[i].where);
		assert_int_equal(t.state, rows[i].state);
		assert_int_equal(t.gone, rows[i].gone);
		assert_string_equal(t.name, rows[i].comm ? rows[i].comm : "?");
		assert_string_equal(t.where, rows[i].name);
		assert_string_equal(top_state_name(&t), rows[i].told);
	}
}

TEST(waits)
{
	struct top_sample s = sample_at(150 * S);
	struct lull_stats_wait *first = s.first.page.waits, *again = s.again.page.waits;
	struct top_view view;

	first[0] = wait_at(LULL_WAIT_GP, 101, 202, 149 * S);		 /* 1 s */
	first[3] = wait_at(LULL_WAIT_CALLBACK, 0, 206, 30 * S);		 /* 2 min */
	first[4] = wait_at(LULL_WAIT_GP, 107, 208, 147500 * S / 1000);	 /* 2.5 s */
	first[5] = wait_at(LULL_WAIT_GP, 109, 210, 140 * S);		 /* it is over, and another one began */
	first[6] = wait_at(LULL_WAIT_GP, 111, 212, 151 * S);		 /* not yet: not known */
	memcpy(again, first, sizeof(s.first.page.waits));
	again[5].since_ns++;
	again[7] = wait_at(LULL_WAIT_GP, 113, 214, 140 * S);		 /* it has just begun */
	first[8] = again[8] = wait_at(LULL_WAIT_GP, 115, 216, 100 * S);
	again[8].waiter_tid++;
	first[9] = again[9] = wait_at(LULL_WAIT_GP, 117, 218, 100 * S);
	again[9].kind++;
	view = view_of(NULL, &s);
	assert_int_equal(view.nr_waits, 4);
	name(&view.waits[0].holder, "callback", 'S', "futex_wait");
	name(&view.waits[1].waiter, "updater", 'S', "");
	name(&view.waits[1].holder, "reader", 'R', "not shown");
	strcpy(view.waits[1].site_name, "program+0x12f0");
	name(&view.waits[2].holder, "gone", 'Z', "");
	view.waits[2].holder.gone = true;
	view.waits[3].waiter.tid = TOP_PID_MAX + 1;
	look(&view, 15,
		"who waits for whom\n"
		" 2 min 00 s  callback on 206 callback does not return\n"
		"             depth 1, the thread sleeps in futex_wait\n"
		"      2.5 s  rcu grace period: 107 updater waits for 208 reader\n"
		"             depth 3, the thread runs; entered at program+0x12f0\n"
		"        1 s  rcu grace period: 101  waits for 202 gone\n"
		"             depth 2, the thread has exited\n"
		"          ?  rcu grace period: ? waits for 212 , one of 2\n"
		"             depth 2, the thread is not known\n");
	told(&view, "\"waits\"",
		"\"waits\":[{\"kind\":\"callback\",\"waiter\":null,\"holder\":{\"tid\":206,\"name\":\"callback\","
		"\"state\":\"sleeps\",\"where\":\"futex_wait\"},\"holders\":2,\"depth\":1,\"seconds\":120.0,"
		"\"site\":null},{\"kind\":\"rcu grace period\",\"waiter\":{\"tid\":107,\"name\":\"updater\","
		"\"state\":\"sleeps\",\"where\":\"\"},\"holder\":{\"tid\":208,\"name\":\"reader\","
		"\"state\":\"runs\",\"where\":\"not shown\"},\"holders\":1,\"depth\":3,\"seconds\":2.5,"
		"\"site\":\"program+0x12f0\"},{\"kind\":\"rcu grace period\",\"waiter\":{\"tid\":101,"
		"\"name\":\"\",\"state\":\"?\",\"where\":\"\"},\"holder\":{\"tid\":202,\"name\":\"gone\","
		"\"state\":\"has exited\",\"where\":\"\"},\"holders\":1,\"depth\":2,\"seconds\":1.0,"
		"\"site\":null},{\"kind\":\"rcu grace period\",\"waiter\":{\"tid\":4194305,\"name\":\"\","
		"\"state\":\"?\",\"where\":\"\"},\"holder\":{\"tid\":212,\"name\":\"\",\"state\":\"?\","
		"\"where\":\"\"},\"holders\":2,\"depth\":2,\"seconds\":null,\"site\":null}]}");
}
