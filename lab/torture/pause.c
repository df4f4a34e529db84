/* SPDX-License-Identifier: MIT */
/* lull torture: pauses, and conditions that change. See run.h. */
#include "common/cpus.h"
#include "torture/run.h"

#include <sched.h>

#include <lull/reclaim.h>

/* Stop all threads, and look. */
void torture_pause_all(void)
{
	if (torture_park_all()) {
		torture_settle("in a pause");
		torture_limit_meet();
		lull_store_relaxed(&torture.pauses, torture.pauses + 1);
	}
	torture_unpark();
}

/* ---- changing conditions --------------------------------------------------------------------- */

/*
 * Half of the time one reader and one updater have the machine for themselves: only threads that
 * really run at the same time find what needs exact timing. Otherwise any number.
 */
void torture_change_activity(uint64_t *rng)
{
	bool duet = torture_once_in(rng, 2);

	lull_store_relaxed(&torture.active_readers,
			   duet ? 1u : 1 + (uint32_t)torture_random(rng, torture.readers));
	lull_store_relaxed(&torture.active_updaters,
			   duet ? 1u : 1 + (uint32_t)torture_random(rng, torture.updaters));
}

static void set_affinity(uint32_t tid, int cpu)
{
	cpu_set_t set;
	unsigned i;

	CPU_ZERO(&set);
	for (i = 0; i < bench_cpus(); i++)
		if ((cpu < 0 || bench_cpu(i) == cpu) && bench_cpu(i) >= 0 &&
		    bench_cpu(i) < CPU_SETSIZE)
			CPU_SET((size_t)bench_cpu(i), &set);
	/* Refused, or too many CPUs for the set: then it stays where it is. */
	sched_setaffinity((pid_t)tid, sizeof(set), &set);
}

/* Pin all threads to one CPU, or each to a random one, or set all free again. */
void torture_shuffle(uint64_t *rng)
{
	uint64_t how = torture_random(rng, 4);
	int one = bench_cpu((unsigned)torture_random(rng, bench_cpus()));
	unsigned i;

	for (i = 0; i < torture.nr_threads; i++) {
		uint32_t tid = lull_load_relaxed(&torture.threads[i].tid);

		if (!tid)
			continue;
		if (how == 0)
			set_affinity(tid, one);
		else if (how == 1)
			set_affinity(tid, bench_cpu((unsigned)torture_random(rng, bench_cpus())));
		else
			set_affinity(tid, -1);
	}
}

void torture_change_reclaim(uint64_t *rng)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.mode = (enum lull_reclaim_mode)torture_random(rng, 3);
	if (torture_once_in(rng, 2)) {
		config.on_hard = LULL_RECLAIM_HELP;
		config.soft_items = 100 + (size_t)torture_random(rng, 1000);
		config.hard_items = config.soft_items * 2;
	}
	config.linger_ms = 1 + (uint32_t)torture_random(rng, 20);
	if (lull_reclaim_configure(&config) != 0)
		torture_fail("lull_reclaim_configure() refuses a configuration that is in order");
}
