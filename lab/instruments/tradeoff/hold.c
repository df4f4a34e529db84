/* SPDX-License-Identifier: MIT */
/*
 * lull tradeoff: what others have of a reader that holds on to an object for long, while objects
 * are replaced at a fixed rate.
 */
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <lull/atomic.h>
#include <lull/reclaim.h>

#include "common/clock.h"
#include "common/cpus.h"
#include "common/bench.h"
#include "common/figures.h"
#include "instruments/tradeoff/ways.h"

#define CELLS 64
#define UPDATES_MOST 4000000
#define DRAIN_MS 10000

/* Counts of the updater and of the thread that frees. */
static struct {
	uint64_t *wait;
	size_t room;
	uint64_t freed, waits;
} seen;

static void on_free(const uint64_t *body)
{
	uint64_t stamp = body[TRADEOFF_STAMP], at;

	if (stamp) {
		at = lull_add_relaxed(&seen.waits, 1);
		if (at < seen.room)
			seen.wait[at] = bench_now_ns() - stamp;
	}
	lull_add_relaxed(&seen.freed, 1);
}

struct slow_reader {
	const struct tradeoff_scheme *scheme;
	struct tradeoff_cell *cell;
	double ns;
	bool sleeps;
	uint32_t stays, stop;
};

static void *slow_main(void *arg)
{
	struct slow_reader *r = arg;

	bench_pin(1);
	while (!lull_load_relaxed(&r->stop)) {
		lull_add_relaxed(&r->stays, 1);
		r->scheme->hold(r->cell, r->ns, r->sleeps);
	}
	return NULL;
}

struct updates {
	const struct tradeoff_scheme *scheme;
	struct tradeoff_cell *cell;
	struct keep *there[CELLS]; /* what the cells say, without what a scheme may add */
	size_t size;
	uint64_t *took, rng;
	double *waiting;
	size_t count, room;
};

/* The object that the slow reader goes for, in the first cell, says nothing about the others. */
static void update(struct updates *u)
{
	struct keep *fresh = u->scheme->make(u->size);
	size_t at = (size_t)(bench_random(&u->rng) >> 32) % CELLS;
	uint64_t *body, start;

	((uint64_t *)(void *)((char *)fresh + u->scheme->head))[TRADEOFF_STAMP] = 0;
	body = (uint64_t *)(void *)((char *)u->there[at] + u->scheme->head);
	start = bench_now_ns();
	body[TRADEOFF_STAMP] = at ? start : 0;
	u->there[at] = fresh;
	u->scheme->replace(&u->cell[at], fresh);
	u->took[u->count] = bench_now_ns() - start;
	u->waiting[u->count] =
		(double)u->count + 1 - (double)lull_load_relaxed(&seen.freed);
	if (u->waiting[u->count] < 0)
		u->waiting[u->count] = 0;
	u->count++;
}

static void begin_updates(struct updates *u, struct tradeoff_run *run, double seconds)
{
	double most = run->update_rate * seconds * 1.1 + 1000;
	size_t i;

	u->room = most < UPDATES_MOST ? (size_t)most : UPDATES_MOST;
	u->took = options_alloc(u->room, sizeof(*u->took));
	u->waiting = options_alloc(u->room, sizeof(*u->waiting));
	seen.room = u->room;
	seen.wait = options_alloc(u->room, sizeof(*seen.wait));
	/* Their pages, before it matters. */
	memset(u->took, 1, u->room * sizeof(*u->took));
	memset(seen.wait, 1, u->room * sizeof(*seen.wait));
	u->rng = 88172645463325252u;
	u->size = run->work.size > TRADEOFF_SEEN_SIZE ? run->work.size : TRADEOFF_SEEN_SIZE;
	u->cell = options_alloc(CELLS, sizeof(*u->cell));
	for (i = 0; i < CELLS; i++)
		u->cell[i].object = u->there[i] = u->scheme->make(u->size);
	tradeoff_seen = on_free;
}

void tradeoff_measure_hold(struct tradeoff_run *run, size_t scheme)
{
	struct tradeoff_result *result = &run->result->scheme[scheme];
	struct updates u = { .scheme = tradeoff_schemes[scheme] };
	struct slow_reader reader = { .scheme = u.scheme,
				      .ns = run->slow_ns,
				      .sleeps = run->work.block || run->slow_ns >= 50e3 };
	double seconds = fmax(run->seconds, TRADEOFF_STAYS * run->slow_ns / 1e9);
	struct tradeoff_pace pace = { .rate = run->update_rate };
	pthread_t thread;

	begin_updates(&u, run, seconds);
	reader.cell = &u.cell[0];
	bench_pin(0);
	tradeoff_thread(&thread, slow_main, &reader);
	while (!lull_load_relaxed(&reader.stays))
		sched_yield();
	pace.start = bench_now_ns();
	pace.until = pace.start + (uint64_t)(seconds * 1e9);
	while (tradeoff_due(&pace) && u.count < u.room)
		update(&u);
	bench_planned_ns += (uint64_t)(seconds * 1e9);
	lull_store_relaxed(&reader.stop, 1);
	pthread_join(thread, NULL);
	if (lull_reclaim_drain(DRAIN_MS) != 0)
		options_fail("%s: objects still wait %d s after their last reader",
			     u.scheme->name, DRAIN_MS / 1000);
	result->update = bench_latency_of(u.took, u.count);
	result->wait = bench_latency_of(seen.wait, seen.waits);
	result->waiting = bench_stat_of(u.waiting, u.count);
	result->waiting_bytes = bench_stat_scale(result->waiting, (double)(u.scheme->head + u.size));
}
