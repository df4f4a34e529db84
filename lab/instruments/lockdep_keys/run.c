/* SPDX-License-Identifier: MIT */
/* lull keyscale: the threads, and what comes of them; see keyscale.h. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <lull/hazptr.h>

#include "common/clock.h"
#include "common/figures.h"
#include "common/bench.h"
#include "engine/rounds.h"
#include "hash_scheme.h"
#include "instruments/lockdep_keys/keyscale.h"

#define SAMPLES (1u << 20) /* single times that are kept per scheme */
#define CHUNK_NS 20000u

/* Work of one worker in this slice; for lookups, warming up included. */
struct worker {
	struct keyscale_reader reader;
	uint64_t ops, ns;
	uint64_t *sample;
	size_t samples;
} __attribute__((aligned(BENCH_LINE)));

/*
 * A scheme in one setup. First come the workers that unregister, then the lookups, last the
 * unrelated one.
 */
struct job {
	const struct keyscale_scheme *scheme;
	struct keyscale_table *table;
	struct worker *worker;
	unsigned updaters, lookups;
	bool unrelated;
	size_t samples_per_slice; /* and updater */
	/* The controlling thread's alone: */
	uint64_t *sample;
	size_t samples;
	double *ms, *per_second; /* slice by slice */
	unsigned slices;
	uint64_t met_freed;
};

/*
 * Each unregistration begins while the unrelated thread, if there is one, protects something: it
 * may have to be given the CPU for that. False: it is gone, the slice is over.
 */
static bool meets_unrelated(const struct job *job)
{
	uint32_t presence;

	if (!job->unrelated)
		return true;
	for (;;) {
		presence = lull_load_relaxed(
			&job->worker[job->updaters + job->lookups].reader.presence);
		if (presence != KEYSCALE_OUTSIDE)
			return presence == KEYSCALE_INSIDE;
		sched_yield();
	}
}

/*
 * At most CHUNK_NS: how many there are in a chunk is found out while they are fast, and they may
 * become a thousand times slower. And at least one in the slice.
 */
static uint64_t unregister_body(struct bench_thread *t, const struct job *job, uint64_t n)
{
	struct worker *w = &job->worker[t->index];
	uint64_t start = bench_now_ns(), took, i;

	for (i = 0; i < n && bench_now_ns() - start < CHUNK_NS; i++) {
		if (!meets_unrelated(job) && w->ops)
			break;
		took = keyscale_renew(job->scheme, job->table, t->index, &t->rng);
		w->ops++;
		w->ns += took;
		if (w->samples < job->samples_per_slice)
			w->sample[w->samples++] = took;
	}
	return i;
}

static uint64_t lookup_body(struct bench_thread *t, const struct job *job, uint64_t n)
{
	struct worker *w = &job->worker[t->index];
	uint64_t start = bench_now_ns(), found = 0, i;

	for (i = 0; i < n; i++)
		found += keyscale_lookup(job->scheme, job->table, &w->reader, &t->rng);
	w->ops += n;
	w->ns += bench_now_ns() - start;
	return found;
}

static uint64_t job_body(struct bench_thread *t, void *arg, uint64_t n)
{
	const struct job *job = arg;
	uint64_t i;

	if (t->index < job->updaters)
		return unregister_body(t, job, n);
	if (t->index < job->updaters + job->lookups)
		return lookup_body(t, job, n);
	for (i = 0; i < n; i++)
		keyscale_stay(job->scheme, job->table, &job->worker[t->index].reader);
	return n;
}

static void job_enter(struct bench_thread *t, void *arg)
{
	struct keyscale_reader *r = &((struct job *)arg)->worker[t->index].reader;

	r->slot[0] = lull_hazptr_alloc(lull_hazptr_thread_context());
	r->slot[1] = lull_hazptr_alloc(lull_hazptr_thread_context());
}

static void job_leave(struct bench_thread *t, void *arg)
{
	struct keyscale_reader *r = &((struct job *)arg)->worker[t->index].reader;

	lull_store_relaxed(&r->presence, KEYSCALE_GONE);
	lull_hazptr_free(lull_hazptr_thread_context(), r->slot[1]);
	lull_hazptr_free(lull_hazptr_thread_context(), r->slot[0]);
}

static void job_before(void *arg, unsigned threads)
{
	struct job *job = arg;
	unsigned i;

	for (i = 0; i < threads; i++) {
		struct worker *w = &job->worker[i];

		w->ops = w->ns = w->samples = w->reader.met_freed = 0;
		w->reader.presence = KEYSCALE_OUTSIDE;
	}
}

