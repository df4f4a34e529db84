/* SPDX-License-Identifier: MIT */
/*
 * lull hashscale --reload: how long one thread takes to replace every element of the table, beside readers that look
 * up all the time, and how much they look up meanwhile.
 *
 * Threads are not pinned: where a thread runs that has waited for a lock is the scheduler's business, as in any
 * program. A slice has some reloads, a pause before each, and is of one scheme; schemes take turns. All readers stop
 * at the time when the reload in progress is given up. So a writer whom they keep out comes in then, and the program
 * goes on.
 */
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lull/atomic.h>

#include "common/clock.h"
#include "common/progress.h"
#include "engine/budget.h"
#include "common/units.h"
#include "engine/other_programs.h"
#include "lock_scheme.h"
#include "instruments/hash/hashscale.h"
#include "instruments/hash/reload.h"

#define LIMITS 6u	       /* that there is time for, in each cell */
#define LIMIT_NS_MIN 20000000u /* several turns of the scheduler */
#define SLICES 4u	       /* in a limit, or one slice is longer: short ones are seldom disturbed */
#define PAUSE_NS 5000000u
#define LOOKUPS 64u /* between two looks at the clock */
#define STACK (256u * 1024)

struct reader {
	uint64_t lookups; /* since it was made; others read it at any time */
	struct bench_thread t;
	sem_t go;
	pthread_t thread;
} __attribute__((aligned(BENCH_LINE)));

/* State of the current slice. All but the atomic fields is written before the readers are released. */
static struct {
	struct reader *reader;
	unsigned made;
	sem_t done;
	const struct hashscale_entry *entry;
	unsigned readers;
	unsigned begun; /* readers that look up; atomic */
	uint64_t until; /* readers look up until then; atomic */
	uint64_t limit_ns;
	struct hashscale_tally tally;
} now;

/* ---- readers --------------------------------------------------------------------------------- */

static void look_up(struct reader *r)
{
	const struct bench_hash_scheme *scheme = now.entry->scheme;

	scheme->thread_enter();
	lull_add_relaxed(&now.begun, 1);
	while (bench_now_ns() < lull_load_relaxed(&now.until)) {
		bench_sink(scheme->run(&r->t, now.entry->mixed, LOOKUPS, 0));
		lull_store_relaxed(&r->lookups, r->lookups + LOOKUPS);
	}
	scheme->thread_leave();
}

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		;
}

static void *reader_main(void *arg)
{
	struct reader *r = arg;

	for (;;) {
		wait_for(&r->go);
		if (!now.entry)
			return NULL;
		look_up(r);
		sem_post(&now.done);
	}
}

static void make_readers(unsigned count)
{
	pthread_attr_t attr;
	int err = 0;

	now.reader = bench_alloc_lines(count, sizeof(*now.reader));
	sem_init(&now.done, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (; !err && now.made < count; now.made += !err) {
		struct reader *r = &now.reader[now.made];

		r->t.index = now.made;
		r->t.threads = count;
		r->t.cpu = -1;
		r->t.rng = 0x9e3779b97f4a7c15u * (now.made + 1);
		sem_init(&r->go, 0, 0);
		err = pthread_create(&r->thread, &attr, reader_main, r);
	}
	pthread_attr_destroy(&attr);
	if (err)
		options_bad("you asked for %u threads; only %u can be made here (%s)", count, now.made, strerror(err));
}

static void end_readers(void)
{
	unsigned i;

	now.entry = NULL;
	for (i = 0; i < now.made; i++)
		sem_post(&now.reader[i].go);
	for (i = 0; i < now.made; i++) {
		pthread_join(now.reader[i].thread, NULL);
		sem_destroy(&now.reader[i].go);
	}
	sem_destroy(&now.done);
	free(now.reader);
}

static uint64_t all_lookups(void)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < now.readers; i++)
		sum += lull_load_relaxed(&now.reader[i].lookups);
	return sum;
}

/* ---- the writer ------------------------------------------------------------------------------ */

/* Lookups of all readers, and the time, between then and now. */
static void add_lookups(bool during, uint64_t lookups, uint64_t from, uint64_t to)
{
	now.tally.lookups[during] += all_lookups() - lookups;
	now.tally.lookups_ns[during] += to - from;
}

/* The time. When the reload is given up readers stop, and what comes later was not beside them. */
static uint64_t time_within(uint64_t limit)
{
	uint64_t time = bench_now_ns();

	return time < limit ? time : limit;
}

/* Return when the last of the updates was through, or @limit if that comes first. */
static uint64_t replace_all(size_t elements, uint64_t begin, uint64_t limit)
{
	const struct bench_hash_scheme *scheme = now.entry->scheme;
	uint64_t last = begin, time = begin;
	size_t i;

	if (scheme->reload_begin)
		scheme->reload_begin(now.entry->mixed);
	for (i = 0; i < elements && time < limit; i++) {
		scheme->update(now.entry->mixed, i);
		time = time_within(limit);
		if (!scheme->reload_begin)
			bench_lock_waits_note(&now.tally.updates, time - last);
		last = time;
	}
	if (!scheme->reload_end)
		return time;
	scheme->reload_end(now.entry->mixed);
	return time_within(limit);
}

