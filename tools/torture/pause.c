/* SPDX-License-Identifier: MIT */
/* lull torture: pauses in which everything must have come home, and conditions that change. See torture.h. */
#include "torture/run.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include <lull/reclaim.h>

#include "engine/bench.h"

#define PARK_NS 20000000

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned parked;
} park = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

void torture_pause_point(void)
{
	if (!lull_load_acquire(&torture.pausing))
		return;
	pthread_mutex_lock(&park.lock);
	park.parked++;
	lull_store_relaxed(&torture_me->rests, 1u);
	pthread_cond_broadcast(&park.changed);
	while (lull_load_relaxed(&torture.pausing) && !torture_stopped())
		pthread_cond_wait(&park.changed, &park.lock);
	lull_store_relaxed(&torture_me->rests, 0u);
	park.parked--;
	pthread_mutex_unlock(&park.lock);
}

void torture_settle(const char *when)
{
	if (torture.flavor->settle)
		torture.flavor->settle();
	if (torture.flavor->barrier)
		torture.flavor->barrier();
	torture_pool_check(when);
	torture_debris_check(when);
	if (torture.flavor->check)
		torture.flavor->check(when);
}

/* Somebody has to, where callbacks are left to the program: who waits may wait for one. */
void torture_poll_callbacks(void)
{
	lull_reclaim_poll(100, 1000000);
}

/* Everybody stops. */
void torture_pause_all(void)
{
	bool all = false;

	pthread_mutex_lock(&park.lock);
	lull_store_release(&torture.pausing, 1u);
	while (!torture_stopped() && !all) {
		struct timespec soon;

		/* Whoever fails tells nobody here. */
		clock_gettime(CLOCK_REALTIME, &soon);
		soon.tv_nsec += PARK_NS;
		soon.tv_sec += soon.tv_nsec / 1000000000;
		soon.tv_nsec %= 1000000000;
		all = park.parked == torture.nr_threads;
		if (!all && pthread_cond_timedwait(&park.changed, &park.lock, &soon) == ETIMEDOUT) {
			pthread_mutex_unlock(&park.lock);
			torture_poll_callbacks();
			pthread_mutex_lock(&park.lock);
		}
	}
	pthread_mutex_unlock(&park.lock);
	if (all) {
		torture_settle("in a pause");
		torture_limit_meet();
		lull_store_relaxed(&torture.pauses, torture.pauses + 1);
	}
	pthread_mutex_lock(&park.lock);
	lull_store_release(&torture.pausing, 0u);
	pthread_cond_broadcast(&park.changed);
	pthread_mutex_unlock(&park.lock);
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

/* Everybody on one CPU, each thread on one of its own choice, or all free again. */
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
