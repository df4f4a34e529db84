/* SPDX-License-Identifier: MIT */
/* The measuring engine: pinned workers, interleaved slices, hardware counters. See bench.h. */
#include "common/bench.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <lull/atomic.h>

#include "common/clock.h"
#include "common/counters.h"
#include "common/cpus.h"
#include "common/options.h"
#include "common/progress.h"
#include "common/slices.h"

#define CHUNK_MIN_NS 10000u	   /* shorter chunks and the clock shows in the result */
#define CHUNK_MAX_NS 60000u	   /* longer ones and threads stop too far apart */
#define WORKER_STACK (256u * 1024)

uint64_t bench_planned_ns;

void bench_sink(uint64_t value)
{
	static __thread uint64_t kept;

	lull_store_relaxed(&kept, lull_load_relaxed(&kept) ^ value);
}

/* ---- workers --------------------------------------------------------------------------------- */

struct worker {
	struct bench_thread t;
	struct bench_pool *pool;
	uint64_t *chunk; /* per case; this worker's own calibration */
	struct bench_counters counters;
	sem_t go;
	pthread_t thread;
} __attribute__((aligned(BENCH_LINE)));

struct bench_pool {
	struct worker *worker;
	struct bench_sample *sample; /* of the slice, by worker */
	unsigned size;
	bool counters;
	sem_t done;

	/* State of the current slice; written before the workers are released. */
	const struct bench_case *work; /* NULL: exit */
	size_t work_index;
	unsigned active;
	uint64_t slice_ns, warm_ns;

	/* The starting line: the last to arrive sets the time from which all count. */
	unsigned arrived __attribute__((aligned(BENCH_LINE)));
	uint64_t start __attribute__((aligned(BENCH_LINE)));
};

static uint64_t meet(struct bench_pool *pool)
{
	unsigned spins = 0;
	uint64_t start;

	if (lull_add_acq_rel(&pool->arrived, 1) + 1 == pool->active) {
		start = bench_now_ns();
		lull_store_release(&pool->start, start);
		return start;
	}
	while (!(start = lull_load_acquire(&pool->start))) {
		lull_cpu_relax();
		if (++spins > 1000)
			sched_yield();
	}
	return start;
}

static bool preempted_since(struct rusage *before)
{
	struct rusage now;

	getrusage(RUSAGE_THREAD, &now);
	return now.ru_nivcsw != before->ru_nivcsw;
}

/*
 * Runs the body untimed until `until`, and finds how many operations make a chunk of a good length.
 */
static uint64_t warm_up(struct worker *w, const struct bench_case *c, uint64_t until)
{
	uint64_t *calibrated = &w->chunk[w->pool->work_index];
	uint64_t before = bench_now_ns(), now, chunk;

	do {
		chunk = c->chunk ? c->chunk : *calibrated;
		bench_sink(c->body(&w->t, c->arg, chunk));
		now = bench_now_ns();
		if (now - before < CHUNK_MIN_NS && chunk < UINT64_MAX / 4)
			*calibrated = chunk * 2;
		else if (now - before > CHUNK_MAX_NS && chunk > 1)
			*calibrated = chunk / 2;
		before = now;
	} while (now < until);
	return c->chunk ? c->chunk : *calibrated;
}

static void measured_part(struct worker *w, const struct bench_case *c, uint64_t chunk,
			  uint64_t deadline)
{
	uint64_t cycles0 = 0, instructions0 = 0, cycles1, instructions1;
	struct bench_sample s = { 0 };
	struct rusage before;

	getrusage(RUSAGE_THREAD, &before);
	s.counted = bench_counters_read(&w->counters, &cycles0, &instructions0);
	s.start = bench_now_ns();
	do {
		bench_sink(c->body(&w->t, c->arg, chunk));
		s.ops += chunk;
		s.end = bench_now_ns();
	} while (s.end < deadline);
	s.counted = s.counted && bench_counters_read(&w->counters, &cycles1, &instructions1);
	if (s.counted) {
		s.cycles = cycles1 - cycles0;
		s.instructions = instructions1 - instructions0;
	}
	s.preempted = preempted_since(&before);
	w->pool->sample[w->t.index] = s;
}

