/* SPDX-License-Identifier: MIT */
/*
 * The slices of `lull hashscale`, and what single updates take.
 *
 * Slices with updates are long and all of them count, also when a worker was preempted: some
 * libraries free memory in a thread of their own, and its time is part of the price.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/cpus.h"
#include "common/figures.h"
#include "engine/budget.h"
#include "common/bench.h"
#include "instruments/hash/hash_job.h"
#include "instruments/hash/hashscale.h"

#define LOOKUP_SLICE_NS 4000000u
#define MIXED_SLICE_NS 20000000u   /* twice the time that liburcu's worker sleeps */
#define CROWDED_SLICE_NS 40000000u /* more threads than CPUs: several turns of the scheduler */
#define WARM_NS_PER_ELEMENT 60u	   /* a miss in all caches, or nearly */
#define WARM_NS_MIN 50000u
#define WARM_NS_MAX 30000000u
#define OVERHEAD_NS 500000u	   /* that a slice takes more: waking workers, settling what was deferred */
#define ROUNDS_MIN 3u		   /* with less time for these, slices are shorter */
#define SHORTER_MOST 4		   /* times */
#define ROUNDS_PER_RUN 3u

/* Operations of one worker in the slice, warming up included. */
struct done {
	uint64_t ops;
} __attribute__((aligned(BENCH_LINE)));

static struct done *done;

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void job_enter(struct bench_thread *t, void *arg)
{
	(void)t;
	((struct hashscale_job *)arg)->entry->scheme->thread_enter();
}

static uint64_t job_body(struct bench_thread *t, void *arg, uint64_t n)
{
	const struct hashscale_job *job = arg;

	done[t->index].ops += n;
	return job->entry->scheme->run(t, job->table, n, job->updates);
}

static void job_leave(struct bench_thread *t, void *arg)
{
	(void)t;
	((struct hashscale_job *)arg)->entry->scheme->thread_leave();
}

static void job_before(void *arg, unsigned threads)
{
	struct hashscale_job *job = arg;
	unsigned i;

	for (i = 0; i < threads; i++)
		done[i].ops = 0;
	if (job->entry->scheme->deferred)
		job->entry->scheme->deferred(true);
	job->cpu_before = cpu_ns();
}

static void job_after(void *arg, unsigned threads, uint64_t ops, uint64_t ns)
{
	const struct bench_hash_scheme *scheme = ((struct hashscale_job *)arg)->entry->scheme;
	struct hashscale_job *job = arg;
	uint64_t all = 0;
	unsigned i;

	(void)ops;
	(void)ns;
	if (scheme->settle)
		scheme->settle();
	for (i = 0; i < threads; i++)
		all += done[i].ops;
	hashscale_note_slice(job, cpu_ns() - job->cpu_before, all, scheme->deferred ? scheme->deferred(false) : 0);
}

/* ---- single updates -------------------------------------------------------------------------- */

#define UPDATE_THREADS 2u /* one that updates and is timed, one that reads */
#define UPDATE_SLICE_NS_MIN 10000000u
#define UPDATE_SLICE_NS_MAX 150000000u
#define UPDATE_SAMPLES 2000000u
#define SINGLE_SHARE 0.1 /* of the time of all else */

static uint64_t *update_ns;
static size_t update_count;
static uint64_t clock_cost; /* cost of taking the time twice */

static void measure_clock(void)
{
	uint64_t ns[1001];
	size_t i;

	for (i = 0; i < 1001; i++) {
		uint64_t start = bench_now_ns();

		ns[i] = bench_now_ns() - start;
	}
	clock_cost = (uint64_t)bench_latency_of(ns, 1001).p50;
}

static uint64_t update_body(struct bench_thread *t, void *arg, uint64_t n)
{
	const struct hashscale_update *u = arg;
	uint64_t start, took, i;

	if (t->index)
		return job_body(t, arg, n);
	done[0].ops += n;
	for (i = 0; i < n; i++) {
		size_t key = (size_t)((bench_random(&t->rng) >> 32) * u->elements >> 32);

		start = bench_now_ns();
		u->job.entry->scheme->update(u->job.table, key);
		took = bench_now_ns() - start;
		if (update_count < UPDATE_SAMPLES)
			update_ns[update_count++] = took > clock_cost ? took - clock_cost : 0;
	}
	return n;
}

static void update_before(void *arg, unsigned threads)
{
	update_count = 0;
	job_before(arg, threads);
}

static void update_after(void *arg, unsigned threads, uint64_t ops, uint64_t ns)
{
	struct hashscale_update *u = arg;

	u->slice[u->slices++] = bench_latency_of(update_ns, update_count);
	job_after(arg, threads, ops, ns);
}

