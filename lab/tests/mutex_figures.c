/* SPDX-License-Identifier: MIT */
/*
 * mutex_figures.c - every figure that lull mutexscale prints, and writes to its JSON, from made-up waits and times; and
 * from locks whose cost is known, on a clock that only they move.
 */
#include "test.h"

#include "common/bench.h"
#include "common/clock.h"
#include "common/cpus.h"
#include "common/progress.h"
#include "engine/instructions.h"
#include "engine/turns.h"
#include "lock_scheme.h"

static uint64_t made_up_ns;
static __thread unsigned here; /* CPU that the thread was pinned to */

#define bench_now_ns() made_up_ns
#define bench_cpus() 3u
#define bench_pin(cpu) (here = (cpu))
#define step_count(enter, leave, pairs, arg) ((pairs) == steps_of_none ? -1 : 17)

static uint64_t steps_of_none(void *arg, uint64_t n);

#include "../engine/budget.c"
#include "../engine/text_table.c"
#include "../instruments/mutex/figures.c"
#include "../instruments/mutex/matrix.c"
#define print print_pairs
#include "../instruments/mutex/pair.c"
#undef print
#include "../instruments/mutex/results.c"
#define bench_lock_work(x, turns) note_work(x, turns)
static uint64_t note_work(uint64_t x, uint64_t turns);
#include "../instruments/mutex/wait1000.c"
#undef bench_lock_work

#include "tests/made_up.h"

/* ---- three locks ----------------------------------------------------------------------------- */

static const char *renew(const struct bench_lock_scheme *scheme)
{
	return scheme ? NULL : "none";
}

static uint64_t worked; /* turns, by owners */

static uint64_t note_work(uint64_t x, uint64_t turns)
{
	worked += turns;
	return x;
}

static uint64_t pairs_asked, batches_asked; /* of the first lock */

static uint64_t pairs_of_20(void *arg, uint64_t n)
{
	(void)arg;
	pairs_asked = n;
	batches_asked++;
	made_up_ns += 20 * n;
	return n;
}

static uint64_t steps_of_none(void *arg, uint64_t n)
{
	(void)arg;
	made_up_ns += 50 * n;
	return n;
}

static unsigned locked, unlocked; /* by the threads that wait on the first CPU */

static void lock_for(uint64_t ns)
{
	static unsigned calls;

	if (here)
		return;
	locked++;
	made_up_ns += ns + 60 * (calls++ % 3);
}

static void lock_700(void)
{
	lock_for(700);
}

static void lock_1800(void)
{
	lock_for(1800);
}

static void unlock(void)
{
	if (!here)
		unlocked++;
}

static const struct bench_lock_scheme pthread_lock = { .name = "pthread", .renew = renew, .pairs = pairs_of_20,
							.lock = lock_700, .unlock = unlock },
				      other_lock = { .name = "futex", .renew = renew, .pairs = steps_of_none,
						     .lock = lock_1800, .unlock = unlock },
				      third_lock = { .name = "spin-park", .renew = renew, .pairs = steps_of_none,
						     .lock = lock_1800, .unlock = unlock };

static unsigned threads[] = { 4 };
static struct options opt = { .seconds = 60, .threads = threads, .nr_threads = 1 };

static struct mutexscale three_locks(struct jsonout *json)
{
	return (struct mutexscale){ .opt = &opt, .json = json, .locks = { &pthread_lock, &other_lock, &third_lock },
				    .count = 3, .runs = 3 };
}

uint64_t bench_turns(double ns)
{
	return (uint64_t)(ns / 1000);
}

void mutexscale_in_thread(void *(*main_fn)(void *), void *arg)
{
	main_fn(arg);
}

void mutexscale_shuffle(size_t *order, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		order[i] = count - 1 - i;
}

TEARDOWN
{
	json_decref(now.left_out);
	now.left_out = NULL;
}

/* ---- a slice --------------------------------------------------------------------------------- */

