/* SPDX-License-Identifier: MIT */
/* The verdict of `lull compare` for one workload, over measurements made up for each case. */
#include "test.h"

#include "../choose/ratio.c"
#include "../choose/workload.c"
#include "../choose/workload_words.c"
#include "common/units.c"

#include "choose_support.h"

enum { RWLOCK, COUNT, RCU, HAZARD, WAYS };

#define ROUNDS 15

static size_t rounds = ROUNDS;

static struct choose_way way[WAYS];
static double noise; /* of each figure in each round, to either side */
static uint64_t seed;

/* -1 to 1 */
static double chance(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 33) / (double)(1u << 30) - 1;
}

static void set_point(struct choose_point *p, double ns)
{
	double v[ROUNDS];
	size_t i, j;

	memset(p, 0, sizeof(*p));
	p->ns = p->least = p->most = ns;
	for (i = 0; i < rounds && ns > 0; i++)
		p->rounds.ns[p->rounds.count++] = ns * (1 + noise * chance());
	if (!p->rounds.count || noise <= 0)
		return;
	for (i = 0; i < rounds; i++) {
		for (j = i; j && v[j - 1] > p->rounds.ns[i]; j--)
			v[j] = v[j - 1];
		v[j] = p->rounds.ns[i];
	}
	p->ns = v[rounds / 2];
	p->least = v[0];
	p->most = v[rounds - 1];
}

/* A read takes @ns, give or take a tenth. */
static void set_read(size_t which, double ns)
{
	way[which].read_ns = ns;
	way[which].read_least = 0.9 * ns;
	way[which].read_most = 1.1 * ns;
}

static void set_ns(enum choose_axis axis, size_t point, double rwlock, double count, double rcu,
		   double hazard)
{
	const double ns[WAYS] = { rwlock, count, rcu, hazard };
	size_t i;

	for (i = 0; i < WAYS; i++)
		set_point(&way[i].point[axis][point], ns[i]);
}

/* The workload itself, which is a point of each axis. */
static void set_own(double rwlock, double count, double rcu, double hazard)
{
	size_t axis, i;

	set_ns(CHOOSE_UPDATES, 1, rwlock, count, rcu, hazard);
	for (axis = 1; axis < CHOOSE_AXES; axis++)
		for (i = 0; i < WAYS; i++)
			way[i].point[axis][1] = way[i].point[CHOOSE_UPDATES][1];
}

/* 1 % updates, a hold of 1 us, 1000 objects. RCU is the fastest, hazard pointers follow. */
static struct choose_work ordinary(void)
{
	static const double updates[] = { 0, 0.01, 0.5, 1 }, hold[] = { 0, 1000, 10000 },
			    objects[] = { 10, 1000, 100000 };
	static const char *const names[] = { "rwlock", "count", "rcu", "hazard" };
	static const char *const words[] = { "one rwlock", "a count", "RCU", "hazard pointers" };
	struct choose_work w;
	size_t i;

	memset(&w, 0, sizeof(w));
	memset(way, 0, sizeof(way));
	noise = 0.01;
	seed = 1;
	for (i = 0; i < WAYS; i++) {
		way[i].name = names[i];
		way[i].said = words[i];
		way[i].effort = (unsigned)i;
		way[i].wait_ns = way[i].held_back = -1;
		way[i].shared = i == RWLOCK || i == COUNT;
	}
	way[RCU].header = "lull/rcu.h";
	way[RCU].unbounded = true;
	way[RCU].may_not_block = "a section holds up all";
	way[RCU].wait_ns = 23e6;
	way[RCU].held_back = 14000;
	set_own(900, 400, 100, 150);
	set_ns(CHOOSE_UPDATES, 0, 900, 400, 100, 150);
	set_ns(CHOOSE_UPDATES, 2, 900, 400, 300, 350);
	set_ns(CHOOSE_UPDATES, 3, 900, 400, 700, 750);
	set_ns(CHOOSE_HOLD, 0, 900, 400, 100, 150);
	set_ns(CHOOSE_HOLD, 2, 1300, 800, 500, 560);
	set_ns(CHOOSE_OBJECTS, 0, 900, 500, 100, 150);
	set_ns(CHOOSE_OBJECTS, 2, 900, 300, 100, 150);
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
	w.threads = w.cpus = 2;
	w.seconds = 100;
	w.slow_ns = 10e6;
	w.update_rate = 10000;
	w.way = way;
	w.ways = WAYS;
	return w;
}

static struct choose_verdict run(const struct choose_work *w)
{
	struct choose_verdict v;