/*
 * Between enter and leave a worker never waits for another: an online thread that waits at a
 * barrier reports no quiescent state, and one that synchronizes would wait for it for ever.
 */
static void run_slice(struct worker *w)
{
	struct bench_pool *pool = w->pool;
	const struct bench_case *c = pool->work;
	uint64_t warm_until = meet(pool) + pool->warm_ns, chunk;

	w->t.threads = pool->active;
	w->t.priv = NULL;
	if (c->enter)
		c->enter(&w->t, c->arg);
	chunk = warm_up(w, c, warm_until);
	measured_part(w, c, chunk, warm_until + pool->slice_ns);
	if (c->leave)
		c->leave(&w->t, c->arg);
}

static void sem_wait_all(sem_t *sem, unsigned count)
{
	while (count)
		if (sem_wait(sem) == 0)
			count--;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	w->t.cpu = bench_pin(w->t.index);
	bench_counters_open(&w->counters);
	sem_post(&w->pool->done);
	for (;;) {
		sem_wait_all(&w->go, 1);
		if (!w->pool->work)
			break;
		run_slice(w);
		sem_post(&w->pool->done);
	}
	bench_counters_close(&w->counters);
	return NULL;
}

static void release_workers(struct bench_pool *pool, unsigned count)
{
	unsigned i;

	for (i = 0; i < count; i++)
		sem_post(&pool->worker[i].go);
}

static int start_worker(struct bench_pool *pool, unsigned index, const pthread_attr_t *attr)
{
	struct worker *w = &pool->worker[index];
	int err;

	w->pool = pool;
	w->t.index = index;
	w->t.rng = 0x9e3779b97f4a7c15u * (index + 1);
	sem_init(&w->go, 0, 0);
	err = pthread_create(&w->thread, attr, worker_main, w);
	if (err)
		sem_destroy(&w->go);
	return err;
}

void *bench_alloc_lines(size_t count, size_t size)
{
	void *p = aligned_alloc(BENCH_LINE,
				(count * size + BENCH_LINE - 1) / BENCH_LINE * BENCH_LINE);

	if (!p)
		options_fail("out of memory");
	memset(p, 0, count * size);
	return p;
}

struct bench_pool *bench_pool_new(unsigned threads)
{
	struct bench_pool *pool = bench_alloc_lines(1, sizeof(*pool));
	pthread_attr_t attr;
	int err = 0;

	pool->worker = bench_alloc_lines(threads, sizeof(*pool->worker));
	pool->sample = bench_alloc_lines(threads, sizeof(*pool->sample));
	sem_init(&pool->done, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, WORKER_STACK);
	while (!err && pool->size < threads) {
		err = start_worker(pool, pool->size, &attr);
		pool->size += !err;
	}
	pthread_attr_destroy(&attr);
	sem_wait_all(&pool->done, pool->size);
	if (err) {
		unsigned made = pool->size;

		bench_pool_free(pool);
		options_bad("you asked for %u threads; only %u can be made here (%s)", threads,
			    made, strerror(err));
	}
	pool->counters = pool->worker[0].counters.cycles >= 0;
	return pool;
}

void bench_pool_free(struct bench_pool *pool)
{
	unsigned i;

	pool->work = NULL;
	release_workers(pool, pool->size);
	for (i = 0; i < pool->size; i++) {
		pthread_join(pool->worker[i].thread, NULL);
		sem_destroy(&pool->worker[i].go);
		free(pool->worker[i].chunk);
	}
	sem_destroy(&pool->done);
	free(pool->worker);
	free(pool->sample);
	free(pool);
}