/* Ticks are a third of a nanosecond. 1990 short waits, 9 longer, and one that is the longest. */
TEST(slice)
{
	static struct bench_lock_waits waits[2];
	const struct bench_lock_waits *both[] = { &waits[0], &waits[1] };
	const struct mutexscale_used from = { { .ns = 5000, .own_ns = 1000 }, 100, 40 },
				     to = { { .ns = 1005000, .own_ns = 2501000 }, 3000100, 90 };
	double value[NR_FIGURES];
	unsigned i;

	for (i = 0; i < 1200; i++)
		bench_lock_waits_note(&waits[0], 6);
	for (i = 0; i < 790; i++)
		bench_lock_waits_note(&waits[1], 9);
	for (i = 0; i < 15; i++)
		bench_lock_waits_note(&waits[0], 300);
	for (i = 0; i < 3; i++)
		bench_lock_waits_note(&waits[1], 3000);
	bench_lock_waits_note(&waits[1], 90000);
	mutexscale_figures(both, 2, &from, &to, value);
	/* 1215 and 794 sections in 1 ms, 3 ticks to a ns. */
	assert_float_equal(value[FIGURE_RATE], 2009e3, 1e-6);
	assert_float_equal(value[FIGURE_WAIT], (1200 * 6 + 790 * 9 + 15 * 300 + 3 * 3000 + 90000) / 3. / 2009, 1e-9);
	/* 19 are longer than 9 ticks, which are fewer than 1 %: the end of that bucket. */
	assert_float_equal(value[FIGURE_P99], 10 / 3., 1e-9);
	/* At most 2 of 2009 may be longer: the one, and not the 3 of 3000 ticks, whose bucket ends at 3072. */
	assert_float_equal(value[FIGURE_P999], 3072 / 3., 1e-9);
	assert_float_equal(value[FIGURE_MAX], 30000, 1e-9);
	assert_float_equal(value[FIGURE_CPU], 2500000. / 2009, 1e-9);
	assert_float_equal(value[FIGURE_SWITCHES], 50. / 2009, 1e-9);
	assert_float_equal(value[FIGURE_JAIN], 2009. * 2009 / (2 * (1215. * 1215 + 794. * 794)), 1e-9);
	/* Nothing happened. */
	mutexscale_figures(both, 0, &from, &to, value);
	assert_float_equal(value[FIGURE_RATE], 1000, 1e-9);
	assert_float_equal(value[FIGURE_WAIT], 0, 0);
	assert_float_equal(value[FIGURE_JAIN], 1, 0);
}

/* ---- a cell ---------------------------------------------------------------------------------- */

/*
 * Figures of a lock in a round: no two are alike, and each is further from the others than the rounds from one another.
 * The first lock is the best in every other cell.
 */
static double made_up(size_t cell, size_t lock, unsigned round, size_t figure)
{
	static const double of[NR_FIGURES] = { 2000000, 300, 5000, 70000, 1100000, 1300, 0.17, 0.9 };
	static const double by_round[] = { 1.1, 1, 0.8 };
	double times = 1 + 0.25 * (double)lock * (double)(figure + 1) * (1 + 0.3 * (double)cell);

	return of[figure] * by_round[round] * (cell % 2 ? times : 1 / times) / (1 + 0.1 * (double)cell);
}

static void results_of(size_t cell, struct mutexscale_result *results)
{
	struct mutexscale_slice slices[9];
	size_t i, f;

	for (i = 0; i < 9; i++) {
		slices[i].foreign = i == 4 || i == 7 || i == 8 ? 0.1 : i == 1 ? 0 : -0.1;
		for (f = 0; f < NR_FIGURES; f++)
			slices[i].value[f] = made_up(cell, i % 3, (unsigned)i / 3, f);
	}
	for (i = 0; i < 3; i++)
		mutexscale_finish(slices, 3, i, 3, &results[i]);
}

