/* SPDX-License-Identifier: MIT */
/* Do the work under a lock and outside, and collect the distribution of waits; see lock_scheme.h. */
#include <lull/atomic.h>

#include "common/bench.h"
#include "lock_scheme.h"

/* ---- waits ---- */

static unsigned bucket_of(uint64_t ticks)
{
	unsigned shift;

	if (ticks < BENCH_LOCK_STEPS)
		return (unsigned)ticks;
	shift = 63u - (unsigned)__builtin_clzll(ticks) - 4;
	return (shift + 1) * BENCH_LOCK_STEPS + (unsigned)(ticks >> shift) % BENCH_LOCK_STEPS;
}

/* The first number of ticks that is not in it. */
static double bucket_end(unsigned bucket)
{
	unsigned shift = bucket / BENCH_LOCK_STEPS;

	if (!shift)
		return bucket + 1;
	return (double)(BENCH_LOCK_STEPS + bucket % BENCH_LOCK_STEPS + 1) *
	       (double)(1ull << (shift - 1));
}

void bench_lock_waits_note(struct bench_lock_waits *w, uint64_t ticks)
{
	w->count++;
	w->sum += ticks;
	w->max = ticks > w->max ? ticks : w->max;
	w->bucket[bucket_of(ticks)]++;
}

void bench_lock_waits_add(struct bench_lock_waits *to, const struct bench_lock_waits *w)
{
	unsigned i;

	to->count += w->count;
	to->sum += w->sum;
	to->max = w->max > to->max ? w->max : to->max;
	for (i = 0; i < BENCH_LOCK_BUCKETS; i++)
		to->bucket[i] += w->bucket[i];
}

double bench_lock_waits_above(const struct bench_lock_waits *w, double share)
{
	uint64_t longer = 0, most = (uint64_t)(share * (double)w->count);
	unsigned i = BENCH_LOCK_BUCKETS;

	while (i && longer + w->bucket[i - 1] <= most)
		longer += w->bucket[--i];
	if (!i || bucket_end(i - 1) > (double)w->max)
		return (double)w->max;
	return bucket_end(i - 1);
}

/* ---- work ---- */

__attribute__((noinline)) uint64_t bench_lock_work(uint64_t x, uint64_t turns)
{
	for (; turns; turns--)
		x = x * 0x5851f42d4c957f2du + 1;
	return x;
}

static uint64_t random32(struct bench_lock_thread *t)
{
	return bench_random(&t->rng) >> 32;
}

void bench_lock_outside(const struct bench_lock_plan *plan, struct bench_lock_thread *t)
{
	t->turns = plan->section;
	if (plan->longer_share && random32(t) < plan->longer_share)
		t->turns += plan->longer;
	t->sleep_ns = plan->sleep_share && random32(t) < plan->sleep_share ? plan->sleep_ns : 0;
	t->sink = bench_lock_work(t->sink, random32(t) * plan->outside >> 32);
}

void bench_lock_inside(struct bench_lock_plan *plan, struct bench_lock_thread *t)
{
	plan->guarded++;
	t->sections++;
	t->sink = bench_lock_work(t->sink, t->turns);
	if (lull_unlikely(t->sleep_ns))
		bench_sleep_ns(t->sleep_ns);
}