	memset(line, 0, sizeof(line));
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

/* ---- ratios ---------------------------------------------------------------------------------- */

TEST(ratios_are_of_rounds)
{
	struct choose_rounds a = { { 2, 20, 200, 2000, 4, 2 }, 6 }, b = { { 1, 10, 100, 1000, 1, 1 }, 6 };
	struct choose_ratio r;

	/* Disturb both ways in a round: their ratio stays. */
	r = choose_ratio(&a, &b);
	assert_float_equal(r.low, 2, 1e-9);
	assert_float_equal(r.median, 2, 1e-9);
	assert_float_equal(r.high, 4, 1e-9);
	/* Few rounds tell nothing, whatever they say. */
	a.count = b.count = CHOOSE_ROUNDS_LEAST - 1;
	r = choose_ratio(&a, &b);
	assert_float_equal(r.median, 2, 1e-9);
	assert_float_equal(r.low, 0, 0);
	assert_true(isinf(r.high));
	a.count = 0;
	assert_true(isinf(choose_ratio(&a, &b).high));
}

/* The bounds are wrong about once in a hundred times, not oftener, not never. */
TEST(bounds_are_bounds)
{
	static const size_t counts[] = { CHOOSE_ROUNDS_LEAST, 7, 8, 15, 25, 41 };
	struct choose_rounds a, b;
	size_t n, i, round, wrong;

	seed = 7;
	for (n = 0; n < sizeof(counts) / sizeof(counts[0]); n++) {
		wrong = 0;
		for (i = 0; i < 5000; i++) {
			struct choose_ratio r;

			a.count = b.count = counts[n];
			for (round = 0; round < counts[n]; round++) {
				a.ns[round] = 1 + 0.3 * chance();
				b.ns[round] = 1 + 0.3 * chance();
			}
			r = choose_ratio(&a, &b);
			wrong += r.low > 1 || r.high < 1;
		}
		assert_in_range(wrong, 4, counts[n] < 7 ? 200 : 100);
	}
}

/* ---- what to use ----------------------------------------------------------------------------- */

TEST(names_the_fastest)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	noise = 0;
	set_own(900, 400, 100, 150);
	set_read(RCU, 0.9);
	set_read(RWLOCK, 46);
	way[RCU].point[CHOOSE_UPDATES][1].waiting = 110000;
	v = run(&w);
	assert_int_equal(v.pick.outcome, CHOOSE_WINNER);
	assert_int_equal(v.pick.best, RCU);
	assert_int_equal(v.next, HAZARD);
	assert_int_equal(v.usual, RWLOCK);
	assert_string_equal(line[0],
			    "Use RCU (lull/rcu.h). A read takes 0.9 ns, with one rwlock 46 ns, when 2 threads "
			    "read the same object. An operation of your workload takes 100 ns, with one rwlock "
			    "900 ns.");
	assert_string_equal(line[1], "Cost: up to 110 kB of memory waits to be freed. Not for readers that sleep: "
				     "a section holds up all (use hazard pointers there).");
	assert_false(said("used"));

	/* The figures decide, not the names. */
	set_own(900, 60, 100, 150);
	v = run(&w);
	assert_int_equal(v.pick.best, COUNT);
	assert_int_equal(v.next, RCU);
	assert_true(said("Use a count."));
	assert_string_equal(line[1], "Cost: none in memory.");

	/* A cost that was not measured is named as unknown, not as none. */
	way[COUNT].memory_unknown = true;
	v = run(&w);
	assert_string_equal(line[1], "Cost: what it takes in memory was not measured.");
	way[COUNT].point[CHOOSE_UPDATES][1].waiting = 110000;
	v = run(&w);
	assert_string_equal(line[1], "Cost: up to 110 kB of memory waits to be freed, as far as it was measured.");
	set_own(50, 60, 100, 150);
	assert_int_equal(run(&w).pick.best, RWLOCK);
	/* Compare the usual way with the next best. */
	assert_true(said("Use one rwlock."));
	assert_true(said("An operation of your workload takes 50 ns, with a count 60 ns."));
}

