/* SPDX-License-Identifier: MIT */
/* lull rcuscale: rows that take turns until the time of their table is over; see rcuscale.h. */
#include "instruments/rcu/rcuscale.h"

#include "common/clock.h"
#include "common/progress.h"
#include "engine/budget.h"

#define BLOCK_SECONDS 0.005 /* at least: it makes its threads first */

unsigned rcuscale_rounds_in(double seconds, unsigned rounds, size_t count)
{
	double most = seconds / (BLOCK_SECONDS * (double)count);

	if (budget_is_short() || most >= rounds)
		return rounds;
	return most < 1 ? 1 : (unsigned)most;
}

/* Run the blocks of a round. Return how many rows got theirs: all, but in the first round, when all time is over. */
static size_t one_round(const struct rcuscale_rounds *r, unsigned round, unsigned rounds, uint64_t budget_ns)
{
	uint64_t from, took;
	size_t i;

	for (i = 0; i < r->count && (round || !i || !budget_is_over(1)); i++) {
		bench_progress("rcuscale: %s, %s, round %u of %u", r->title, r->name(r->rows, i), round + 1, rounds);
		from = bench_now_ns();
		r->block(r->rows, i, budget_ns);
		took = bench_now_ns() - from;
		budget_planned((double)(took < budget_ns ? took : budget_ns));
	}
	return i;
}

void rcuscale_rounds(const struct rcuscale_rounds *r)
{
	unsigned rounds = rcuscale_rounds_in(r->seconds, r->rounds, r->count);
	uint64_t ns = (uint64_t)(r->seconds * 1e9);
	struct budget_rounds taken = budget_rounds(r->seconds);
	size_t i = r->count;

	if (!r->count)
		return;
	while (i == r->count && budget_round(&taken, 1, rounds))
		i = one_round(r, taken.done - 1, rounds, ns / rounds / r->count);
	bench_progress_clear();
	for (; i < r->count; i++)
		budget_leave_out("%s, %s", r->title, r->name(r->rows, i));
	budget_runs(taken.done, r->title);
}