TEST(rounds)
{
	struct mutexscale_result results[3];
	struct mutexscale_slice slices[4] = { { .value = { 7 } }, { .value = { 2 } }, { .value = { 4 } }, { .value = { 5 } } };

	results_of(0, results);
	assert_int_equal(results[0].disturbed, 0);
	assert_int_equal(results[1].disturbed, 2);
	assert_int_equal(results[2].disturbed, 1);
	assert_int_equal(results[1].runs, 3);
	assert_float_equal(results[1].rate[0], 2200000 / 1.25, 1e-6);
	assert_float_equal(results[1].rate[2], 1600000 / 1.25, 1e-6);
	assert_float_equal(results[1].stat[FIGURE_RATE].median, 1600000, 1e-6);
	/* An even number; and more rounds than there is room for one by one. */
	mutexscale_finish(slices, 1, 0, 4, results);
	assert_float_equal(results[0].stat[FIGURE_RATE].median, 4.5, 0);
	assert_int_equal(results[0].rounds, 4);
}

TEST(many_rounds)
{
	static struct mutexscale_slice slices[MUTEXSCALE_ROUNDS + 4];
	struct mutexscale_result result;
	size_t i;

	for (i = 0; i < MUTEXSCALE_ROUNDS + 4; i++)
		slices[i].value[FIGURE_RATE] = (double)(i + 1);
	mutexscale_finish(slices, 1, 0, MUTEXSCALE_ROUNDS + 4, &result);
	assert_int_equal(result.rounds, MUTEXSCALE_ROUNDS);
	assert_int_equal(result.runs, MUTEXSCALE_ROUNDS + 4);
	assert_float_equal(result.rate[MUTEXSCALE_ROUNDS - 1], MUTEXSCALE_ROUNDS, 0);
	assert_float_equal(result.stat[FIGURE_RATE].max, MUTEXSCALE_ROUNDS + 4, 0);
}