/* Give no reason that speaks against the winner, and leave no rival out. */
TEST(gives_no_reason_against_itself)
{
	struct choose_work w = ordinary();

	noise = 0;
	set_own(120, 60, 80, 90);
	set_read(RWLOCK, 46);
	set_read(COUNT, 101);
	run(&w);
	assert_string_equal(line[0], "Use a count. An operation of your workload takes 60 ns, with one rwlock 120 ns.");
	/* Nor what is never done. */
	set_read(COUNT, 18);
	run(&w);
	assert_true(said("A read takes 18 ns, with one rwlock 46 ns"));
	w.updates = 1;
	run(&w);
	assert_false(said("A read takes"));
	w.updates = 0;
	run(&w);
	assert_false(said("memory waits"));
	/* Nor what may take the same: some rounds were as long as one of the other's. */
	set_read(COUNT, 39);
	w.updates = 0.01;
	run(&w);
	assert_string_equal(line[0], "Use a count. An operation of your workload takes 60 ns, with one rwlock 120 ns.");
	/* The usual way may not be used: it was measured, and would be faster. */
	w.block = true;
	set_own(120, 60, 80, 90);
	way[RWLOCK].may_not_block = "a section holds up all";
	set_own(20, 60, 80, 90);
	run(&w);
	assert_string_equal(line[0], "Use a count. An operation of your workload takes 60 ns, with hazard pointers 90 ns.");

	/* Others were measured, though none is slower beyond doubt. */
	w = ordinary();
	noise = 0.05;
	set_own(100, 102, 102, 102);
	assert_int_equal(run(&w).pick.best, RWLOCK);
	assert_true(said("Use one rwlock. It is a tie, within 5 % or the scatter: an operation takes "));
	assert_true(said(", and none of the others is easier to use than one rwlock."));
	assert_false(said("nothing else was measured"));
}

TEST(says_how_many_times)
{
	struct choose_work w = ordinary();

	noise = 0;
	set_own(1e5, 1.2e5, 80, 1.3e5);
	run(&w);
	assert_true(said("an operation takes 1250 times as long with one rwlock, the next best, as with RCU."));
	set_own(900, 900, 100, 700);
	run(&w);
	assert_true(said("an operation takes 7.0 times as long with hazard pointers, the next best, as with RCU."));
	set_own(900, 900, 100, 107);
	run(&w);
	assert_true(said("an operation takes 1.07 times as long with hazard pointers, the next best, as with RCU. Rounds "
			 "took 107 ns, and 100 ns."));
}

/* The lead is 6 %, and the scatter more: no winner is claimed, and the easier one is named for what it is. */
TEST(a_lead_below_the_scatter_is_a_tie)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	noise = 0.08;
	set_own(900, 400, 100, 106);
	v = run(&w);
	assert_int_equal(v.pick.best, RCU);
	assert_int_equal(v.pick.rival, HAZARD);
	assert_true(v.pick.tied[HAZARD] && !v.pick.level[HAZARD]);
	assert_int_equal(v.next, COUNT);
	assert_true(said("Use RCU (lull/rcu.h). It is a tie, within 5 % or the scatter: an operation takes "));
	assert_true(said(" with RCU and hazard pointers, and none of the others is easier to use than RCU. With one rwlock it "
			 "takes "));
	assert_true(said("Confidence: fair: round by round, an operation takes 0.9"));
	assert_false(said("the next best"));
	/* A lead that is small, and known, is none. */
	noise = 0.003;
	set_own(900, 400, 100, 106);
	v = run(&w);
	assert_false(v.pick.tied[HAZARD]);
	assert_int_equal(v.next, HAZARD);
	/* Memory decides, and is the reason. */
	noise = 0.08;
	set_own(900, 102, 100, 400);
	way[COUNT].object_bytes = 5000;
	v = run(&w);
	assert_int_equal(v.pick.best, RCU);
	assert_true(v.pick.tied[COUNT]);
	assert_true(said(", and those that are easier to use than RCU take more memory. With one rwlock"));
}

/* Medians are what tables show: rounds that say otherwise do not make a winner of the slower one. */
TEST(medians_count_too)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	set_own(900, 400, 100, 120);
	for (size_t axis = 0; axis < CHOOSE_AXES; axis++)
		way[HAZARD].point[axis][1].ns = way[RCU].point[axis][1].ns * 1.005;
	v = run(&w);
	assert_true(v.pick.lead.low < 1.01);
	assert_true(v.pick.lead.high > 1.15);
	assert_float_equal(v.pick.lead.median, 1.005, 1e-9);
}

/* Its rounds are @low and @high in turn, its median as given. */
static void scatter(size_t which, double low, double median, double high)
{
	struct choose_point *p = &way[which].point[CHOOSE_UPDATES][1];
	size_t i;

	for (i = 0; i < ROUNDS; i++)
		p->rounds.ns[i] = i % 3 ? high : low;
	p->least = low;
	p->ns = median;
	p->most = high;
}

