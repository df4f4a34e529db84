/* SPDX-License-Identifier: MIT */
/*
 * tradeoff_figures.c - every figure of lull tradeoff, from made-up results: the tables, the JSON, and what is read of it
 * again; memory of an object and a thread, retries of a walk. No figure is like another.
 */
#include "test.h"

#include "../choose/ratio.c"
#include "../engine/text_table.c"
#include "../instruments/tradeoff/figures.c"
#include "../instruments/tradeoff/json.c"
#include "../instruments/tradeoff/print.c"

#include "tests/made_up.h"

/* ---- parts ------------------------------------------------------------------------------------ */

TEST(memory)
{
	const double page = (double)sysconf(_SC_PAGESIZE);

	/* 1000 objects of 700 bytes each, and of 764 with what the scheme adds. */
	assert_float_equal(tradeoff_object_bytes(5e6, 5.7e6, 6.464e6, 1000), 64, 1e-6);
	assert_float_equal(tradeoff_bytes_each(48e6, 12e6, 48), 750000, 1e-6);
	assert_float_equal(tradeoff_bytes_each(12e6, 48e6, 48), -750000, 1e-6);
	/* Two pages are noise, and a byte more is not. */
	assert_float_equal(tradeoff_bytes_each(3 * page, page, 2), 0, 0);
	assert_float_equal(tradeoff_bytes_each(page, 3 * page, 2), 0, 0);
	assert_float_equal(tradeoff_bytes_each(3 * page + 1, page, 1), 2 * page + 1, 1e-9);
	assert_float_equal(tradeoff_bytes_each(page, 3 * page + 1, 1), -2 * page - 1, 1e-9);
}

TEST(walks)
{
	assert_float_equal(tradeoff_per_million(30, 4000000), 7.5, 1e-9);
	assert_float_equal(tradeoff_per_million(3, 400), 7500, 1e-9);
}

TEST(rounds)
{
	static const double ns[] = { 50, 20, 90, 30 };
	struct tradeoff_point p = { .waiting = 7 };
	size_t i;

	for (i = 0; i < 4; i++)
		tradeoff_add_round(&p, ns[i]);
	assert_float_equal(p.ns.min, 20, 0);
	assert_float_equal(p.ns.median, 40, 0);
	assert_float_equal(p.ns.max, 90, 0);
	assert_int_equal(p.rounds.count, 4);
	/* Rounds stay in their order: those of two ways are compared one by one. */
	for (i = 0; i < 4; i++)
		assert_float_equal(p.rounds.ns[i], ns[i], 0);
}

/* Three CPUs for 2 s: 1.5 s idle, 2.5 s used by this process, 2 s by others. */
TEST(others)
{
	const struct tradeoff_moment from = { 1000, 500, 200 }, to = { 2000001000, 2500000500, 1500000200 },
				     all_own = { 2000001000, 5900000500, 1500000200 };

	assert_float_equal(tradeoff_others(&from, &to, 3), 1, 1e-9);
	assert_float_equal(tradeoff_others(&from, &to, 4), 2, 1e-9);
	assert_float_equal(tradeoff_others(&from, &all_own, 3), 0, 0);
}

/* ---- the tables ------------------------------------------------------------------------------- */

static struct bench_stat stat(double median)
{
	return (struct bench_stat){ median * 0.7, median, median * 1.9, 5 };
}

static struct tradeoff two_ways_and_a_lock(void)
{
	static const double updates[] = { 0, 0.01, 0.5 }, hold[] = { 0, 1000 }, objects[] = { 10, 500 };
	static const struct tradeoff_result ways[] = {
		{ .name = "rcu", .title = "RCU", .said = "RCU", .what = "sections", .header = "lull/rcu.h", .unbounded = true,
		  .may_not_block = "they wait", .effort = 2 },
		{ .name = "refcount", .title = "atomic count", .said = "a count", .what = "counts", .effort = 1 },
		{ .name = "rwlock", .title = "rwlock", .said = "one rwlock", .what = "a lock", .is_lock = true },
	};
	struct tradeoff t = { .count = 3, .threads = { 1, 4 }, .nr_threads = 2, .slow_ns = 3e6, .update_rate = 9000, .size = 96,
			      .list = 70, .mix_threads = 4, .others_cpus = 0.25, .updates = 0.01, .hold_ns = 1000,
			      .objects = 500, .values = { 3, 2, 2 }, .at = { 1, 1, 1 } };
	size_t i, j, k;