TEST(cell)
{
	const struct mutexscale_cell own = { .name = "own", .threads = 4, .hogs = 2, .section = 100, .outside = 600,
					     .longer = 5000, .longer_share = 0.05, .sleep = 70000, .sleep_share = 0.01 };
	struct jsonout *json = made_up_json();
	struct mutexscale m = three_locks(json);
	struct mutexscale_result results[3];

	results_of(0, results);
	begin_printing();
	mutexscale_print(&m, results);
	mutexscale_print_disturbed(results, 1);
	assert_printed(
		"lock              thousand/s  x pthread  wait us   p99  p99.9  longest  CPU us  switches  Jain\n"
		"pthread    2000 [1600..2200]      x1.00     0.30  5.00  70.00  1100.00    1.30     0.170  0.90\n"
		"futex      1600 [1280..1760]      x0.80     0.20  2.86  35.00   488.89    0.52     0.062  0.30\n"
		"spin-park  1333 [1067..1467]      x0.67     0.15  2.00  23.33   314.29    0.33     0.038  0.18\n"
		"(other programs ran during 3 of 9 measurements, though they were repeated)\n");
	m.count = 2;
	mutexscale_json(&m, &own, results);
	assert_rows(json,
		"{scheme:pthread,threads:4,metric:sections,unit:1/s,min:1.6e6,median:2e6,max:2.2e6,shape:own,"
		"section_ns:100.0,outside_ns:600.0,long_share:0.05,long_ns:5000.0,sleep_share:0.01,"
		"sleep_ns:70000.0,hogs:2,times_pthread:1.0,disturbed:0,rounds:[2.2e6,2e6,1.6e6]}\n"
		"{scheme:pthread,threads:4,metric:wait_mean,unit:ns,min:240.0,median:300.0,max:330.0,shape:own,"
		"section_ns:100.0,outside_ns:600.0,long_share:0.05,long_ns:5000.0,sleep_share:0.01,"
		"sleep_ns:70000.0,hogs:2,times_pthread:1.0,disturbed:0}\n"
		"{scheme:pthread,threads:4,metric:wait_p99,unit:ns,min:4000.0,median:5000.0,max:5500.0,shape:own,"
		"section_ns:100.0,outside_ns:600.0,long_share:0.05,long_ns:5000.0,sleep_share:0.01,"
		"sleep_ns:70000.0,hogs:2,times_pthread:1.0,disturbed:0}\n"
		"{scheme:pthread,threads:4,metric:wait_p999,unit:ns,min:56000.0,median:70000.0,max:77000.0,"
		"shape:own,section_ns:100.0,outside_ns:600.0,long_share:0.05,long_ns:5000.0,sleep_share:0.01,"
		"sleep_ns:70000.0,hogs:2,times_pthread:1.0,disturbed:0}\n"
		"{scheme:pthread,threads:4,metric:wait_max,unit:ns,min:880000.0,median:1.1e6,max:1.21e6,"
		"shape:own,section_ns:100.0,outside_ns:600.0,long_share:0.05,long_ns:5000.0,sleep_share:0.01,"
		"sleep_ns:70000.0,hogs:2,times_pthread:1.0,disturbed:0}\n"
		"{scheme:pthread,threads:4,metric:cpu,unit:ns,min:1040.0,median:1300.0,max:1430.0,shape:own,"
		"section_ns:100.0,outside_ns:600.0,long_share:0.05,long_ns:5000.0,sleep_share:0.01,"
		"sleep_ns:70000.0,hogs:2,times_pthread:1.0,disturbed:0}\n"
		"{scheme:pthread,threads:4,metric:switches,unit:1,min:0.136,median:0.17,max:0.187,shape:own,"
		"section_ns:100.0,outside_ns:600.0,long_share:0.05,long_ns:5000.0,sleep_share:0.01,"
		"sleep_ns:70000.0,hogs:2,times_pthread:1.0,disturbed:0}\n"
		"{scheme:pthread,threads:4,metric:jain,unit:1,min:0.72,median:0.9,max:0.99,shape:own,"
		"section_ns:100.0,outside_ns:600.0,long_share:0.05,long_ns:5000.0,sleep_share:0.01,"
		"sleep_ns:70000.0,hogs:2,times_pthread:1.0,disturbed:0}\n"
		"{scheme:futex,threads:4,metric:sections,unit:1/s,min:1.28e6,median:1.6e6,max:1.76e6,shape:own,"
		"section_ns:100.0,outside_ns:600.0,long_share:0.05,long_ns:5000.0,sleep_share:0.01,"
		"sleep_ns:70000.0,hogs:2,times_pthread:0.8,disturbed:2,rounds:[1.76e6,1.6e6,1.28e6]}\n"
		"{scheme:futex,threads:4,metric:wait_mean,unit:ns,min:160.0,median:200.0,max:220.0,shape:own,"
		"section_ns:100.0,outside_ns:600.0,long_share:0.05,long_ns:5000.0,sleep_share:0.01,"
		"sleep_ns:70000.0,hogs:2,times_pthread:0.666667,disturbed:2}\n"
		"{scheme:futex,threads:4,metric:wait_p99,unit:ns,min:2285.71,median:2857.14,max:3142.86,"
		"shape:own,section_ns:100.0,outside_ns:600.0,long_share:0.05,long_ns:5000.0,sleep_share:0.01,"
		"sleep_ns:70000.0,hogs:2,times_pthread:0.571429,disturbed:2}\n"
		"{scheme:futex,threads:4,metric:wait_p999,unit:ns,min:28000.0,median:35000.0,max:38500.0,"
		"shape:own,section_ns:100.0,outside_ns:600.0,long_share:0.05,long_ns:5000.0,sleep_share:0.01,"
		"sleep_ns:70000.0,hogs:2,times_pthread:0.5,disturbed:2}\n"
		"{scheme:futex,threads:4,metric:wait_max,unit:ns,min:391111.0,median:488889.0,max:537778.0,"
		"shape:own,section_ns:100.0,outside_ns:600.0,long_share:0.05,long_ns:5000.0,sleep_share:0.01,"
		"sleep_ns:70000.0,hogs:2,times_pthread:0.444444,disturbed:2}\n"
		"{scheme:futex,threads:4,metric:cpu,unit:ns,min:416.0,median:520.0,max:572.0,shape:own,"
		"section_ns:100.0,outside_ns:600.0,long_share:0.05,long_ns:5000.0,sleep_share:0.01,"
		"sleep_ns:70000.0,hogs:2,times_pthread:0.4,disturbed:2}\n"
		"{scheme:futex,threads:4,metric:switches,unit:1,min:0.0494545,median:0.0618182,max:0.068,"
		"shape:own,section_ns:100.0,outside_ns:600.0,long_share:0.05,long_ns:5000.0,sleep_share:0.01,"
		"sleep_ns:70000.0,hogs:2,times_pthread:0.363636,disturbed:2}\n"
		"{scheme:futex,threads:4,metric:jain,unit:1,min:0.24,median:0.3,max:0.33,shape:own,"
		"section_ns:100.0,outside_ns:600.0,long_share:0.05,long_ns:5000.0,sleep_share:0.01,"
		"sleep_ns:70000.0,hogs:2,times_pthread:0.333333,disturbed:2}\n");
}