TEST(a_lead_that_the_scatter_leaves)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	noise = 0;
	set_own(900, 400, 100, 200);
	/* Surely slower, whatever it is in truth. */
	scatter(HAZARD, 112, 200, 300);
	v = run(&w);
	assert_int_equal(v.pick.outcome, CHOOSE_WINNER);
	assert_true(v.pick.scatter > 0.4);
	assert_true(said("Confidence: fair: round by round, an operation takes 1.12 to 3.0 times as long"));
	/* Perhaps level in another run. */
	scatter(HAZARD, 109, 140, 250);
	assert_int_equal(run(&w).pick.outcome, CHOOSE_NOISY);
	/* One that is harder to use and scatters is left out, also as the second. */
	set_own(900, 100, 115, 120);
	scatter(HAZARD, 80, 120, 200);
	v = run(&w);
	assert_int_equal(v.pick.best, COUNT);
	assert_true(v.pick.unranked[HAZARD] && !v.pick.tied[HAZARD]);
	set_own(900, 700, 100, 600);
	scatter(RWLOCK, 95, 560, 560);
	v = run(&w);
	assert_int_equal(v.pick.best, RCU);
	assert_int_equal(v.pick.rival, HAZARD);
	assert_true(v.pick.unranked[RWLOCK]);
	/* Where one is left out, the others must repeat better than else. */
	scatter(HAZARD, 100, 108, 119);
	assert_int_equal(run(&w).pick.outcome, CHOOSE_NOISY);
	set_own(900, 700, 100, 108);
	scatter(HAZARD, 100, 108, 119);
	assert_int_equal(run(&w).pick.best, RCU);
	/* One that is easier to use and near is not left out. */
	set_own(900, 120, 100, 110);
	scatter(COUNT, 80, 120, 200);
	assert_int_equal(run(&w).pick.outcome, CHOOSE_NOISY);
	/* The usual way ties, and is not held against the answer. */
	set_own(101, 100, 300, 300);
	way[RWLOCK].object_bytes = 5000;
	v = run(&w);
	assert_int_equal(v.pick.best, COUNT);
	assert_true(said(" and those that are easier to use than a count take more memory. With RCU it takes 300 ns."));
}

/* One way scatters from 95 to 560, and all others repeat: they are compared without it, and it is named. */
TEST(one_that_scatters_decides_for_no_other)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;
	size_t i, way_that;

	for (way_that = 0; way_that < WAYS; way_that++) {
		struct choose_point *p = &way[way_that].point[CHOOSE_UPDATES][1];

		if (way_that == RCU)
			continue;
		w = ordinary();
		for (i = 0; i < ROUNDS; i++)
			p->rounds.ns[i] = i < 6 ? 95 : 560;
		p->ns = p->most = 560;
		p->least = 95;
		v = run(&w);
		assert_int_equal(v.pick.outcome, CHOOSE_WINNER);
		assert_int_equal(v.pick.best, RCU);
		assert_true(v.pick.unranked[way_that]);
		assert_int_not_equal(v.next, way_that);
		assert_true(v.pick.scatter < 0.04);
		assert_true(said("Confidence: high: "));
		assert_true(said(", whose figures scatter too much: an operation took 95 ns to 560 ns."));
		/* Not so where it is the one to beat. */
		p->ns = 110;
		assert_int_equal(run(&w).pick.outcome, CHOOSE_NOISY);
		/* Nor where there is no other. */
		for (i = 0; i < WAYS; i++)
			if (i != RCU && i != way_that)
				way[i].point[CHOOSE_UPDATES][1].ns = 0;
		p->ns = 560;
		assert_int_equal(run(&w).pick.outcome, CHOOSE_NOISY);
	}
}

TEST(says_how_sure)
{
	struct choose_work w = ordinary();

	run(&w);
	assert_string_equal(line[2], "Confidence: high: round by round, an operation takes 1.48 to 1.51 times as long with hazard "
				     "pointers, the next best, as with RCU. Rounds took 149 ns to 151 ns, and 99 ns to 101 ns.");
	/* Figures that a reader sees scatter are not called sure, however well their ratio is known. */
	way[RCU].point[CHOOSE_UPDATES][1].most = 131;
	run(&w);
	assert_true(said("Confidence: fair: round by round, an operation takes 1.48 to 1.51 times"));
	noise = 0.1;
	set_own(900, 400, 100, 200);
	assert_int_equal(run(&w).pick.best, RCU);
	assert_true(said("Confidence: fair: round by round, "));
	/* A loaded machine is told, and is never high. */
	w = ordinary();
	w.load = 1.3;
	run(&w);
	assert_true(said("Confidence: fair: round by round, an operation takes 1.48 to 1.51 times"));
	assert_true(said("Other programs used 1.3 of 2 CPUs meanwhile."));
	w.checked = true;
	run(&w);
	assert_true(said("Confidence: low: this is a debug build"));
}

TEST(ties_go_to_the_easier)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	set_own(900, 400, 103, 100);
	v = run(&w);
	assert_int_equal(v.pick.fastest, HAZARD);
	assert_int_equal(v.pick.outcome, CHOOSE_WINNER);
	assert_int_equal(v.pick.best, RCU);
	/* The first of equal effort wins, whichever is faster this time. */
	way[HAZARD].effort = way[RCU].effort;
	assert_int_equal(run(&w).pick.best, RCU);
	/* Apart by more than a tenth, beyond doubt. */
	w = ordinary();
	set_own(900, 400, 115, 100);
	assert_int_equal(run(&w).pick.best, HAZARD);
}