static void job_after(void *arg, unsigned threads, uint64_t ops, uint64_t ns)
{
	double per_second = 0, updaters_per_second = 0;
	struct job *job = arg;
	unsigned i;

	(void)ops;
	(void)ns;
	for (i = 0; i < threads; i++) {
		const struct worker *w = &job->worker[i];
		double here = keyscale_per_second(w->ops, w->ns);

		job->met_freed += w->reader.met_freed;
		if (i >= job->updaters) {
			per_second += i < job->updaters + job->lookups ? here : 0;
			continue;
		}
		updaters_per_second += here;
		/* Leave out the slice before the first run, which is for warming up. */
		if (job->slices) {
			memcpy(job->sample + job->samples, w->sample,
			       w->samples * sizeof(*w->sample));
			job->samples += w->samples;
		}
	}
	job->per_second[job->slices] = per_second;
	job->ms[job->slices] = keyscale_ms_for_1000(updaters_per_second);
	job->slices++;
}

/* ---- measuring ------------------------------------------------------------------------------- */

unsigned keyscale_threads(const struct keyscale_shape *shape, enum keyscale_setup setup,
			  unsigned lookups)
{
	return shape->updaters +
	       (setup == KEYSCALE_IDLE ? 0 : lookups + (setup == KEYSCALE_UNRELATED));
}

static void finish_job(struct job *job, struct keyscale_result *result)
{
	unsigned runs = job->slices - 1;

	result->ms = bench_stat_of(job->ms + 1, runs);
	result->one = bench_latency_of(job->sample, job->samples);
	result->per_second = bench_stat_of(job->per_second + 1, job->lookups ? runs : 0);
	result->met_freed = job->met_freed;
	free(job->sample);
	free(job->ms);
	free(job->per_second);
}

/* Allocate the workers of one slice, with room for @samples for each thread that unregisters. */
static struct worker *new_workers(unsigned threads, unsigned updaters, size_t samples)
{
	struct worker *workers = bench_hash_alloc(threads, sizeof(*workers));
	unsigned i;

	for (i = 0; i < updaters; i++)
		workers[i].sample = options_alloc(samples, sizeof(uint64_t));
	return workers;
}

static void free_workers(struct worker *workers, unsigned updaters)
{
	while (updaters)
		free(workers[--updaters].sample);
	free(workers);
}

unsigned keyscale_measure(struct bench_pool *pool, const struct options *opt, double seconds,
			  struct keyscale_table *table, enum keyscale_setup setup, unsigned lookups,
			  const struct keyscale_scheme *const *schemes, size_t count,
			  struct keyscale_result *results)
{
	unsigned updaters = keyscale_shape(table)->updaters;
	unsigned threads = keyscale_threads(keyscale_shape(table), setup, lookups);
	struct bench_plan plan = rounds_plan(opt, threads, seconds, count);
	size_t samples = SAMPLES / plan.runs / updaters + 1, s;
	struct worker *workers = new_workers(threads, updaters, samples);
	struct bench_result ignored[KEYSCALE_SCHEMES];
	struct bench_case cases[KEYSCALE_SCHEMES];
	struct job jobs[KEYSCALE_SCHEMES];

	for (s = 0; s < count; s++) {
		jobs[s] = (struct job){
			.scheme = schemes[s],
			.table = table,
			.worker = workers,
			.updaters = updaters,
			.lookups = setup == KEYSCALE_IDLE ? 0 : lookups,
			.unrelated = setup == KEYSCALE_UNRELATED,
			.samples_per_slice = samples,
			.sample = options_alloc(samples * plan.runs * updaters, sizeof(uint64_t)),
			.ms = options_alloc(plan.runs + 1, sizeof(double)),
			.per_second = options_alloc(plan.runs + 1, sizeof(double)),
		};
		cases[s] = (struct bench_case){
			.name = keyscale_name(schemes[s]),
			.arg = &jobs[s],
			.enter = job_enter,
			.body = job_body,
			.leave = job_leave,
			.before = job_before,
			.after = job_after,
		};
	}
	bench_measure(pool, &plan, cases, count, ignored);
	for (s = 0; s < count; s++)
		finish_job(&jobs[s], &results[s]);
	free_workers(workers, updaters);
	return ignored[0].runs;
}