	memcpy(t.value[CHOOSE_UPDATES], updates, sizeof(updates));
	memcpy(t.value[CHOOSE_HOLD], hold, sizeof(hold));
	memcpy(t.value[CHOOSE_OBJECTS], objects, sizeof(objects));
	for (i = 0; i < 3; i++) {
		struct tradeoff_result *s = &t.scheme[i];
		double by = (double)(i + 1);

		*s = ways[i];
		s->read[0] = stat(5 * by);
		s->read[1] = stat(17 * by * by);
		for (j = 0; j < CHOOSE_AXES; j++)
			for (k = 0; k < t.values[j]; k++) {
				struct tradeoff_point *p = &s->mix[j][k];

				tradeoff_add_round(p, 200 * by + 30 * (double)j + (double)k);
				tradeoff_add_round(p, 280 * by + 30 * (double)j + (double)k);
				tradeoff_add_round(p, 210 * by + 30 * (double)j + (double)k);
				p->waiting = 4000 * by + 100 * (double)(j + 1) + (double)k;
			}
		if (s->is_lock)
			continue;
		s->object_bytes = stat(i ? 8 : -16);
		s->thread_bytes = stat(1024 * by);
		s->update = (struct bench_latency){ 1, 2, 300 * by, 4, 5, 6, 7 };
		s->wait = (struct bench_latency){ 11, 12, 1300000 * by, 14, 15, 9900000 * by, 17 };
		s->waiting = stat(1000 * by);
		s->waiting_bytes = stat(112000 * by);
		s->restarts = stat(i ? 3.25 : 0);
		s->steps_again = stat(41 * by);
		s->steps = 5e6 * by;
		s->deletions = 1234 * by;
	}
	t.scheme[0].mix[CHOOSE_OBJECTS][0] = (struct tradeoff_point){ .waiting = -1 };
	/* A lock that there was time for once. */
	t.scheme[2].mix[CHOOSE_UPDATES][1] = (struct tradeoff_point){ .waiting = 12101 };
	tradeoff_add_round(&t.scheme[2].mix[CHOOSE_UPDATES][1], 631);
	return t;
}

