/* SPDX-License-Identifier: MIT */
/* The choice of `lull compare` for one workload, over results made up for each case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../tools/choose/workload.c"
#include "../../tools/common/units.c"
#include "../../tools/choose/workload_words.c"

#include "tools/choose_support.h"

enum { COUNT, PERCPU, RCU, HAZARD, WAYS };

static struct choose_way way[WAYS];

static void set_ns(enum choose_axis axis, size_t point, double count, double percpu, double rcu,
		   double hazard)
{
	const double ns[WAYS] = { count, percpu, rcu, hazard };
	size_t i;

	for (i = 0; i < WAYS; i++) {
		way[i].point[axis][point].ns = ns[i];
		way[i].point[axis][point].spread = 0.01;
	}
}

/* At 1 % updates, 1 us, 1000 objects. RCU is the fastest of its readers, hazard pointers follow. */
static struct choose_work ordinary(void)
{
	static const double updates[] = { 0, 0.01, 0.5, 1 }, hold[] = { 0, 1000, 10000 },
			    objects[] = { 10, 1000, 100000 };
	static const char *const names[] = { "count", "percpu", "rcu", "hazard" };
	static const unsigned effort[] = { 1, 3, 2, 4 };
	struct choose_work w;
	size_t i;

	memset(&w, 0, sizeof(w));
	memset(way, 0, sizeof(way));
	for (i = 0; i < WAYS; i++) {
		way[i].name = names[i];
		way[i].effort = effort[i];
		way[i].wait_ns = way[i].held_back = -1;
	}
	way[RCU].may_not_block = "a section holds up all";
	way[RCU].wait_ns = 23e6;
	way[RCU].held_back = 14000;
	set_ns(CHOOSE_UPDATES, 0, 400, 150, 100, 150);
	set_ns(CHOOSE_UPDATES, 1, 400, 200, 100, 150);
	set_ns(CHOOSE_UPDATES, 2, 400, 3000, 300, 350);
	set_ns(CHOOSE_UPDATES, 3, 400, 6000, 700, 750);
	set_ns(CHOOSE_HOLD, 0, 400, 200, 100, 150);
	set_ns(CHOOSE_HOLD, 1, 400, 200, 100, 150);
	set_ns(CHOOSE_HOLD, 2, 800, 600, 500, 550);
	set_ns(CHOOSE_OBJECTS, 0, 500, 200, 100, 150);
	set_ns(CHOOSE_OBJECTS, 1, 400, 200, 100, 150);
	set_ns(CHOOSE_OBJECTS, 2, 300, 200, 100, 150);
	memcpy(w.value[CHOOSE_UPDATES], updates, sizeof(updates));
	memcpy(w.value[CHOOSE_HOLD], hold, sizeof(hold));
	memcpy(w.value[CHOOSE_OBJECTS], objects, sizeof(objects));
	w.values[CHOOSE_UPDATES] = 4;
	w.values[CHOOSE_HOLD] = w.values[CHOOSE_OBJECTS] = 3;
	for (i = 0; i < CHOOSE_AXES; i++)
		w.at[i] = 1;
	w.updates = 0.01;
	w.hold_ns = 1000;
	w.objects = 1000;
	w.size = 64;
	w.threads = 2;
	w.slow_ns = 10e6;
	w.update_rate = 10000;
	w.way = way;
	w.ways = WAYS;
	return w;
}

/* All points of the workload itself alike. */
static void set_own(double count, double percpu, double rcu, double hazard)
{
	set_ns(CHOOSE_UPDATES, 1, count, percpu, rcu, hazard);
	set_ns(CHOOSE_HOLD, 1, count, percpu, rcu, hazard);
	set_ns(CHOOSE_OBJECTS, 1, count, percpu, rcu, hazard);
}

static struct choose_verdict run(const struct choose_work *w)
{
	struct choose_verdict v;