/* In the gap between level and behind, and where scatter hides the order, no way wins in doubt. */
TEST(doubt_names_nobody)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	set_own(900, 400, 107, 100);
	v = run(&w);
	assert_int_equal(v.pick.outcome, CHOOSE_CLOSE);
	assert_int_equal(v.pick.best, CHOOSE_NOTHING);
	assert_true(v.pick.among[RCU] && v.pick.among[HAZARD]);
	assert_false(v.pick.among[COUNT]);
	assert_true(said("No winner: RCU and hazard pointers may differ by less than 10 %."));
	assert_true(said("Confidence: none in any of them: round by round, an operation takes 1.0"));
	assert_int_equal(v.changes, 0);
	noise = 0;
	set_own(900, 108, 107, 100);
	run(&w);
	assert_string_equal(line[0], "No winner: a count, RCU and hazard pointers may differ by less than 10 %. Take the one that you "
				     "know best. An operation takes 108 ns, 107 ns and 100 ns.");

	/* A harder one that may be as fast is no rival. */
	w = ordinary();
	set_own(900, 400, 100, 107);
	assert_int_equal(run(&w).pick.best, RCU);

	/* Nor of equal effort, where the first one would be named if it were level. */
	w = ordinary();
	way[HAZARD].effort = way[RCU].effort;
	set_own(900, 400, 107, 100);
	assert_int_equal(run(&w).pick.outcome, CHOOSE_CLOSE);

	/* Name the forbidden way too: it may be faster than both. */
	w = ordinary();
	set_own(900, 107, 20, 100);
	w.block = true;
	assert_int_equal(run(&w).pick.outcome, CHOOSE_CLOSE);
	assert_string_equal(line[1], "All others that may be used take longer than the fastest of these, take more memory or "
				     "are no easier to use.");
	assert_true(said("Not RCU, because readers sleep: a section holds up all."));

	/* Equal by their medians, but the scatter could hide a tenth. */
	w = ordinary();
	noise = 0.12;
	set_own(900, 101, 100, 200);
	v = run(&w);
	assert_int_equal(v.pick.outcome, CHOOSE_CLOSE);
	assert_true(v.pick.among[COUNT] && v.pick.among[RCU]);
}

TEST(too_much_scatter_is_no_verdict)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;
	size_t i;

	noise = 0.95;
	set_own(900, 400, 100, 150);
	w.load = 1.3;
	v = run(&w);
	assert_int_equal(v.pick.outcome, CHOOSE_NOISY);
	assert_int_equal(v.pick.best, CHOOSE_NOTHING);
	assert_int_equal(lines, CHOOSE_HEADLINES);
	assert_true(said("No verdict: round by round, an operation takes 0."));
	assert_true(said(" times as long with hazard pointers as with RCU, which does not say which to use. Rounds took "));
	assert_true(said("What is missing: an idle machine (other programs used 1.3 of 2 CPUs), or more time "
			 "(--seconds=400)."));
	assert_true(said("Confidence: none."));
	assert_false(said("Use "));

	/* A way that may be as fast or half as slow again is not close, and is not called so. */
	w = ordinary();
	set_own(120, 500, 100, 150);
	for (i = 0; i < ROUNDS; i++)
		way[RWLOCK].point[CHOOSE_UPDATES][1].rounds.ns[i] = i < 5 ? 101 : 150;
	assert_int_equal(run(&w).pick.outcome, CHOOSE_NOISY);
	assert_false(said("may differ"));
	assert_false(said("you know best"));
	/* Wherever it stands in the list. */
	w = ordinary();
	set_own(900, 500, 100, 120);
	way[HAZARD].effort = 0;
	for (i = 0; i < ROUNDS; i++)
		way[HAZARD].point[CHOOSE_UPDATES][1].rounds.ns[i] = i < 5 ? 101 : 150;
	assert_int_equal(run(&w).pick.outcome, CHOOSE_NOISY);

	/* One round tells nothing. */
	w = ordinary();
	for (i = 0; i < WAYS; i++)
		way[i].point[CHOOSE_UPDATES][1].rounds.count = 1;
	assert_int_equal(run(&w).pick.outcome, CHOOSE_NOISY);
	assert_true(said("No verdict: 1 round of measurements"));
	assert_true(said("at least 6 rounds (--runs)"));
}