/* Return false when the reload had to be given up. */
static bool reload(size_t elements)
{
	uint64_t lookups = all_lookups(), begin = bench_now_ns(), limit = begin + now.limit_ns, end;

	lull_store_relaxed(&now.until, limit);
	end = replace_all(elements, begin, limit);
	add_lookups(true, lookups, begin, end);
	hashscale_add_reload(&now.tally, end - begin);
	if (end == limit) {
		now.tally.given_up++;
		return false;
	}
	lull_store_relaxed(&now.until, UINT64_MAX);
	return true;
}

/* Pause, as a program does that has nothing to reload. Go offline first: an online thread would keep others waiting. */
static void pause_writer(void)
{
	uint64_t lookups, from;

	now.entry->scheme->thread_leave();
	lookups = all_lookups();
	from = bench_now_ns();
	bench_sleep_ns(PAUSE_NS);
	add_lookups(false, lookups, from, bench_now_ns());
	now.entry->scheme->thread_enter();
}

static void run_slice(const struct bench_hash_scheme *scheme, size_t elements)
{
	uint64_t end;
	unsigned i;

	now.begun = 0;
	now.until = UINT64_MAX;
	for (i = 0; i < now.readers; i++)
		sem_post(&now.reader[i].go);
	while (lull_load_relaxed(&now.begun) < now.readers)
		bench_sleep_ns(100000);
	if (scheme->deferred)
		scheme->deferred(true);
	scheme->thread_enter();
	end = bench_now_ns() + now.limit_ns / SLICES;
	do
		pause_writer();
	while (reload(elements) && bench_now_ns() < end);
	scheme->thread_leave();
	lull_store_relaxed(&now.until, 0);
	for (i = 0; i < now.readers; i++)
		wait_for(&now.done);
	now.tally.waiting = scheme->deferred ? scheme->deferred(false) : 0;
	if (scheme->settle)
		scheme->settle();
}

static void measure_slice(struct hashscale_cell *c, size_t elements)
{
	struct bench_load before, after;

	now.entry = c->entry;
	now.readers = c->readers;
	memset(&now.tally, 0, sizeof(now.tally));
	bench_load_read(&before, NULL, 0);
	run_slice(c->entry->scheme, elements);
	bench_load_read(&after, NULL, 0);
	hashscale_add_tally(&c->tally[bench_foreign(&before, &after) > 0], &now.tally);
	budget_planned(fmin((double)(after.ns - before.ns), (double)(now.limit_ns + now.limit_ns / SLICES + PAUSE_NS)));
	free(now.tally.reload_ns);
}

/* Measure in turn while there is time. Return how many cells have a slice. */
static size_t measure_cells(struct hashscale_cell *cell, size_t cells, size_t elements)
{
	size_t slices;

	for (slices = 0; slices < cells || !budget_is_short(); slices++) {
		struct hashscale_cell *c = &cell[slices % cells];

		if (slices && budget_is_over(1))
			break;
		bench_progress("hashscale: reloads, round %zu, %s, %u reader%s", slices / cells + 1,
			       c->entry->scheme->name, c->readers, c->readers == 1 ? "" : "s");
		measure_slice(c, elements);
	}
	bench_progress_clear();
	return slices < cells ? slices : cells;
}

void hashscale_reload(struct hashscale *run)
{
	const struct options *opt = run->opt;
	size_t cells = run->count * opt->nr_threads, measured, i;
	struct hashscale_cell *cell = options_alloc(cells, sizeof(*cell));
	double seconds = budget_next(1, 0, "reloads");

	for (i = 0; i < cells; i++) {
		cell[i].entry = &run->entries[i % run->count];
		cell[i].readers = opt->threads[i / run->count];
	}
	now.limit_ns = (uint64_t)(seconds * 1e9) / cells / LIMITS;
	now.limit_ns = now.limit_ns > LIMIT_NS_MIN ? now.limit_ns : LIMIT_NS_MIN;
	printf("A reload: one thread replaces every element of the table once, while readers look up all the time.\n"
	       "A scheme named -table has one lock, or one pointer, for the whole table, and a reload is one step.\n"
	       "Other schemes have a lock for each bucket, unless --list says otherwise, and make each update by itself.\n"
	       "The command gives a reload up after %s; more --seconds give it more time.\n",
	       units_time((double)now.limit_ns).text);
	jsonout_set(jsonout_root(run->json), "limit_ns", json_real((double)now.limit_ns));
	make_readers(options_most_threads(opt));
	measured = measure_cells(cell, cells, run->shape.elements);
	end_readers();
	for (i = 0; i < measured; i += run->count)
		hashscale_report_reloads(run, cell + i, measured - i < run->count ? measured - i : run->count,
					 now.limit_ns);
	hashscale_print_disturbed(cell, measured);
	for (i = measured; i < cells; i++)
		budget_leave_out("%s beside %u reader%s", cell[i].entry->scheme->name, cell[i].readers,
				 cell[i].readers == 1 ? "" : "s");
	for (i = 0; i < cells; i++) {
		free(cell[i].tally[0].reload_ns);
		free(cell[i].tally[1].reload_ns);
	}
	free(cell);
}