	choose_for(w, &v);
	lines = choose_for_words(w, &v, line);
	return v;
}

static const struct choose_change *change_of(const struct choose_verdict *v, enum choose_axis axis,
					     bool above)
{
	size_t i;

	for (i = 0; i < v->changes; i++)
		if (v->change[i].axis == axis && v->change[i].above == above)
			return &v->change[i];
	return NULL;
}

static void names_the_fastest(void **state)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	(void)state;
	v = run(&w);
	assert_int_equal(v.best, RCU);
	assert_int_equal(v.second, HAZARD);
	assert_int_equal(v.why, CHOOSE_FASTER);
	assert_true(v.matters);
	assert_string_equal(line[0],
			    "Use rcu: it is the fastest, 100 ns an operation; with hazard, the "
			    "next, one takes x1.5 as long.");
	assert_string_equal(line[1], "Runner-up: hazard, 150 ns an operation.");
	assert_false(said("busy"));

	/* From the figures, whatever the names. */
	set_own(400, 60, 100, 150);
	v = run(&w);
	assert_int_equal(v.best, PERCPU);
	assert_int_equal(v.second, RCU);
	set_own(40, 60, 100, 150);
	v = run(&w);
	assert_int_equal(v.best, COUNT);
	assert_int_equal(v.second, PERCPU);
	/* The next one is named as the first is: as fast as the next fastest, and asking less. */
	set_own(400, 103, 50, 100);
	v = run(&w);
	assert_int_equal(v.best, RCU);
	assert_int_equal(v.second, PERCPU);
}

static void ties_go_to_what_asks_less(void **state)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	(void)state;
	set_own(400, 200, 103, 100);
	v = run(&w);
	assert_int_equal(v.fastest, HAZARD);
	assert_int_equal(v.best, RCU);
	assert_int_equal(v.second, HAZARD);
	assert_int_equal(v.why, CHOOSE_EASIER);
	assert_true(v.matters);
	assert_true(said("Use rcu: rcu and hazard are equally fast here within the scatter, 103 ns "
			 "and 100 ns an operation, and rcu is easier to use right."));
	assert_true(said("Runner-up: hazard, 100 ns an operation; it is harder to use right."));

	/* Apart by more than they scatter. */
	set_own(400, 200, 107, 100);
	assert_int_equal(run(&w).best, HAZARD);
	/* They scatter by that much. */
	way[RCU].point[CHOOSE_UPDATES][1].spread = way[HAZARD].point[CHOOSE_UPDATES][1].spread =
		0.10;
	assert_int_equal(run(&w).best, RCU);
	/* No scatter makes everything the same. */
	set_own(400, 200, 140, 100);
	way[RCU].point[CHOOSE_UPDATES][1].spread = way[HAZARD].point[CHOOSE_UPDATES][1].spread = 3;
	assert_int_equal(run(&w).best, HAZARD);

	/* Of equal effort the faster one. */
	set_own(400, 200, 103, 100);
	way[HAZARD].effort = way[RCU].effort;
	assert_int_equal(run(&w).best, HAZARD);
	assert_true(said("hazard was a little ahead."));
	assert_false(said("easier"));
}

static void it_does_not_matter(void **state)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	(void)state;
	set_own(1030, 1020, 1000, 1010);
	v = run(&w);
	assert_false(v.matters);
	assert_int_equal(v.best, COUNT);
	assert_string_equal(line[0],
			    "It does not matter here: count, percpu, rcu and hazard are the same "
			    "within the scatter, 1.03 us an operation. Use count: it asks least.");
	/* One that is not makes a difference. */
	set_own(1030, 1020, 1000, 1300);
	assert_true(run(&w).matters);
	assert_false(said("does not matter"));
	/* So does one that takes much memory, even if it is as fast. */
	set_own(1030, 1020, 1000, 1010);
	way[PERCPU].object_bytes = 5000;
	assert_true(run(&w).matters);
	/* What may not be used does not count. */
	set_own(1030, 1020, 3000, 1010);
	way[PERCPU].object_bytes = 0;
	w.block = true;
	assert_false(run(&w).matters);
	assert_true(said("count, percpu and hazard are the same"));
}

