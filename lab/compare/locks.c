/* SPDX-License-Identifier: MIT */
/*
 * lull compare: the part on locks. How much gets done under one lock, by number of threads, with and without other
 * processes that want the processors, and where sections are long; and what a lock costs when no thread waits.
 */
#include "compare/locks.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/cpus.h"
#include "common/figures.h"
#include "common/options.h"
#include "engine/text_table.h"
#include "common/units.h"
#include "compare/instrument.h"

/* Locks that are always compared; the usual choice comes first. */
static const struct {
	const char *name;
	unsigned effort; /* see choose.h */
} known[COMPARE_LOCKS] = {
	{ "pthread", 0 },   { "pthread-adaptive", 0 }, { "lull-mutex", 1 },
	{ "spin-park", 2 }, { "futex", 2 },	       { "spinlock", 2 },
};

/* Bounds of a section: it does something, and it is short enough that waits matter. */
#define SECTION_MIN_NS 100.0
#define SECTION_MAX_NS 1e6
#define LONGER_NS 200e3

/* Shares of the time. Beside other processes a slice has to last for many of the scheduler's turns. */
#define SHARE_ALONE 0.06
#define SHARE_PLAIN 0.28
#define SHARE_HOGS 0.54
#define SHARE_LONGER 0.12

/* ---- to measure ------------------------------------------------------------------------------ */

static void begin(struct compare_command *c, unsigned runs, double seconds)
{
	char *names = options_printf("%s", known[0].name);
	size_t i;

	for (i = 1; i < COMPARE_LOCKS; i++)
		names = compare_append(compare_append(names, ","), known[i].name);
	compare_arg(c, "lull");
	compare_arg(c, "mutexscale");
	compare_arg(c, "--schemes=%s", names);
	free(names);
	compare_arg(c, "--runs=%u", runs ? runs : CHOOSE_ROUNDS_LEAST);
	compare_seconds(c, seconds);
}

static json_t *run_alone(unsigned runs, double seconds)
{
	struct compare_command c = { 0 };

	begin(&c, runs, seconds);
	compare_arg(&c, "--uncontended");
	return compare_run(&c);
}

static json_t *run_contended(const struct compare_locks *locks, double section_ns,
			     const unsigned *threads, size_t nr_threads, unsigned hogs,
			     unsigned runs, double seconds)
{
	bool sleep = locks->sleep && section_ns <= locks->section_ns;
	struct compare_command c = { 0 };

	begin(&c, runs, seconds);
	compare_numbers(&c, "--threads", threads, nr_threads);
	compare_arg(&c, "--section=%.17gns", sleep ? 0 : section_ns);
	if (sleep)
		compare_arg(&c, "--sleep=100%%:%.17gns", section_ns);
	compare_arg(&c, "--outside=%.17gns", COMPARE_LOCK_OUTSIDE * section_ns);
	compare_arg(&c, "--hogs=%u", hogs);
	return compare_run(&c);
}

/* ---- to read --------------------------------------------------------------------------------- */

static struct compare_lock *find_lock(struct compare_locks *to, const char *name)
{
	size_t i;

	for (i = 0; i < to->count; i++)
		if (!strcmp(to->lock[i].name, name))
			return &to->lock[i];
	return NULL;
}

static void read_alone(struct compare_locks *to, const json_t *root)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(root, "results"), i, row)
	{
		struct compare_lock *lock = find_lock(to, jsonin_text(row, "scheme"));

		if (lock)
			lock->alone = jsonin_stat(row);
	}
}

static void read_rounds(struct choose_rounds *to, const json_t *row)
{
	const json_t *list = json_object_get(row, "rounds");
	size_t i;

	to->count = 0;
	for (i = 0; i < json_array_size(list) && i < CHOOSE_ROUNDS_MAX; i++)
		to->ns[to->count++] = 1e9 / json_number_value(json_array_get(list, i));
}