/* A lock that did nothing at all is no base. */
TEST(no_base)
{
	struct jsonout *json = made_up_json();
	struct mutexscale m = three_locks(json);
	const struct mutexscale_cell own = { .name = "own", .threads = 1 };
	struct mutexscale_result results[1] = { { .runs = 0 } };

	m.count = 1;
	mutexscale_json(&m, &own, results);
	assert_true(json_is_null(json_object_get(json_array_get(json_object_get(jsonout_root(json), "results"), 0),
						 "times_pthread")));
	jsonout_close(json);
}

/* ---- the matrix ------------------------------------------------------------------------------ */

static size_t cells_measured;

bool mutexscale_measure(const struct mutexscale *m, const struct mutexscale_cell *cell, struct mutexscale_result *results)
{
	(void)m;
	(void)cell;
	results_of(cells_measured, results);
	cells_measured++;
	return cells_measured < 3 || cells_measured > 9; /* for others there was no time */
}

TEST(matrix)
{
	struct jsonout *json = made_up_json();
	struct mutexscale m = three_locks(json);

	begin_printing();
	mutexscale_matrix(&m, 60);
	/* Seven tables were measured. */
	assert_int_equal(json_array_size(json_object_get(jsonout_root(json), "results")), 7 * 3 * NR_FIGURES);
	jsonout_close(json);
	assert_printed(
		"up to 4 sections' time between two sections; hogs: as many other processes as CPUs burn "
		"processor time\n"
		"(other programs ran during 15 of 45 measurements, though they were repeated)\n"
		"\n"
		"throughput, of the best lock\n"
		"sections                                 pthread  futex  spin-park\n"
		"plain, 100 ns, 4 threads                    1.00   0.80       0.67\n"
		"plain, 100 ns, 4 threads, hogs              0.61   0.80       1.00\n"
		"1 % sleep 100 us, 1 us, 4 threads, hogs     0.35   0.68       1.00\n"
		"0.5 % sleep 1 ms, 1 us, 4 threads           1.00   0.50       0.33\n"
		"0.5 % sleep 1 ms, 1 us, 4 threads, hogs     0.32   0.66       1.00\n"
		"geometric mean                              0.58   0.68       0.74\n"
		"worst                                       0.32   0.50       0.33\n"
		"\n"
		"throughput, x pthread\n"
		"sections                                 pthread  futex  spin-park\n"
		"plain, 100 ns, 4 threads                    1.00   0.80       0.67\n"
		"plain, 100 ns, 4 threads, hogs              1.00   1.32       1.65\n"
		"1 % sleep 100 us, 1 us, 4 threads, hogs     1.00   1.92       2.85\n"
		"0.5 % sleep 1 ms, 1 us, 4 threads           1.00   0.50       0.33\n"
		"0.5 % sleep 1 ms, 1 us, 4 threads, hogs     1.00   2.08       3.15\n"
		"geometric mean                              1.00   1.16       1.27\n"
		"worst                                       1.00   0.50       0.33\n"
		"\n"
		"mean wait, x pthread\n"
		"sections                                 pthread  futex  spin-park\n"
		"plain, 100 ns, 4 threads                    1.00   0.67       0.50\n"
		"plain, 100 ns, 4 threads, hogs              1.00   1.65       2.30\n"
		"1 % sleep 100 us, 1 us, 4 threads, hogs     1.00   2.85       4.70\n"
		"0.5 % sleep 1 ms, 1 us, 4 threads           1.00   0.33       0.20\n"
		"0.5 % sleep 1 ms, 1 us, 4 threads, hogs     1.00   3.15       5.30\n"
		"geometric mean                              1.00   1.27       1.42\n"
		"worst                                       1.00   3.15       5.30\n"
		"\n"
		"processor time per section, x pthread\n"
		"sections                                 pthread  futex  spin-park\n"
		"plain, 100 ns, 4 threads                    1.00   0.40       0.25\n"
		"plain, 100 ns, 4 threads, hogs              1.00   2.95       4.90\n"
		"1 % sleep 100 us, 1 us, 4 threads, hogs     1.00   6.55      12.10\n"
		"0.5 % sleep 1 ms, 1 us, 4 threads           1.00   0.14       0.08\n"
		"0.5 % sleep 1 ms, 1 us, 4 threads, hogs     1.00   7.45      13.90\n"
		"geometric mean                              1.00   1.52       1.74\n"
		"worst                                       1.00   7.45      13.90\n"
		"\n"
		"processor time per section where owners sleep, x spin-park\n"
		"sections                                 pthread  futex  spin-park\n"
		"1 % sleep 100 us, 1 us, 4 threads, hogs     0.08   0.54       1.00\n"
		"0.5 % sleep 1 ms, 1 us, 4 threads          13.00   1.86       1.00\n"
		"0.5 % sleep 1 ms, 1 us, 4 threads, hogs     0.07   0.54       1.00\n"
		"geometric mean                              0.43   0.81       1.00\n"
		"worst                                      13.00   1.86       1.00\n"
		"\n"
		"a crowd: sections of 1 us, thousand/s\n"
		"lock       2 threads per CPU         16 per CPU  ratio  longest wait ms  Jain\n"
		"pthread      909 [727..1000]     870 [696..957]  x0.96              0.5  0.39\n"
		"futex         423 [338..465]  1935 [1548..2128]  x4.58              3.4  4.23\n"
		"spin-park     275 [220..303]  3000 [2400..3300]  x10.9              6.3  8.06\n"
		"(other programs ran during 3 of 9 measurements, though they were repeated)\n");
}