static void measure_updates(struct hashscale *run, double share)
{
	unsigned cpus = bench_cpus(), threads = cpus < UPDATE_THREADS ? cpus : UPDATE_THREADS;
	struct hashscale_update *jobs = options_alloc(run->count, sizeof(*jobs));
	struct bench_case *cases = options_alloc(run->count, sizeof(*cases));
	struct bench_result *results = options_alloc(run->count, sizeof(*results));
	struct bench_plan plan = { .threads = threads,
				   .runs = HASHSCALE_UPDATE_SLICES,
				   .slices = 1,
				   .warm_ns = WARM_NS_MIN,
				   .label = "hashscale, single updates" };
	size_t count = 0, i;
	double slice, seconds = budget_next(share, 2e-9 * UPDATE_SLICE_NS_MIN * (double)run->count, "single updates");

	for (i = 0; i < run->count; i++) {
		if (run->entries[i].scheme->updates_alone && threads > 1)
			continue;
		jobs[count].job =
			(struct hashscale_job){ .entry = &run->entries[i], .table = run->entries[i].mixed };
		jobs[count].elements = run->shape.elements;
		cases[count] = (struct bench_case){
			.name = run->entries[i].scheme->name,
			.arg = &jobs[count],
			.enter = job_enter,
			.body = update_body,
			.leave = job_leave,
			.before = update_before,
			.after = update_after,
		};
		count++;
	}
	slice = seconds * 1e9 / ((double)count * (HASHSCALE_UPDATE_SLICES + 1));
	plan.slice_ns = slice < UPDATE_SLICE_NS_MIN   ? UPDATE_SLICE_NS_MIN
			: slice > UPDATE_SLICE_NS_MAX ? UPDATE_SLICE_NS_MAX
						      : (uint64_t)slice;
	update_ns = options_alloc(UPDATE_SAMPLES, sizeof(*update_ns));
	measure_clock();
	plan.most_ns = budget_most_ns(seconds);
	if (count && seconds > 0) {
		bench_measure(run->pool, &plan, cases, count, results);
		hashscale_report_updates(run, jobs, count, threads);
	}
	free(update_ns);
	free(jobs);
	free(cases);
	free(results);
}

/* ---- lookups and mixes ----------------------------------------------------------------------- */

static uint64_t warm_ns(const struct hashscale *run, unsigned threads)
{
	uint64_t ns = run->shape.elements * WARM_NS_PER_ELEMENT / threads;

	return ns < WARM_NS_MIN ? WARM_NS_MIN : ns > WARM_NS_MAX ? WARM_NS_MAX : ns;
}

static struct bench_plan make_plan(const struct hashscale *run, unsigned threads, bool mixed)
{
	bool crowded = threads > bench_cpus();
	struct bench_plan plan = {
		.threads = threads,
		.slice_ns = crowded ? CROWDED_SLICE_NS
			    : mixed ? MIXED_SLICE_NS
				    : LOOKUP_SLICE_NS,
		.warm_ns = warm_ns(run, threads),
		.label = mixed ? "hashscale, updates" : "hashscale, lookups",
	};

	return plan;
}

/* The schemes that can be measured at this fraction. */
static size_t make_jobs(const struct hashscale *run, unsigned threads, unsigned percent,
			struct hashscale_job *jobs)
{
	size_t count = 0, i;

	for (i = 0; i < run->count; i++) {
		const struct hashscale_entry *e = &run->entries[i];

		if (e->scheme->updates_alone && percent && threads > 1)
			continue;
		jobs[count++] = (struct hashscale_job){
			.entry = e,
			.table = percent ? e->mixed : e->lookups,
			.updates = ((uint64_t)percent << 32) / 100,
			.percent = percent,
		};
	}
	return count;
}

/* Time that one round over @count jobs takes. */
static double round_ns(const struct bench_plan *plan, size_t count)
{
	return (double)count * (double)(plan->slice_ns + plan->warm_ns + OVERHEAD_NS);
}

/* Return how many rounds of both plans there is time for, after one that does not count. Few rounds have shorter slices. */
static unsigned rounds_in(struct bench_plan plan[2], double both_ns, double seconds)
{
	double rounds = seconds * 1e9 / both_ns, shorter = fmin(fmax((ROUNDS_MIN + 1) / rounds, 1), SHORTER_MOST);
	unsigned i;

	for (i = 0; i < 2; i++) {
		plan[i].slice_ns = (uint64_t)((double)plan[i].slice_ns / shorter);
		plan[i].warm_ns = (uint64_t)((double)plan[i].warm_ns / shorter);
	}
	rounds = rounds * shorter - 1;
	return rounds < 1 ? 1 : (unsigned)rounds;
}