static void read_figure(struct compare_contention *to, const json_t *row)
{
	static const struct {
		const char *metric;
		size_t offset;
	} figures[] = {
		{ "sections", offsetof(struct compare_contention, rate) },
		{ "wait_mean", offsetof(struct compare_contention, wait) },
		{ "wait_p99", offsetof(struct compare_contention, p99) },
		{ "wait_p999", offsetof(struct compare_contention, p999) },
		{ "wait_max", offsetof(struct compare_contention, longest) },
		{ "cpu", offsetof(struct compare_contention, cpu) },
	};
	size_t i;

	for (i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		if (!strcmp(jsonin_text(row, "metric"), figures[i].metric))
			*(struct bench_stat *)((char *)to + figures[i].offset) = jsonin_stat(row);
	if (!strcmp(jsonin_text(row, "metric"), figures[0].metric))
		read_rounds(&to->section, row);
}

/* Find the place for @row by its lock and its number of threads. */
static struct compare_contention *place_of(struct compare_locks *to, const json_t *row,
					   unsigned which)
{
	struct compare_lock *lock = find_lock(to, jsonin_text(row, "scheme"));
	size_t i;

	if (!lock || which == COMPARE_LOCKS_LONGER)
		return lock ? &lock->longer : NULL;
	for (i = 0; i < to->nr_threads; i++)
		if (to->threads[i] == jsonin_number(row, "threads"))
			return which == COMPARE_LOCKS_HOGS ? &lock->hogs[i] : &lock->plain[i];
	return NULL;
}

static void read_contended(struct compare_locks *to, const json_t *root, unsigned which)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(root, "results"), i, row)
	{
		struct compare_contention *place = place_of(to, row, which);

		if (place)
			read_figure(place, row);
	}
}

/* ---- the choice ------------------------------------------------------------------------------ */

static void set_lock(struct choose_lock *to, const struct compare_locks *locks, size_t which)
{
	const struct compare_lock *lock = &locks->lock[which];
	size_t i, n = locks->nr_threads;

	to->name = lock->name;
	to->effort = known[which].effort;
	to->alone_ns = lock->alone.count ? lock->alone.median : 0;
	for (i = 0; i < n; i++) {
		to->section[i] = lock->plain[i].section;
		to->section[n + i] = lock->hogs[i].section;
	}
	to->section[2 * n] = lock->longer.section;
}

static void answer(struct compare_locks *locks)
{
	struct choose_lock_case at[CHOOSE_CASES_MAX] = { 0 };
	struct choose_lock lock[COMPARE_LOCKS] = { 0 };
	struct choose_locks in = { lock, locks->count, at, 2 * locks->nr_threads + 1,
				   locks->section_ns, locks->longer_ns, locks->sleep, locks->hogs };
	size_t i;

	for (i = 0; i < locks->count; i++)
		set_lock(&lock[i], locks, i);
	for (i = 0; i < 2 * locks->nr_threads; i++) {
		at[i].threads = locks->threads[i % locks->nr_threads];
		at[i].hogs = i >= locks->nr_threads;
	}
	at[i].threads = locks->threads[compare_locks_most(locks)];
	at[i].longer = true;
	choose_lock(&in, &locks->verdict);
	locks->nr_answers = choose_lock_words(&in, &locks->verdict, locks->answer);
}

/* ---- all of it ------------------------------------------------------------------------------- */

_Static_assert(2 * COMPARE_THREADS_MAX < CHOOSE_CASES_MAX, "twice, and a longer one");
_Static_assert(COMPARE_LOCKS <= CHOOSE_LOCKS_MAX, "all of them fit");

static void set_up(struct compare_locks *to, const struct workload *work, const unsigned *threads,
		   size_t nr_threads)
{
	size_t i;

	to->threads = threads;
	to->nr_threads = nr_threads;
	to->hogs = bench_cpus();
	to->sleep = work->block && work->hold_ns > 0;
	to->section_ns = fmin(fmax(work->hold_ns, SECTION_MIN_NS), SECTION_MAX_NS);
	to->longer_ns = LONGER_NS;
	to->count = COMPARE_LOCKS;
	for (i = 0; i < COMPARE_LOCKS; i++)
		to->lock[i].name = known[i].name;
}

/* Leave one thread out: beside other processes that tells nothing about a lock, and takes time from the others. */
static size_t several_threads(const unsigned *threads, size_t nr_threads, unsigned *several)
{
	size_t n = 0, i;

	for (i = 0; i < nr_threads; i++)
		if (threads[i] > 1)
			several[n++] = threads[i];
	return n;
}

void compare_locks_measure(struct compare_locks *to, const struct workload *work,
			   const unsigned *threads, size_t nr_threads, unsigned runs, double seconds,
			   json_t *roots[COMPARE_LOCKS_ROOTS])
{
	unsigned several[COMPARE_THREADS_MAX];
	const unsigned *most;
	size_t nr_several;

	set_up(to, work, threads, nr_threads);
	most = &threads[compare_locks_most(to)];
	roots[COMPARE_LOCKS_ALONE] = run_alone(runs, seconds * SHARE_ALONE);
	read_alone(to, roots[COMPARE_LOCKS_ALONE]);
	roots[COMPARE_LOCKS_PLAIN] = run_contended(to, to->section_ns, threads, nr_threads, 0, runs,
						   seconds * SHARE_PLAIN);
	read_contended(to, roots[COMPARE_LOCKS_PLAIN], COMPARE_LOCKS_PLAIN);
	nr_several = several_threads(threads, nr_threads, several);
	if (nr_several) {
		roots[COMPARE_LOCKS_HOGS] = run_contended(to, to->section_ns, several, nr_several, to->hogs, runs,
							  seconds * SHARE_HOGS);
		read_contended(to, roots[COMPARE_LOCKS_HOGS], COMPARE_LOCKS_HOGS);
	}
	if (to->section_ns <= to->longer_ns / 2) {
		roots[COMPARE_LOCKS_LONGER] = run_contended(to, to->longer_ns, most, 1, 0, runs,
							    seconds * SHARE_LONGER);
		read_contended(to, roots[COMPARE_LOCKS_LONGER], COMPARE_LOCKS_LONGER);
	}
	answer(to);
}