TEST(print)
{
	struct tradeoff t = two_ways_and_a_lock();

	begin_printing();
	tradeoff_print(&t);
	/* Take figures away, as if they had not been measured, and leave one number of threads. */
	t.nr_threads = t.mix_threads = 1;
	t.block = true;
	t.scheme[0].read[0].count = t.scheme[0].object_bytes.count = t.scheme[0].thread_bytes.count = 0;
	t.scheme[0].update.count = t.scheme[0].wait.count = t.scheme[0].waiting.count = t.scheme[0].waiting_bytes.count = 0;
	t.scheme[0].restarts.count = t.scheme[0].steps_again.count = 0;
	t.scheme[0].mix[CHOOSE_UPDATES][1] = (struct tradeoff_point){ .waiting = -1 };
	t.count = 1;
	tradeoff_print(&t);
	assert_printed(
		"property                         RCU  atomic count\n"
		"Readers, 1 thread               5 ns         10 ns\n"
		"Readers, 4 threads             17 ns         68 ns\n"
		"Memory overhead, per object    -16 B           8 B\n"
		"  per thread                 1.02 kB       2.05 kB\n"
		"Protection duration            short   can be long\n"
		"  slow reader: others' wait   1.3 ms        2.6 ms\n"
		"  at most                     9.9 ms       19.8 ms\n"
		"Traversal retries: restarts        0          3.25\n"
		"  of one step                     41            82\n"
		"Deferred memory, objects        1900          3800\n"
		"  bytes                       213 kB        426 kB\n"
		"Update, slow reader           300 ns        600 ns\n"
		"\n"
		"Readers: get and put (lock and unlock, protect and clear), all on one object.\n"
		"Memory: what an object of 96 B, and a thread, take beyond what they would without it.\n"
		"Slow reader: one stays 3 ms at a time, beside 9000 updates a second.\n"
		"Walks: 70 elements, of which 9000 a second are deleted and replaced; per million steps.\n"
		"\n"
		"The workload: 1 % updates, readers hold 1 us, 500 objects, 4 threads:\n"
		"\n"
		"way         an operation   least    most  rounds  a read    waits\n"
		"RCU               211 ns  201 ns  281 ns       3   17 ns   4.1 kB\n"
		"a count           421 ns  401 ns  561 ns       3   68 ns   8.1 kB\n"
		"one rwlock        631 ns  631 ns  631 ns       1  153 ns  12.1 kB\n"
		"\n"
		"A read: 4 threads on one object. Waits: memory that waits to be freed, at most.\n"
		"property                       RCU\n"
		"Readers, 1 thread              n/a\n"
		"Memory overhead, per object    n/a\n"
		"  per thread                   n/a\n"
		"Protection duration          short\n"
		"  slow reader: others' wait    n/a\n"
		"  at most                      n/a\n"
		"Traversal retries: restarts    n/a\n"
		"  of one step                  n/a\n"
		"Deferred memory, objects       n/a\n"
		"  bytes                        n/a\n"
		"Update, slow reader            n/a\n"
		"\n"
		"Readers: get and put (lock and unlock, protect and clear), all on one object.\n"
		"Memory: what an object of 96 B, and a thread, take beyond what they would without it.\n"
		"Slow reader: one stays 3 ms at a time, beside 9000 updates a second.\n"
		"Walks: 70 elements, of which 9000 a second are deleted and replaced; per million steps.\n"
		"\n"
		"The workload: 1 % updates, readers hold 1 us asleep, 500 objects, 1 thread:\n"
		"\n"
		"way  an operation  least  most  rounds  a read  waits\n"
		"RCU           n/a    n/a   n/a       0     n/a      -\n"
		"\n"
		"A read: 1 thread on one object. Waits: memory that waits to be freed, at most.\n");
}