static void memory(void **state)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	(void)state;
	set_own(400, 100, 102, 200);
	way[RCU].point[CHOOSE_UPDATES][1].waiting = 30e6;
	v = run(&w);
	assert_int_equal(v.best, PERCPU);
	assert_int_equal(v.second, RCU);
	assert_int_equal(v.why, CHOOSE_LEANER);
	assert_true(said("Use percpu: 100 ns an operation, as fast as rcu within the scatter, and "
			 "in less memory"));
	assert_true(said("Runner-up: rcu, which takes 30 MB beside the objects, 30 MB more."));

	/* Less than a megabyte is nobody's concern; nor is a tenth of the objects themselves. */
	way[RCU].point[CHOOSE_UPDATES][1].waiting = 0.9e6;
	assert_int_equal(run(&w).best, RCU);
	way[RCU].point[CHOOSE_UPDATES][1].waiting = 30e6;
	w.size = 400000;
	assert_int_equal(run(&w).best, RCU);
	w.size = 64;
	/* Per object, over as many as there are; and per thread. */
	way[RCU].point[CHOOSE_UPDATES][1].waiting = 0;
	way[RCU].object_bytes = 900;
	assert_int_equal(run(&w).best, RCU);
	way[RCU].object_bytes = 1100;
	assert_int_equal(run(&w).best, PERCPU);
	way[RCU].object_bytes = 0;
	way[RCU].thread_bytes = 600000;
	assert_int_equal(run(&w).best, PERCPU);
	/* What is faster may take it. */
	set_own(400, 150, 102, 200);
	assert_int_equal(run(&w).best, RCU);
}

static void readers_that_sleep(void **state)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	(void)state;
	v = run(&w);
	assert_int_equal(v.blocking, HAZARD);
	assert_int_equal(v.unblocked, RCU);
	assert_true(said("If readers have to sleep: hazard, because a section holds up all."));
	assert_false(said("Not rcu"));

	w.block = true;
	v = run(&w);
	assert_true(v.excluded[RCU]);
	assert_false(v.excluded[HAZARD]);
	assert_int_equal(v.best, HAZARD);
	assert_int_equal(v.second, PERCPU);
	assert_true(said("Not rcu, because readers sleep: a section holds up all; one that stayed "
			 "10 ms made others wait up to 23 ms for memory, and 14 kB wait, at 10000 "
			 "updates a second."));
	assert_true(said("If they need not: rcu."));
	assert_false(said("have to sleep"));

	/* Without the figures the reason alone. */
	way[RCU].wait_ns = -1;
	run(&w);
	assert_true(said("Not rcu, because readers sleep: a section holds up all."));

	/* One whose readers may is no other answer. */
	w = ordinary();
	set_own(400, 200, 100, 50);
	v = run(&w);
	assert_int_equal(v.blocking, HAZARD);
	assert_false(said("sleep"));
}

static void what_would_change_it(void **state)
{
	struct choose_work w = ordinary();
	const struct choose_change *c;
	struct choose_verdict v;

	(void)state;
	/* rcu 300, count 400 at 50 %; 700 and 400 at 100 %: with 5 % between them at 65 %. */
	v = run(&w);
	assert_int_equal(v.changes, 1);
	c = change_of(&v, CHOOSE_UPDATES, true);
	assert_non_null(c);
	assert_int_equal(c->way, COUNT);
	assert_int_equal(c->why, CHOOSE_FASTER);
	assert_int_equal(c->point, 3);
	assert_float_equal(c->from, 0.65, 0.001);
	assert_true(said("From about 65 % updates on: count, which takes x0.57 as long an "
			 "operation at 100 % updates."));
	assert_true(said("The answer is the same from 0 ns to 10 us of hold, 10 to 100000 objects, "
			 "one changed at a time."));

	/* The other way round. */
	w.at[CHOOSE_UPDATES] = 3;
	set_ns(CHOOSE_HOLD, 1, 400, 6000, 700, 750);
	set_ns(CHOOSE_OBJECTS, 1, 400, 6000, 700, 750);
	v = run(&w);
	assert_int_equal(v.best, COUNT);
	c = change_of(&v, CHOOSE_UPDATES, false);
	assert_non_null(c);
	assert_int_equal(c->way, RCU);
	assert_null(change_of(&v, CHOOSE_UPDATES, true));
	assert_true(said("Up to about 6"));
}

