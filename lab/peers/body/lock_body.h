/* SPDX-License-Identifier: MIT */
/*
 * The measured loops around one lock. Included once per file, after lock_acquire(), lock_release()
 * and lock_renew() of struct bench_lock_scheme; LOCK_SCHEME(symbol, name, what, oracle) then
 * defines what mutexscale finds.
 */
#include <lull/atomic.h>

#include "lock_scheme.h"

static void lock_contend(struct bench_lock_plan *plan, struct bench_lock_thread *t)
{
	uint64_t asked, got;
	uint32_t phase;

	for (;;) {
		bench_lock_outside(plan, t);
		phase = lull_load_relaxed(&plan->phase);
		if (phase == BENCH_LOCK_STOP)
			return;
		asked = bench_lock_ticks();
		lock_acquire();
		got = bench_lock_ticks();
		bench_lock_inside(plan, t);
		lock_release();
		if (phase == BENCH_LOCK_COUNT)
			bench_lock_waits_note(&t->waits, got > asked ? got - asked : 0);
	}
}

static uint64_t lock_pairs(void *arg, uint64_t n)
{
	(void)arg;
	for (; n; n--) {
		lock_acquire();
		lock_release();
	}
	return n;
}

static void lock_lock(void)
{
	lock_acquire();
}

static void lock_unlock(void)
{
	lock_release();
}

#define LOCK_SCHEME(symbol, its_name, its_what, its_oracle) \
	const struct bench_lock_scheme symbol = {           \
		.name = (its_name),                         \
		.what = (its_what),                         \
		.oracle = (its_oracle),                     \
		.renew = lock_renew,                        \
		.contend = lock_contend,                    \
		.pairs = lock_pairs,                        \
		.lock = lock_lock,                          \
		.unlock = lock_unlock,                      \
	}