TEST(json)
{
	struct tradeoff t = two_ways_and_a_lock(), again;
	struct jsonout *json = made_up_json(), *copy = made_up_json();
	json_t *root = jsonout_root(json);

	t.scheme[1].read[0] = (struct bench_stat){ 0 }; /* which has no row */
	tradeoff_write_json(json, &t);
	tradeoff_read_json(root, &again);
	tradeoff_write_json(copy, &again);
	assert_true(json_equal(root, jsonout_root(copy)));
	assert_int_equal(again.at[CHOOSE_HOLD], 1);
	assert_int_equal(again.nr_threads, 2);
	assert_int_equal(again.threads[1], 4);
	jsonout_close(copy);
	begin_printing();
	json_dumpf(json_object_get(root, "workload"), stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
	puts("");
	json_dumpf(json_array_get(json_object_get(root, "schemes"), 0), stdout, JSON_COMPACT);
	puts("");
	json_dumpf(json_array_get(json_object_get(root, "schemes"), 2), stdout, JSON_COMPACT);
	assert_printed(
		"{\"updates\":0.01,\"hold_ns\":1000.0,\"objects\":500.0,\"size\":96.0,\"block\":false,"
		"\"threads\":4,\"others_cpus\":0.25,\"slow_ns\":3e6,\"update_rate\":9000.0,\"list\":70,"
		"\"points\":{\"updates\":[0.0,0.01,0.5],\"hold\":[0.0,1000.0],\"objects\":[10.0,500.0]}}\n"
		"{\"scheme\":\"rcu\",\"title\":\"RCU\",\"what\":\"sections\",\"said\":\"RCU\","
		"\"header\":\"lull/rcu.h\",\"is_lock\":false,\"unbounded\":true,\"effort\":2,"
		"\"may_not_block\":\"they wait\"}\n"
		"{\"scheme\":\"rwlock\",\"title\":\"rwlock\",\"what\":\"a lock\",\"said\":\"one rwlock\","
		"\"header\":null,\"is_lock\":true,\"unbounded\":false,\"effort\":0,\"may_not_block\":null}");
	while (json_array_size(json_object_get(root, "results")) > 19) /* one way, and a point of another */
		json_array_remove(json_object_get(root, "results"), json_array_size(json_object_get(root, "results")) - 1);
	assert_rows(json,
		"{scheme:rcu,threads:1,metric:get_put,unit:ns,min:3.5,median:5.0,max:9.5}\n"
		"{scheme:rcu,threads:4,metric:get_put,unit:ns,min:11.9,median:17.0,max:32.3}\n"
		"{scheme:rcu,threads:1,metric:object_bytes,unit:bytes,min:-11.2,median:-16.0,max:-30.4}\n"
		"{scheme:rcu,threads:1,metric:thread_bytes,unit:bytes,min:716.8,median:1024.0,max:1945.6}\n"
		"{scheme:rcu,threads:1,metric:hold_update,unit:ns,min:1.0,median:300.0,max:6.0,mean:2.0,"
		"p50:300.0,p90:4.0,p99:5.0,count:7}\n"
		"{scheme:rcu,threads:1,metric:hold_wait,unit:ns,min:11.0,median:1.3e6,max:9.9e6,mean:12.0,"
		"p50:1.3e6,p90:14.0,p99:15.0,count:17}\n"
		"{scheme:rcu,threads:1,metric:hold_waiting,unit:objects,min:700.0,median:1000.0,max:1900.0}\n"
		"{scheme:rcu,threads:1,metric:hold_waiting_bytes,unit:bytes,min:78400.0,median:112000.0,"
		"max:212800.0}\n"
		"{scheme:rcu,threads:1,metric:walk_restarts,unit:per million steps,min:0.0,median:0.0,max:0.0,"
		"steps:5e6,deletions:1234.0}\n"
		"{scheme:rcu,threads:1,metric:walk_steps_again,unit:per million steps,min:28.7,median:41.0,"
		"max:77.9}\n"
		"{scheme:rcu,threads:4,metric:mix,unit:ns,min:200.0,median:210.0,max:280.0,axis:updates,point:0,"
		"updates:0.0,hold_ns:1000.0,objects:500.0,waiting_bytes:4100.0,rounds:[200.0,280.0,210.0]}\n"
		"{scheme:rcu,threads:4,metric:mix,unit:ns,min:201.0,median:211.0,max:281.0,axis:updates,point:1,"
		"updates:0.01,hold_ns:1000.0,objects:500.0,waiting_bytes:4101.0,rounds:[201.0,281.0,211.0]}\n"
		"{scheme:rcu,threads:4,metric:mix,unit:ns,min:202.0,median:212.0,max:282.0,axis:updates,point:2,"
		"updates:0.5,hold_ns:1000.0,objects:500.0,waiting_bytes:4102.0,rounds:[202.0,282.0,212.0]}\n"
		"{scheme:rcu,threads:4,metric:mix,unit:ns,min:230.0,median:240.0,max:310.0,axis:hold,point:0,"
		"updates:0.01,hold_ns:0.0,objects:500.0,waiting_bytes:4200.0,rounds:[230.0,310.0,240.0]}\n"
		"{scheme:rcu,threads:4,metric:mix,unit:ns,min:231.0,median:241.0,max:311.0,axis:hold,point:1,"
		"updates:0.01,hold_ns:1000.0,objects:500.0,waiting_bytes:4201.0,rounds:[231.0,311.0,241.0]}\n"
		"{scheme:rcu,threads:4,metric:mix,unit:ns,min:null,median:null,max:null,axis:objects,point:0,"
		"updates:0.01,hold_ns:1000.0,objects:10.0,waiting_bytes:-1.0,rounds:[]}\n"
		"{scheme:rcu,threads:4,metric:mix,unit:ns,min:261.0,median:271.0,max:341.0,axis:objects,point:1,"
		"updates:0.01,hold_ns:1000.0,objects:500.0,waiting_bytes:4301.0,rounds:[261.0,341.0,271.0]}\n"
		"{scheme:refcount,threads:4,metric:get_put,unit:ns,min:47.6,median:68.0,max:129.2}\n"
		"{scheme:refcount,threads:1,metric:object_bytes,unit:bytes,min:5.6,median:8.0,max:15.2}\n");
}
