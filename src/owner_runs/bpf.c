/* SPDX-License-Identifier: MIT */
/*
 * bpf.c - the oracle that reads which thread runs on each CPU from the table of bpf_table.h.
 */
#include <sched.h>

#include "../base/deadline.h"
#include "../base/registry.h"
#include "../base/rseq_use.h"
#include "bpf_table.h"
#include "owner.h"
#include "owner_runs.h"

#define SWITCH_NS 100000u

/* Which thread runs on each CPU. NULL, or 0 CPUs, until there is a table: a thread may see either first. */
static const uint64_t *running;
static unsigned running_cpus;

static enum lull__runs bpf_runs(struct lull__sighting *sighting, uint32_t tid)
{
	const uint64_t *table = lull_load_relaxed(&running);
	bool seen = false;
	int cpu = lull__owner_cpu(tid, &seen);

	if (cpu < 0 || !seen || !table || (unsigned)cpu >= lull_load_relaxed(&running_cpus))
		return lull__oracle_rseq_runs(sighting, tid);
	return (uint32_t)lull_load_relaxed(&table[cpu]) == tid ? LULL__RUNS_YES : LULL__RUNS_NO;
}

/*
 * Make the kernel report that this thread runs, if it has missed that (its tracing has gaps). A thread that is alone on
 * its CPU must sleep, as a yield does not switch threads there; but not by nanosleep(), which is a cancellation point.
 */
static void be_switched(bool sleeps)
{
	uint32_t nobody_wakes = 0;

	if (sleeps)
		lull__futex_wait(&nobody_wakes, 0, lull__now_ns() + SWITCH_NS);
	else
		sched_yield();
}

/* Does the table have this thread at its CPU? It does not in another PID namespace, for example. */
static bool table_knows_me(const uint64_t *table, unsigned cpus)
{
	const uint32_t *word = lull__rseq_cpu();
	uint32_t tid = lull__gettid();

	/* Between the two loads the thread may be moved to another CPU; but not each time. */
	for (int i = 0; word && i < 100; i++) {
		uint32_t cpu = lull_load_relaxed(word);

		if (cpu < cpus && (uint32_t)lull_load_relaxed(&table[cpu]) == tid)
			return true;
		be_switched(i % 10 == 9);
	}
	return false;
}

static bool bpf_usable(void)
{
	const uint64_t *table = lull_load_relaxed(&running), *nothing = NULL;
	unsigned cpus = lull_load_relaxed(&running_cpus);

	if (!table && (table = lull__bpf_running(&cpus))) {
		/* If two threads choose at the same time, one of the mappings stays unused. */
		lull_store_relaxed(&running_cpus, cpus);
		(void)lull_cas_relaxed(&running, &nothing, table);
	}
	return table && table_knows_me(table, cpus);
}

/*
 * Record whether the table has this thread. A table can be out of date: the kernel does not report each thread that
 * stops running (its tracing has gaps).
 */
static void bpf_acquired(void)
{
	const uint64_t *table;
	bool seen;
	int cpu;

	table = lull_load_relaxed(&running);
	cpu = lull__owner_my_cpu();
	seen = table && cpu >= 0 && (unsigned)cpu < lull_load_relaxed(&running_cpus) &&
	       (uint32_t)lull_load_relaxed(&table[cpu]) == lull__self.tid;
	lull__owner_set_seen(seen);
}

const struct lull__oracle lull__oracle_bpf = {
	.name = "bpf",
	.when_asked = true,
	.usable = bpf_usable,
	.runs = bpf_runs,
	.acquired = bpf_acquired,
};