/* ---- on the terminal ------------------------------------------------------------------------- */

static void cell_rate(struct bench_table *table, const struct bench_stat *rate)
{
	double thousands = rate->median / 1e3;

	if (rate->count)
		bench_cell(table, "%.*f", thousands < 9.95 ? 2 : 0, thousands);
	else
		bench_cell(table, "n/a");
}

static void cell_times(struct bench_table *table, const struct bench_stat *rate,
		       const struct bench_stat *first)
{
	if (rate->count && first->median > 0)
		bench_cell(table, "x%.2f", rate->median / first->median);
	else
		bench_cell(table, "n/a");
}

static void cell_time(struct bench_table *table, const struct bench_stat *ns)
{
	bench_cell(table, "%s", units_time(ns->count ? ns->median : -1).text);
}

static void print_head(const struct compare_locks *locks)
{
	printf("One lock that threads want at a time, sections %s %s, up to %s between them:\n\n",
	       locks->sleep ? "that sleep for" : "of",
	       units_time(locks->section_ns).text,
	       units_time(COMPARE_LOCK_OUTSIDE * locks->section_ns).text);
}

static void print_legend(const struct compare_locks *locks, unsigned threads)
{
	printf("\nalone: lock and unlock, nobody else wants it. k/s: thousand sections a second with %u "
	       "thread%s,\nx: against pthread's; hogs: beside %u process%s burning processor time; "
	       "%s: in sections so long.\nwait, its p99.9, processor time: per section, without "
	       "hogs.\n",
	       threads, threads == 1 ? "" : "s", locks->hogs, locks->hogs == 1 ? "" : "es",
	       units_time(locks->longer_ns).text);
}

void compare_locks_print(const struct compare_locks *locks)
{
	size_t most = compare_locks_most(locks), i;
	unsigned threads = locks->threads[most];
	char *header;
	struct bench_table *table;

	print_head(locks);
	header = options_printf("lock|alone|k/s|x|hogs: k/s|x|%s: x|wait|p99.9|CPU time",
				units_time(locks->longer_ns).text);
	table = bench_table_new(header);
	free(header);
	for (i = 0; i < locks->count; i++) {
		const struct compare_lock *lock = &locks->lock[i], *first = &locks->lock[0];
		const struct compare_contention *c = &lock->plain[most];

		bench_cell(table, "%s", lock->name);
		cell_time(table, &lock->alone);
		cell_rate(table, &c->rate);
		cell_times(table, &c->rate, &first->plain[most].rate);
		cell_rate(table, &lock->hogs[most].rate);
		cell_times(table, &lock->hogs[most].rate, &first->hogs[most].rate);
		cell_times(table, &lock->longer.rate, &first->longer.rate);
		cell_time(table, &c->wait);
		cell_time(table, &c->p999);
		cell_time(table, &c->cpu);
	}
	bench_table_print(table);
	print_legend(locks, threads);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

json_t *compare_locks_json(const struct compare_locks *locks)
{
	const struct choose_lock_verdict *v = &locks->verdict;
	json_t *to, *gains;
	bool known_best = v->best != CHOOSE_NOTHING;
	size_t i;

	if (!locks->count)
		return json_null();
	to = json_object();
	gains = json_object();
	json_object_set_new(to, "section_ns", json_real(locks->section_ns));
	json_object_set_new(to, "sleep", json_boolean(locks->sleep));
	json_object_set_new(to, "longer_ns", json_real(locks->longer_ns));
	json_object_set_new(to, "hogs", json_integer(locks->hogs));
	json_object_set_new(to, "use",
			    known_best ? json_string(locks->lock[v->best].name) : json_null());
	for (i = 0; i < locks->count && v->measured; i++)
		json_object_set_new(gains, locks->lock[i].name, json_real(v->gain[i].mean));
	json_object_set_new(to, "times_pthread", gains);
	return to;
}
