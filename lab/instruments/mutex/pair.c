/* SPDX-License-Identifier: MIT */
/* lull mutexscale --uncontended: lock and unlock by one thread, when no other wants the lock. */
#include "instruments/mutex/mutexscale.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/cpus.h"
#include "common/figures.h"
#include "common/options.h"
#include "common/progress.h"
#include "engine/budget.h"
#include "engine/text_table.h"
#include "common/bench.h"
#include "engine/instructions.h"

#define BATCH_NS 100000.0
#define BATCHES_MIN 5.0
#define BATCHES_BEFORE 2 /* that do not count */
#define COUNTING 0.5 /* of the time, at most */

struct job {
	const struct bench_lock_scheme *scheme;
	unsigned batches;
	uint64_t pairs; /* in a batch */
	double ns;	/* of a pair, the median over batches */
};

static double batch(const struct job *job)
{
	uint64_t before = bench_now_ns();

	bench_sink(job->scheme->pairs(NULL, job->pairs));
	return (double)(bench_now_ns() - before) / (double)job->pairs;
}

static void *job_main(void *arg)
{
	struct job *job = arg;
	double *ns = options_alloc(job->batches, sizeof(*ns));
	unsigned i;

	bench_pin(0);
	job->pairs = 100;
	/* First use, predictors, and how many pairs are a batch. */
	job->pairs = (uint64_t)(BATCH_NS / (batch(job) + 1)) + 1;
	batch(job);
	for (i = 0; i < job->batches; i++)
		ns[i] = batch(job);
	job->ns = bench_stat_of(ns, job->batches).median;
	free(ns);
	return NULL;
}

/* A lock in single steps needs this process to have one thread. */
static void count_instructions(const struct mutexscale *m, double *instructions)
{
	size_t i;

	for (i = 0; i < m->count; i++) {
		instructions[i] = -1;
		if (i && budget_is_over(COUNTING)) {
			budget_leave_out("instructions of %s", m->locks[i]->name);
			continue;
		}
		bench_progress("mutexscale: counting instructions of %s", m->locks[i]->name);
		m->locks[i]->renew(m->locks[i]);
		instructions[i] = step_count(NULL, NULL, m->locks[i]->pairs, NULL);
	}
	bench_progress_clear();
}

static void print(const struct mutexscale *m, const struct bench_stat *ns,
		  const double *instructions)
{
	struct bench_table *table = bench_table_new("lock|ns per pair|x pthread|instructions");
	size_t i;

	printf("lock and unlock, one thread; instructions are counted by single steps\n\n");
	for (i = 0; i < m->count; i++) {
		json_t *row = jsonout_stat(m->json, m->locks[i]->name, 1, "pair", "ns", &ns[i]);
		bool counted = instructions[i] >= 0;

		jsonout_set(row, "instructions",
			    counted ? json_real(instructions[i]) : json_null());
		jsonout_set(row, "times_pthread", json_real(ns[i].median / ns[0].median));
		bench_cell(table, "%s", m->locks[i]->name);
		bench_cell_stat(table, &ns[i]);
		bench_cell_ratio(table, &ns[i], &ns[0]);
		if (counted)
			bench_cell(table, "%.0f", instructions[i]);
		else
			bench_cell(table, "n/a");
	}
	bench_table_print(table);
}

void mutexscale_pair(const struct mutexscale *m, double standard)
{
	double *values = options_alloc(m->count * m->runs, sizeof(*values));
	double instructions[MUTEXSCALE_LOCKS];
	struct bench_stat ns[MUTEXSCALE_LOCKS];
	size_t order[MUTEXSCALE_LOCKS], i;
	struct budget_rounds r;
	double seconds, batches;

	budget_begin(m->opt, standard, 1);
	count_instructions(m, instructions);
	seconds = budget_next(1, 0, "lock and unlock");
	batches = seconds * 1e9 / BATCH_NS / (double)(m->count * m->runs) - BATCHES_BEFORE;
	r = budget_rounds(seconds);
	while (budget_round(&r, 1, m->runs)) {
		bench_progress("mutexscale: uncontended, run %u of %u", r.done, m->runs);
		mutexscale_shuffle(order, m->count);
		for (i = 0; i < m->count; i++) {
			struct job job = { .scheme = m->locks[order[i]] };

			job.batches = (unsigned)(batches > BATCHES_MIN ? batches : BATCHES_MIN);
			job.scheme->renew(job.scheme);
			mutexscale_in_thread(job_main, &job);
			budget_planned(BATCH_NS * (job.batches + BATCHES_BEFORE));
			values[order[i] * m->runs + r.done - 1] = job.ns;
		}
	}
	bench_progress_clear();
	for (i = 0; i < m->count; i++)
		ns[i] = bench_stat_of(&values[i * m->runs], r.done);
	budget_runs(r.done, "lock and unlock");
	print(m, ns, instructions);
	free(values);
}
