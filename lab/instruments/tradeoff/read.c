/* SPDX-License-Identifier: MIT */
/* lull tradeoff: what a get and a put cost, all threads on one object. */
#include "common/bench.h"
#include "engine/budget.h"
#include "instruments/tradeoff/ways.h"

struct shared_object {
	const struct tradeoff_scheme *scheme;
	struct tradeoff_cell cell __attribute__((aligned(BENCH_LINE)));
};

static uint64_t body(struct bench_thread *t, void *arg, uint64_t n)
{
	struct shared_object *shared = arg;

	(void)t;
	return shared->scheme->get_put(&shared->cell, n);
}

unsigned tradeoff_measure_read(struct tradeoff_run *run, size_t at)
{
	static struct shared_object shared[TRADEOFF_SCHEMES];
	unsigned threads = run->result->threads[at];
	struct bench_pool *pool = bench_pool_new(threads);
	struct bench_case cases[TRADEOFF_SCHEMES];
	struct bench_result results[TRADEOFF_SCHEMES] = { 0 };
	struct bench_plan plan;
	size_t of[TRADEOFF_SCHEMES], count = 0, i;

	for (i = 0; i < TRADEOFF_SCHEMES; i++) {
		if (!run->chosen[i])
			continue;
		shared[i].scheme = tradeoff_schemes[i];
		shared[i].cell.object = tradeoff_schemes[i]->make(run->work.size);
		of[count] = i;
		cases[count++] = (struct bench_case){
			.name = tradeoff_schemes[i]->name,
			.arg = &shared[i],
			.body = body,
		};
	}
	plan = bench_plan_for(threads, run->opt->runs, run->seconds, count);
	plan.most_ns = budget_most_ns(run->seconds);
	plan.label = "tradeoff: readers";
	bench_measure(pool, &plan, cases, count, results);
	for (i = 0; i < count; i++)
		run->result->scheme[of[i]].read[at] = results[i].ns;
	bench_pool_free(pool);
	return results[0].runs;
}