/* ---- costs that are known -------------------------------------------------------------------- */

TEST(pair)
{
	struct jsonout *json = made_up_json();
	struct mutexscale m = three_locks(json);

	begin_printing();
	mutexscale_pair(&m, 60);
	assert_int_equal(pairs_asked, 100000 / 21 + 1);
	/* Batches of 0.1 ms in a minute, of three locks and three runs; two more find out how long a batch is. */
	assert_int_equal(batches_asked, 3 * (60 * 10000 / 9 - 2 + 2));
	assert_printed(
		"lock and unlock, one thread; instructions are counted by single steps\n"
		"\n"
		"lock             ns per pair  x pthread  instructions\n"
		"pthread    20.0 [20.0..20.0]      x1.00            17\n"
		"futex      50.0 [50.0..50.0]      x2.50           n/a\n"
		"spin-park  50.0 [50.0..50.0]      x2.50           n/a\n");
	assert_rows(json,
		"{scheme:pthread,threads:1,metric:pair,unit:ns,min:20.0,median:20.0,max:20.0,instructions:17.0,"
		"times_pthread:1.0}\n"
		"{scheme:futex,threads:1,metric:pair,unit:ns,min:50.0,median:50.0,max:50.0,instructions:null,"
		"times_pthread:2.5}\n"
		"{scheme:spin-park,threads:1,metric:pair,unit:ns,min:50.0,median:50.0,max:50.0,instructions:null,"
		"times_pthread:2.5}\n");
}