/* Disturb all ways alike: the scatter stays small. */
TEST(drift_is_no_noise)
{
	struct choose_work w = ordinary();
	size_t i, j;

	for (i = 0; i < WAYS; i++)
		for (j = 0; j < ROUNDS; j++)
			way[i].point[CHOOSE_UPDATES][1].rounds.ns[j] *= 1 + (double)(j % 4);
	assert_int_equal(run(&w).pick.best, RCU);
	assert_true(said("round by round, an operation takes 1.48 to 1.51 times as long"));
}

/*
 * The same machine and workload, measured twice with other noise: never two winners. Every pair of figures from
 * equal to twice, and scatter from none to more than there may be.
 */
static void never_two(void)
{
	static const double times[] = { 1, 1.02, 1.04, 1.06, 1.08, 1.1, 1.12, 1.15, 1.3, 2 };
	struct choose_work w = ordinary();
	size_t of_times, of_noise, attempt, both = 0, two = 0;

	for (of_times = 0; of_times < sizeof(times) / sizeof(times[0]); of_times++)
		for (of_noise = 0; of_noise < 10; of_noise++)
			for (attempt = 0; attempt < 40; attempt++) {
				struct choose_verdict v[2];
				size_t i;

				noise = 0.04 * (double)of_noise;
				for (i = 0; i < 2; i++) {
					set_own(900, 100 * times[of_times], 100, 130);
					choose_for(&w, &v[i]);
				}
				if (v[0].pick.best == CHOOSE_NOTHING || v[1].pick.best == CHOOSE_NOTHING)
					continue;
				both++;
				two += v[0].pick.best != v[1].pick.best;
			}
	/* The bounds allow one in ten thousand. */
	assert_true(two <= 1);
	/* Both runs name one where the figures allow it. */
	assert_true(both > 500);
}

/* Holds also where a busy machine leaves time for the fewest rounds only. */
TEST(two_runs_never_name_two)
{
	never_two();
	rounds = CHOOSE_ROUNDS_LEAST;
	never_two();
	rounds = ROUNDS;
}

TEST(it_does_not_matter)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	noise = 0;
	set_own(1030, 1020, 1000, 1010);
	v = run(&w);
	assert_int_equal(v.pick.outcome, CHOOSE_LEVEL);
	assert_int_equal(v.pick.best, RWLOCK);
	assert_string_equal(line[0], "Use one rwlock. It makes no difference here: an operation takes 1 us to 1.03 us with one "
				     "rwlock, a count, RCU and hazard pointers, and none of the others is easier to use than one "
				     "rwlock.");
	/* One that is slower makes a difference. */
	set_own(1030, 1020, 1000, 1300);
	assert_int_equal(run(&w).pick.outcome, CHOOSE_WINNER);
	/* A way that may not be used does not count. */
	set_own(1030, 1020, 3000, 1010);
	w.block = true;
	v = run(&w);
	assert_int_equal(v.pick.outcome, CHOOSE_LEVEL);
	assert_true(said("with one rwlock, a count and hazard pointers"));
}

/* ---- what it costs --------------------------------------------------------------------------- */

TEST(memory_decides_between_equals)
{
	struct choose_work w = ordinary();

	set_own(900, 400, 100, 101);
	/* Ignore less than a megabyte, or than a tenth of the objects themselves. */
	way[RCU].object_bytes = 900;
	assert_int_equal(run(&w).pick.best, RCU);
	assert_true(said("Cost: 900 B more for each object, and up to 14 kB of memory waits to be freed."));
	way[RCU].object_bytes = 1100;
	assert_int_equal(run(&w).pick.best, HAZARD);
	w.size = 400000;
	assert_int_equal(run(&w).pick.best, RCU);
	way[RCU].thread_bytes = 2000;
	run(&w);
	assert_true(said("Cost: 1.1 kB more for each object, 2 kB for each thread, and up to 14 kB of memory waits to be freed."));
	w.size = 64;
	way[RCU].object_bytes = 0;
	assert_int_equal(run(&w).pick.best, RCU);
	assert_true(said("Cost: 2 kB more for each thread, and up to 14 kB of memory waits to be freed."));
	way[RCU].thread_bytes = 600000;
	assert_int_equal(run(&w).pick.best, HAZARD);
	way[RCU].thread_bytes = 0;
	/* Ignore a little waiting memory, which varies; count much of it. */
	way[RCU].point[CHOOSE_UPDATES][1].waiting = 10e6;
	assert_int_equal(run(&w).pick.best, RCU);
	way[RCU].point[CHOOSE_UPDATES][1].waiting = 30e6;
	assert_int_equal(run(&w).pick.best, HAZARD);
	/* A faster way may take the memory. */
	set_own(900, 400, 100, 150);
	way[RCU].point[CHOOSE_UPDATES][1].waiting = 30e6;
	assert_int_equal(run(&w).pick.best, RCU);
	assert_true(said("up to 30 MB of memory waits"));
}

/* ---- what would change it -------------------------------------------------------------------- */