static void a_tie_further_on_changes_it_too(void **state)
{
	struct choose_work w = ordinary();
	const struct choose_change *c;
	struct choose_verdict v;

	(void)state;
	set_ns(CHOOSE_HOLD, 2, 10300, 10200, 10000, 10100);
	v = run(&w);
	c = change_of(&v, CHOOSE_HOLD, true);
	assert_non_null(c);
	assert_int_equal(c->way, COUNT);
	assert_int_equal(c->why, CHOOSE_EASIER);
	assert_true(c->from > 1000 && c->from < 10000);
	assert_true(said("of hold on: count, as fast within the scatter, and asking less, at 10 us "
			 "of hold."));

	/* And memory that grows with the objects. */
	w = ordinary();
	set_ns(CHOOSE_OBJECTS, 2, 400, 300, 100, 104);
	way[RCU].object_bytes = 110;
	v = run(&w);
	c = change_of(&v, CHOOSE_OBJECTS, true);
	assert_non_null(c);
	assert_int_equal(c->way, HAZARD);
	assert_int_equal(c->why, CHOOSE_LEANER);
	/* A megabyte more, at 110 bytes each. */
	assert_float_equal(c->from, 1e6 / 110, 1);
	assert_true(said("From about 9100 objects on: hazard, as fast and in less memory at 100000 "
			 "objects."));
	/* It is not known what it took before. */
	way[HAZARD].point[CHOOSE_OBJECTS][1].ns = 0;
	v = run(&w);
	assert_float_equal(change_of(&v, CHOOSE_OBJECTS, true)->from, 100000, 0);
}

/* Contention goes with one over the number of objects, and so does the line in between. */
static void over_objects(void **state)
{
	struct choose_work w = ordinary();
	const struct choose_change *c;
	struct choose_verdict v;

	(void)state;
	set_ns(CHOOSE_OBJECTS, 0, 1000, 100 / 1.05, 200, 1000);
	set_ns(CHOOSE_OBJECTS, 1, 400, 300 / 1.05, 100, 150);
	v = run(&w);
	c = change_of(&v, CHOOSE_OBJECTS, false);
	assert_non_null(c);
	assert_int_equal(c->way, PERCPU);
	/* -200 at 1/1000, 100 at 1/10: two thirds of the way. */
	assert_float_equal(c->from, 1 / (0.001 + 0.099 * 2 / 3), 0.01);
}