bool bench_pool_counters(const struct bench_pool *pool)
{
	return pool->counters;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static struct bench_slice measure_slice(struct bench_pool *pool, const struct bench_plan *plan,
					const struct bench_case *c, size_t index)
{
	uint64_t begin = bench_now_ns();
	struct bench_slice s;

	pool->work = c;
	pool->work_index = index;
	pool->active = plan->threads;
	pool->slice_ns = plan->slice_ns;
	pool->warm_ns = plan->warm_ns;
	pool->arrived = 0;
	pool->start = 0;
	if (c->before)
		c->before(c->arg, plan->threads);
	release_workers(pool, plan->threads);
	sem_wait_all(&pool->done, plan->threads);
	bench_planned_ns += plan->slice_ns + plan->warm_ns;
	s = bench_slice_of(pool->sample, plan->threads, plan->threads > bench_cpus());
	if (c->after)
		c->after(c->arg, plan->threads, s.ops, bench_now_ns() - begin);
	return s;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* When a measurement began, and how long its longest round of all cases took. */
struct pace {
	uint64_t began, round_ns;
};

/* Return whether there is time for another round before @until. */
static bool has_time(const struct pace *pace, uint64_t until)
{
	return bench_now_ns() + pace->round_ns <= until;
}

/* All cases in turn, until each has its slices or has used up its attempts, or the run's time is up. */
static void run_once(struct bench_pool *pool, const struct bench_plan *plan,
		     const struct bench_case *cases, size_t nr_cases, struct bench_tally *tally,
		     unsigned run, struct pace *pace)
{
	uint64_t until = plan->most_ns ? pace->began + plan->most_ns / plan->runs * (run + 1) : UINT64_MAX, from;
	unsigned round;
	size_t i;

	for (i = 0; i < nr_cases; i++)
		bench_tally_begin(&tally[i]);
	for (round = 0; round < plan->slices + plan->redo && (!round || has_time(pace, until)); round++) {
		from = bench_now_ns();
		bench_progress("%s: %u thread%s, run %u of %u, round %u of %u",
			       plan->label ? plan->label : "measuring", plan->threads,
			       plan->threads == 1 ? "" : "s", run + 1, plan->runs,
			       round < plan->slices ? round + 1 : plan->slices, plan->slices);
		for (i = 0; i < nr_cases; i++)
			if (tally[i].good < plan->slices)
				bench_tally_add(&tally[i], measure_slice(pool, plan, &cases[i], i));
		if (bench_now_ns() - from > pace->round_ns)
			pace->round_ns = bench_now_ns() - from;
	}
}

static void reset_chunks(struct bench_pool *pool, unsigned threads, size_t nr_cases)
{
	unsigned i;
	size_t j;

	for (i = 0; i < threads; i++) {
		free(pool->worker[i].chunk);
		pool->worker[i].chunk = options_alloc(nr_cases, sizeof(uint64_t));
		for (j = 0; j < nr_cases; j++)
			pool->worker[i].chunk[j] = 1;
	}
}

void bench_measure(struct bench_pool *pool, const struct bench_plan *plan,
		   const struct bench_case *cases, size_t nr_cases, struct bench_result *results)
{
	struct bench_tally *tally = options_alloc(nr_cases, sizeof(*tally));
	struct pace pace = { .began = bench_now_ns() };
	uint64_t until = plan->most_ns ? pace.began + plan->most_ns : UINT64_MAX;
	unsigned run;
	size_t i;

	if (plan->threads > pool->size)
		options_fail("%u threads in a pool of %u", plan->threads, pool->size);
	reset_chunks(pool, plan->threads, nr_cases);
	memset(results, 0, nr_cases * sizeof(*results));
	for (i = 0; i < nr_cases; i++) {
		tally[i] = bench_tally_new(plan);
		/*
		 * The first slice of a case faults its pages in and finds the chunk; it counts for
		 * nothing.
		 */
		tally[i].counted = measure_slice(pool, plan, &cases[i], i).counted;
	}
	for (run = 0; run < plan->runs && (!run || has_time(&pace, until)); run++) {
		run_once(pool, plan, cases, nr_cases, tally, run, &pace);
		for (i = 0; i < nr_cases; i++)
			bench_tally_end_run(&tally[i], plan, &results[i]);
	}
	bench_progress_clear();
	for (i = 0; i < nr_cases; i++)
		bench_tally_finish(&tally[i], &results[i]);
	free(tally);
}
