/* SPDX-License-Identifier: MIT */
/*
 * lull mutexscale --wait1000: the benchmark of the letter that proposed FUTEX_SPIN: what 1000
 * waits for an owner take, by how long that is busy. The letter makes a thread for each wait, and
 * measures how long that takes more than anything else; here the owner is one thread.
 */
#include "engine/turns.h"
#include "instruments/mutex/mutexscale.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <lull/atomic.h>

#include "common/clock.h"
#include "common/cpus.h"
#include "common/figures.h"
#include "common/options.h"
#include "common/progress.h"
#include "engine/budget.h"
#include "engine/text_table.h"
#include "common/bench.h"

#define WAITS 1000u
#define WAITS_MIN 3u
#define OVERHEAD_US 30.0 /* of a wait: sleeping, waking, meeting again */

static const unsigned busy_us[] = { 2, 10, 50, 200, 1000, 8000 };

#define NR_BUSY (sizeof(busy_us) / sizeof(busy_us[0]))

/* One owner and one waiter; @waits times in turn. */
struct block {
	const struct bench_lock_scheme *scheme;
	uint64_t turns;
	uint64_t budget_ns;
	uint32_t waits;		/* at most; the waiter lowers it when the time is over */
	double total_us;	/* of 1000 waits */
	uint32_t held __attribute__((aligned(BENCH_LINE))); /* round that the owner has it */
	uint32_t done __attribute__((aligned(BENCH_LINE))); /* that the waiter had it */
};

/* Both are awake when a round begins: what the lock makes of that is measured. */
static void meet(const uint32_t *round, uint32_t which)
{
	unsigned spins = 0;

	while (lull_load_acquire(round) != which) {
		lull_cpu_relax();
		if (++spins > 1000)
			sched_yield();
	}
}

static void *owner_main(void *arg)
{
	struct block *b = arg;
	uint64_t x = 1;
	uint32_t i;

	/* On one CPU the waiter would not even ask before the owner is through. */
	bench_pin(1);
	for (i = 1;; i++) {
		meet(&b->done, i - 1);
		if (i > lull_load_relaxed(&b->waits))
			break;
		b->scheme->lock();
		lull_store_release(&b->held, i);
		x = bench_lock_work(x, b->turns);
		b->scheme->unlock();
	}
	bench_sink(x);
	return NULL;
}

static void *waiter_main(void *arg)
{
	struct block *b = arg;
	uint64_t sum = 0, begin = bench_now_ns();
	uint32_t i;

	bench_pin(0);
	for (i = 1; i <= b->waits; i++) {
		uint64_t before, after;

		meet(&b->held, i);
		before = bench_now_ns();
		b->scheme->lock();
		after = bench_now_ns();
		sum += after - before;
		b->scheme->unlock();
		if (i >= WAITS_MIN && after - begin > b->budget_ns && i < b->waits)
			lull_store_relaxed(&b->waits, i);
		lull_store_release(&b->done, i);
	}
	b->total_us = (double)sum / b->waits * WAITS / 1e3;
	return NULL;
}

static void *block_main(void *arg)
{
	pthread_t owner;

	if (pthread_create(&owner, NULL, owner_main, arg) != 0)
		options_fail("cannot make a thread");
	waiter_main(arg);
	pthread_join(owner, NULL);
	return NULL;
}

static double run_block(const struct bench_lock_scheme *scheme, unsigned us, double budget_us)
{
	double waits = budget_us / (us + OVERHEAD_US);
	struct block b = { .scheme = scheme, .turns = bench_turns(us * 1e3), .budget_ns = (uint64_t)(budget_us * 1e3) };

	b.waits = waits > WAITS ? WAITS : waits < WAITS_MIN ? WAITS_MIN : (uint32_t)waits;
	scheme->renew(scheme);
	mutexscale_in_thread(block_main, &b);
	budget_planned(1e3 * b.waits * (us + OVERHEAD_US));
	return b.total_us;
}

static void print(const struct mutexscale *m, const struct bench_stat (*total)[MUTEXSCALE_LOCKS])
{
	size_t futex = mutexscale_find(m, "futex"), i, j;
	size_t base = futex < m->count ? futex : 0;

	for (j = 0; j < NR_BUSY; j++) {
		struct bench_table *table;
		char *header = options_printf("lock|ms for 1000 waits|x %s", m->locks[base]->name);

		printf("\nowner busy for %u us\n", busy_us[j]);
		table = bench_table_new(header);
		free(header);
		for (i = 0; i < m->count; i++) {
			struct bench_stat ms = bench_stat_scale(total[j][i], 1e-3);
			json_t *row = jsonout_stat(m->json, m->locks[i]->name, 2, "wait1000", "us",
						   &total[j][i]);

			jsonout_set(row, "busy_us", json_integer(busy_us[j]));
			jsonout_set(row, "times_base",
				    json_real(total[j][i].median / total[j][base].median));
			jsonout_set(row, "base", json_string(m->locks[base]->name));
			bench_cell(table, "%s", m->locks[i]->name);
			bench_cell_stat(table, &ms);
			bench_cell_ratio(table, &total[j][i], &total[j][base]);
		}
		bench_table_print(table);
	}
}

/* Run all locks with an owner that is busy for so long; the figure of lock i is values[i * stride]. */
static void run_locks(const struct mutexscale *m, unsigned us, double budget_us, double *values, size_t stride)
{
	size_t order[MUTEXSCALE_LOCKS], i;

	mutexscale_shuffle(order, m->count);
	for (i = 0; i < m->count; i++)
		values[order[i] * stride] = run_block(m->locks[order[i]], us, budget_us);
}

void mutexscale_wait(const struct mutexscale *m, double standard)
{
	double *values = options_alloc(NR_BUSY * m->count * m->runs, sizeof(*values));
	struct bench_stat total[NR_BUSY][MUTEXSCALE_LOCKS];
	double seconds, budget_us;
	struct budget_rounds r;
	size_t i, j;

	budget_begin(m->opt, standard, 1);
	seconds = budget_next(1, 0, "waits");
	budget_us = seconds * 1e6 / (double)(m->count * NR_BUSY) / m->runs;
	r = budget_rounds(seconds);
	while (budget_round(&r, 1, m->runs))
		for (j = 0; j < NR_BUSY; j++) {
			bench_progress("mutexscale: owner busy for %u us, run %u of %u", busy_us[j], r.done, m->runs);
			run_locks(m, busy_us[j], budget_us, &values[j * m->count * m->runs + r.done - 1], m->runs);
		}
	bench_progress_clear();
	budget_runs(r.done, "waits");
	for (j = 0; j < NR_BUSY; j++)
		for (i = 0; i < m->count; i++)
			total[j][i] = bench_stat_of(&values[(j * m->count + i) * m->runs], r.done);
	printf("one thread has the lock, is busy and gives it back; another waits for it each "
	       "time\n");
	print(m, (const struct bench_stat(*)[MUTEXSCALE_LOCKS])total);
	free(values);
}