/* No claim about what is not there. */
static void missing(void **state)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	(void)state;
	way[RCU].point[CHOOSE_UPDATES][1].ns = 0;
	v = run(&w);
	assert_int_equal(v.best, HAZARD);
	assert_int_not_equal(v.unblocked, RCU);

	/* The named one was not measured further on. */
	w = ordinary();
	way[RCU].point[CHOOSE_UPDATES][3].ns = 0;
	v = run(&w);
	assert_null(change_of(&v, CHOOSE_UPDATES, true));
	assert_false(said("updates on"));
	assert_true(said("from 0 % to 50 % updates, "));

	/* Nobody was, at that point. */
	w = ordinary();
	set_ns(CHOOSE_UPDATES, 2, 0, 0, 0, 0);
	v = run(&w);
	assert_null(change_of(&v, CHOOSE_UPDATES, true));

	/* The other one was not measured before it: from that point on, no line. */
	w = ordinary();
	way[COUNT].point[CHOOSE_UPDATES][2].ns = 0;
	v = run(&w);
	assert_float_equal(change_of(&v, CHOOSE_UPDATES, true)->from, 1, 0);

	/* Only the workload itself. */
	w = ordinary();
	w.values[CHOOSE_UPDATES] = w.values[CHOOSE_HOLD] = w.values[CHOOSE_OBJECTS] = 2;
	w.at[CHOOSE_UPDATES] = w.at[CHOOSE_HOLD] = w.at[CHOOSE_OBJECTS] = 1;
	v = run(&w);
	assert_int_equal(v.changes, 0);
	w.values[CHOOSE_UPDATES] = w.values[CHOOSE_HOLD] = w.values[CHOOSE_OBJECTS] = 1;
	w.at[CHOOSE_UPDATES] = w.at[CHOOSE_HOLD] = w.at[CHOOSE_OBJECTS] = 0;
	run(&w);
	assert_false(said("The answer is the same"));
}

static void one_only(void **state)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	(void)state;
	w.way = &way[RCU];
	w.ways = 1;
	v = run(&w);
	assert_int_equal(v.best, 0);
	assert_int_equal(v.second, CHOOSE_NOTHING);
	assert_int_equal(v.why, CHOOSE_ONLY);
	assert_true(v.matters);
	assert_int_equal(v.changes, 0);
	assert_true(said("Use rcu, 100 ns an operation: nothing else was measured that could be "
			 "used."));
	assert_true(said("If readers have to sleep: nothing that was measured here."));
	assert_false(said("Runner-up"));
	assert_false(said("does not matter"));
	assert_false(said("The answer is the same"));

	w.block = true;
	v = run(&w);
	assert_int_equal(v.best, CHOOSE_NOTHING);
	assert_true(said("Nothing was measured that could be used."));
	assert_true(said("Not rcu, because readers sleep"));

	w.ways = 0;
	v = run(&w);
	assert_int_equal(v.best, CHOOSE_NOTHING);
	assert_int_equal(lines, 1);
}

static void noise(void **state)
{
	struct choose_work w = ordinary();
	size_t i;

	(void)state;
	for (i = 0; i < WAYS; i++)
		way[i].point[CHOOSE_UPDATES][1].spread = 0.4;
	assert_float_equal(run(&w).noise, 0.4, 0.001);
	assert_true(said("The figures scatter by 40 %: the machine was busy."));
	/* One that scatters is not the machine. */
	w = ordinary();
	way[RCU].point[CHOOSE_UPDATES][1].spread = 0.4;
	run(&w);
	assert_false(said("busy"));
}

/* Long names and many of them must not write past the lines. */
static void lines_are_bounded(void **state)
{
	static char name[600];
	struct choose_work w = ordinary();
	size_t i;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	for (i = 0; i < WAYS; i++) {
		way[i].name = name;
		way[i].may_not_block = name;
	}
	run(&w);
	set_own(1000, 1000, 1000, 1000);
	run(&w);
	w.block = true;
	run(&w);
	for (i = 0; i < lines; i++)
		assert_true(strlen(line[i]) < CHOOSE_LINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_the_fastest),
		cmocka_unit_test(ties_go_to_what_asks_less),
		cmocka_unit_test(it_does_not_matter),
		cmocka_unit_test(memory),
		cmocka_unit_test(readers_that_sleep),
		cmocka_unit_test(what_would_change_it),
		cmocka_unit_test(a_tie_further_on_changes_it_too),
		cmocka_unit_test(over_objects),
		cmocka_unit_test(missing),
		cmocka_unit_test(one_only),
		cmocka_unit_test(noise),
		cmocka_unit_test(lines_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