TEST(wait1000)
{
	struct jsonout *json = made_up_json();
	struct mutexscale m = three_locks(json);

	m.count = 2;
	begin_printing();
	mutexscale_wait(&m, 60);
	/* Of the longest there is time for 207. */
	assert_int_equal(locked, 2 * 3 * (5 * 1000 + 207));
	assert_int_equal(unlocked, locked);
	/* A turn is a microsecond here. */
	assert_int_equal(worked, 2 * 3 * ((2 + 10 + 50 + 200 + 1000) * 1000 + 8000 * 207));
	assert_printed(
		"one thread has the lock, is busy and gives it back; another waits for it each time\n"
		"\n"
		"owner busy for 2 us\n"
		"lock     ms for 1000 waits  x futex\n"
		"pthread  0.76 [0.76..0.76]    x0.41\n"
		"futex    1.86 [1.86..1.86]    x1.00\n"
		"\n"
		"owner busy for 10 us\n"
		"lock     ms for 1000 waits  x futex\n"
		"pthread  0.76 [0.76..0.76]    x0.41\n"
		"futex    1.86 [1.86..1.86]    x1.00\n"
		"\n"
		"owner busy for 50 us\n"
		"lock     ms for 1000 waits  x futex\n"
		"pthread  0.76 [0.76..0.76]    x0.41\n"
		"futex    1.86 [1.86..1.86]    x1.00\n"
		"\n"
		"owner busy for 200 us\n"
		"lock     ms for 1000 waits  x futex\n"
		"pthread  0.76 [0.76..0.76]    x0.41\n"
		"futex    1.86 [1.86..1.86]    x1.00\n"
		"\n"
		"owner busy for 1000 us\n"
		"lock     ms for 1000 waits  x futex\n"
		"pthread  0.76 [0.76..0.76]    x0.41\n"
		"futex    1.86 [1.86..1.86]    x1.00\n"
		"\n"
		"owner busy for 8000 us\n"
		"lock     ms for 1000 waits  x futex\n"
		"pthread  0.76 [0.76..0.76]    x0.41\n"
		"futex    1.86 [1.86..1.86]    x1.00\n");
	/* The first two of the owner's times. */
	while (json_array_size(json_object_get(jsonout_root(json), "results")) > 4)
		json_array_remove(json_object_get(jsonout_root(json), "results"), 4);
	assert_rows(json,
		"{scheme:pthread,threads:2,metric:wait1000,unit:us,min:759.94,median:760.0,max:760.06,busy_us:2,"
		"times_base:0.408602,base:futex}\n"
		"{scheme:futex,threads:2,metric:wait1000,unit:us,min:1859.94,median:1860.0,max:1860.06,busy_us:2,"
		"times_base:1.0,base:futex}\n"
		"{scheme:pthread,threads:2,metric:wait1000,unit:us,min:759.94,median:760.0,max:760.06,busy_us:10,"
		"times_base:0.408602,base:futex}\n"
		"{scheme:futex,threads:2,metric:wait1000,unit:us,min:1859.94,median:1860.0,max:1860.06,"
		"busy_us:10,times_base:1.0,base:futex}\n");
}