TEST(readers_that_sleep)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	v = run(&w);
	assert_int_equal(v.sleeping, HAZARD);
	assert_true(said("Not for readers that sleep: a section holds up all (use hazard pointers there)."));
	assert_int_equal(v.bounded, HAZARD);
	assert_true(said("If memory must stay bounded while a reader stalls: hazard pointers."));

	w.block = true;
	v = run(&w);
	assert_int_equal(v.pick.best, HAZARD);
	assert_int_equal(v.awake, RCU);
	assert_true(said("Not RCU, because readers sleep: a section holds up all. A reader that stayed 10 ms made "
			 "others wait up to 23 ms for memory, and 14 kB wait, at 10000 updates a second."));
	assert_true(said("If readers need not sleep: RCU."));
	assert_false(said("Not for readers that sleep"));
	assert_false(said("bounded"));

	/* Print the reason alone where there are no figures. */
	way[RCU].wait_ns = -1;
	run(&w);
	assert_true(said("Not RCU, because readers sleep: a section holds up all."));

	/* One whose readers may sleep is no other answer. */
	w = ordinary();
	set_own(900, 400, 100, 50);
	v = run(&w);
	assert_int_equal(v.sleeping, HAZARD);
	assert_false(said("sleep"));
}

TEST(more_threads_are_a_prediction)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	set_read(RCU, 0.9);
	way[RCU].predicted_ns = 0.9;
	set_read(RWLOCK, 46);
	way[RWLOCK].predicted_ns = 368;
	assert_int_equal(run(&w).predicted, CHOOSE_NOTHING);
	assert_false(said("predicted"));
	w.predict = 16;
	assert_int_equal(run(&w).predicted, RCU);
	assert_true(said("With 16 threads that read the same object: the same. A read is predicted, not measured, to take 0.9 ns, with one "
			 "rwlock 368 ns."));
	/* Nothing is said of what has no prediction. */
	way[RWLOCK].predicted_ns = 0;
	run(&w);
	assert_true(said("not measured, to take 0.9 ns."));
	way[RWLOCK].predicted_ns = 368;
	/* A lock that wins here does not with so many. */
	set_own(50, 400, 100, 150);
	assert_int_equal(run(&w).predicted, RCU);
	assert_true(said("With 16 threads that read the same object: RCU. A read is predicted, not measured, to take 0.9 ns, with one rwlock "
			 "368 ns."));
	/* One thread alone says nothing about more, and the line says that. */
	w.threads = 1;
	way[RCU].predicted_ns = way[RWLOCK].predicted_ns = 0;
	run(&w);
	assert_true(said("With 16 threads: not known."));
	w.threads = 2;
	way[RCU].predicted_ns = 0.9;
	way[RWLOCK].predicted_ns = 368;
	/* A rival that is predicted to be faster does not speak for the answer, nor does one that is slower change it. */
	way[HAZARD].predicted_ns = 400;
	way[RCU].predicted_ns = 380;
	set_own(50, 400, 100, 150);
	v = run(&w);
	assert_int_equal(v.predicted, RWLOCK);
	assert_true(said("the same. A read is predicted, not measured, to take 368 ns, with RCU 380 ns."));
	set_own(500, 400, 100, 150);
	run(&w);
	assert_true(said("the same. A read is predicted, not measured, to take 380 ns."));
	set_own(50, 400, 100, 150);
	way[RCU].predicted_ns = 0.9;
	way[HAZARD].predicted_ns = 0;
	/* Predict no reads for a workload without reads. */
	w.updates = 1;
	assert_int_equal(run(&w).predicted, CHOOSE_NOTHING);
	w.updates = 0.01;
	/* Predict no change to a way that its readers may not use. */
	w.block = true;
	set_read(HAZARD, 1.2);
	way[HAZARD].predicted_ns = 1.2;
	assert_int_equal(run(&w).predicted, HAZARD);
}

TEST(what_would_change_it)
{
	struct choose_work w = ordinary();
	const struct choose_change *c;
	struct choose_verdict v;

	v = run(&w);
	assert_int_equal(v.changes, 1);
	c = change_of(&v, CHOOSE_UPDATES, true);
	assert_non_null(c);
	assert_int_equal(c->pick.best, COUNT);
	assert_int_equal(c->still, 2);
	assert_int_equal(c->point, 3);
	assert_true(said("With 100 % updates: a count; an operation takes 4"));
	assert_true(said("with RCU 7") || said("with RCU 6"));
	assert_true(said("The same answer from 0 % updates to 50 % updates, from no hold to a hold of 10 us, from 10 "
			 "objects to 100000 objects; one of them changed at a time."));

	/* The other way round. */
	w.at[CHOOSE_UPDATES] = 3;
	v = run(&w);
	assert_int_equal(v.pick.best, COUNT);
	c = change_of(&v, CHOOSE_UPDATES, false);
	assert_non_null(c);
	assert_int_equal(c->pick.best, RCU);
	assert_null(change_of(&v, CHOOSE_UPDATES, true));
	assert_true(said("With 50 % updates: RCU; an operation takes "));
}