/* Return how many runs there was time for. */
static unsigned measure_jobs(struct hashscale *run, struct bench_plan *plan, struct hashscale_job *jobs,
			     size_t count, bool mixed, unsigned rounds)
{
	struct bench_case *cases = options_alloc(count, sizeof(*cases));
	struct bench_result *results = options_alloc(count, sizeof(*results));
	unsigned runs = UINT_MAX;
	size_t i;

	/* With updates each slice counts, so each is a run. */
	plan->runs = run->opt->runs ? run->opt->runs : mixed ? rounds : (rounds + ROUNDS_PER_RUN - 1) / ROUNDS_PER_RUN;
	plan->slices = mixed || plan->runs >= rounds ? 1 : rounds / plan->runs;
	plan->redo = mixed || plan->threads > bench_cpus() ? 0 : (plan->slices + 1) / 2;
	for (i = 0; i < count; i++)
		cases[i] = (struct bench_case){
			.name = jobs[i].entry->scheme->name,
			.arg = &jobs[i],
			.enter = job_enter,
			.body = job_body,
			.leave = job_leave,
			.before = job_before,
			.after = job_after,
		};
	if (count)
		bench_measure(run->pool, plan, cases, count, results);
	for (i = 0; i < count; i++) {
		jobs[i].result = results[i];
		runs = results[i].runs;
	}
	free(cases);
	free(results);
	return runs;
}

static void report(struct hashscale *run, struct hashscale_job *jobs, size_t count, bool mixed, unsigned threads)
{
	size_t i;

	hashscale_write_json(run, jobs, count, threads);
	hashscale_print_mops(run, jobs, count);
	if (mixed)
		hashscale_print_cpu(run, jobs, count);
	if (bench_pool_counters(run->pool))
		hashscale_print_counted(run, jobs, count);
	for (i = 0; i < count; i++)
		free(jobs[i].cpu);
}

/* Fill in the jobs that look up alone, then the others. Return how many there are, and of the first kind. */
static size_t make_all_jobs(const struct hashscale *run, unsigned threads, struct hashscale_job *jobs, size_t *lookups)
{
	const struct hashscale_settings *s = run->settings;
	size_t count, i;

	*lookups = 0;
	for (i = 0; i < s->nr_updates; i++)
		if (s->updates[i] == 0 && !*lookups)
			*lookups = make_jobs(run, threads, 0, jobs);
	for (i = 0, count = *lookups; i < s->nr_updates; i++)
		if (s->updates[i])
			count += make_jobs(run, threads, s->updates[i], jobs + count);
	return count;
}

/* The share of a number of threads in the time: its slices. */
static double share(const struct hashscale *run, unsigned threads)
{
	const struct hashscale_settings *s = run->settings;
	double ns = 0;
	size_t i;

	for (i = 0; i < s->nr_updates; i++)
		ns += (double)make_plan(run, threads, s->updates[i] > 0).slice_ns;
	return ns;
}

static void measure(struct hashscale *run, unsigned threads)
{
	struct hashscale_job *jobs = options_alloc(run->count * run->settings->nr_updates, sizeof(*jobs));
	struct bench_plan plan[2] = { make_plan(run, threads, false), make_plan(run, threads, true) };
	size_t split, count = make_all_jobs(run, threads, jobs, &split);
	/* There may be none: what has no updates beside readers. */
	double lookups = round_ns(&plan[0], split), both = fmax(lookups + round_ns(&plan[1], count - split), 1e6), seconds;
	unsigned rounds, runs, mixed_runs;
	char name[32];

	snprintf(name, sizeof(name), "%u thread%s", threads, threads == 1 ? "" : "s");
	seconds = budget_next(share(run, threads), 2 * both / SHORTER_MOST / 1e9, name);
	if (seconds > 0) {
		rounds = rounds_in(plan, both, seconds);
		plan[0].most_ns = budget_most_ns(seconds * lookups / both);
		plan[1].most_ns = budget_most_ns(seconds * (1 - lookups / both));
		runs = measure_jobs(run, &plan[0], jobs, split, false, rounds);
		mixed_runs = measure_jobs(run, &plan[1], jobs + split, count - split, true, rounds);
		budget_runs(runs < mixed_runs ? runs : mixed_runs, name);
		printf("\n%s\n", name);
		report(run, jobs, count, count > split, threads);
	}
	free(jobs);
}

double hashscale_shares(const struct hashscale *run)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < run->opt->nr_threads; i++)
		sum += share(run, run->opt->threads[i]);
	return run->settings->reload ? 1 : sum * (hashscale_updates(run) ? 1 + SINGLE_SHARE : 1);
}

void hashscale_measure(struct hashscale *run)
{
	const struct options *opt = run->opt;
	unsigned most = options_most_threads(opt);
	size_t i;

	most = most > UPDATE_THREADS ? most : UPDATE_THREADS;
	done = bench_hash_alloc(most, sizeof(*done));
	run->pool = bench_pool_new(most);
	for (i = 0; i < opt->nr_threads; i++)
		measure(run, opt->threads[i]);
	if (hashscale_updates(run))
		measure_updates(run, hashscale_shares(run) * SINGLE_SHARE / (1 + SINGLE_SHARE));
	bench_pool_free(run->pool);
	free(done);
}