TEST(equals_further_on_are_a_change)
{
	struct choose_work w = ordinary();
	const struct choose_change *c;
	struct choose_verdict v;

	set_ns(CHOOSE_HOLD, 2, 20000, 10200, 10000, 10100);
	v = run(&w);
	c = change_of(&v, CHOOSE_HOLD, true);
	assert_non_null(c);
	assert_int_equal(c->pick.best, COUNT);
	assert_true(said("With a hold of 10 us: a count; it is a tie, within 5 % or the scatter: an operation takes "));

	/* A tie by its scatter is one, too. */
	w = ordinary();
	noise = 0;
	set_ns(CHOOSE_HOLD, 2, 20000, 10100, 10150, 10000);
	for (size_t i = 0; i < ROUNDS; i++)
		way[RCU].point[CHOOSE_HOLD][2].rounds.ns[i] = i % 2 ? 9500 : 11200;
	v = run(&w);
	c = change_of(&v, CHOOSE_HOLD, true);
	assert_non_null(c);
	assert_true(c->pick.tied[RCU] && !c->pick.level[RCU]);
	assert_true(said("With a hold of 10 us: a count; it is a tie, within 5 % or the scatter: an operation takes 10 us to 10.2 us "
			 "with a count, RCU and hazard pointers, and none of the others is easier to use than a count."));

	/* The same name among more equals is the same answer. */
	w = ordinary();
	set_ns(CHOOSE_HOLD, 2, 10300, 10200, 10000, 10100);
	way[RCU].effort = 0;
	way[RWLOCK].effort = 2;
	v = run(&w);
	assert_null(change_of(&v, CHOOSE_HOLD, true));
	assert_true(said("from no hold to a hold of 10 us"));

	/* The chosen way is not the easiest, and not called so: the one that is level takes too much memory. */
	w = ordinary();
	noise = 0;
	set_own(900, 400, 100, 101);
	set_ns(CHOOSE_OBJECTS, 2, 900, 400, 100, 101);
	way[RCU].object_bytes = 50;
	v = run(&w);
	assert_int_equal(v.pick.best, RCU);
	assert_true(said("With 100000 objects: hazard pointers; it is a tie, within 5 % or the scatter: an operation takes 100 ns to "
			 "101 ns with RCU and hazard pointers, and those that are easier to use than hazard pointers take more memory."));

	/* Nor when the easiest is the last of the list. */
	way[RCU].object_bytes = 0;
	way[RCU].effort = 3;
	way[HAZARD].effort = 2;
	way[HAZARD].object_bytes = 50;
	v = run(&w);
	assert_int_equal(v.pick.best, HAZARD);
	assert_true(said("With 100000 objects: RCU; it is a tie, within 5 % or the scatter: an operation takes 100 ns to 101 ns with "
			 "RCU and hazard pointers, and those that are easier to use than RCU take more memory."));
}

/* No claim about what was not measured, and none from noise. */
TEST(no_claim_without_figures)
{
	struct choose_work w = ordinary();
	struct choose_verdict v;

	set_ns(CHOOSE_UPDATES, 3, 900, 400, 0, 750);
	v = run(&w);
	assert_null(change_of(&v, CHOOSE_UPDATES, true));

	/* No way was measured at that point. */
	w = ordinary();
	set_ns(CHOOSE_UPDATES, 2, 0, 0, 0, 0);
	v = run(&w);
	assert_null(change_of(&v, CHOOSE_UPDATES, true));
	assert_true(said("from 0 % updates to 1 % updates"));

	/* Figures there that scatter too much. */
	w = ordinary();
	noise = 0.95;
	set_ns(CHOOSE_UPDATES, 3, 900, 400, 700, 750);
	v = run(&w);
	assert_null(change_of(&v, CHOOSE_UPDATES, true));

	/* Nothing was measured at all. */
	w = ordinary();
	set_own(0, 0, 0, 0);
	v = run(&w);
	assert_int_equal(v.pick.outcome, CHOOSE_NONE);
	assert_int_equal(lines, 1);
	assert_true(said("No verdict: nothing was measured that may be used."));

	/* One alone. */
	w = ordinary();
	set_own(0, 0, 100, 0);
	v = run(&w);
	assert_int_equal(v.pick.best, RCU);
	assert_true(said("nothing else was measured that may be used"));
	assert_true(said("Confidence: there was nothing to compare with."));
}
