/* SPDX-License-Identifier: MIT */
/*
 * owner_runs.c - choose an oracle, and ask it; the two oracles that are always there, rseq and none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/events.h"
#include "../base/hooks.h"
#include "../base/message.h"
#include "../base/process.h"
#include "../base/rseq_use.h"
#include "owner.h"
#include "owner_runs.h"

uint32_t lull__spinners_max;

static const struct lull__oracle *chosen = &lull__oracle_none;
static bool decided;	    /* else at the first lock */
static bool tells_releases; /* one that was chosen, now or before, is told of releases */

/* ---- rseq: where the kernel writes the CPU that a thread runs on ----------------------------- */

/* Each waiter increments the counter of the CPU that it spins on. CPUs with higher numbers share counters. */
#define BEATS 256

static struct {
	uint32_t count, tid;
	char pad[LULL__CACHELINE - 8];
} beats[BEATS] __attribute__((aligned(LULL__CACHELINE)));

/* Increment the counter of @cpu. Not exact if two waiters do it at the same time; it only has to change. */
static void beat(int cpu)
{
	unsigned at = (unsigned)cpu % BEATS;

	lull_store_relaxed(&beats[at].tid, lull__self.tid);
	lull_store_relaxed(&beats[at].count, lull_load_relaxed(&beats[at].count) + 1);
}

/*
 * Has another waiter run on @cpu, where @tid was last seen, since the calling waiter first saw it there?
 * Then @tid does not run: to run again it would have to be on another CPU. Or it has come back to @cpu in
 * between; then the calling waiter is wrong and sleeps once too often.
 */
static bool displaced(struct lull__sighting *sighting, uint32_t tid, int cpu)
{
	unsigned at = (unsigned)cpu % BEATS;
	uint32_t count = lull_load_relaxed(&beats[at].count);
	bool same = sighting->tid == tid && sighting->cpu == (uint32_t)cpu;
	bool moved = same && count != sighting->beats && lull_load_relaxed(&beats[at].tid) != tid;

	if (!same)
		*sighting = (struct lull__sighting){ .tid = tid, .cpu = (uint32_t)cpu, .beats = count };
	return moved;
}

enum lull__runs lull__oracle_rseq_runs(struct lull__sighting *sighting, uint32_t tid)
{
	int mine = lull__owner_my_cpu(), cpu;
	bool seen;

	if (mine < 0)
		return LULL__RUNS_UNKNOWN;
	beat(mine);
	cpu = lull__owner_cpu(tid, &seen);
	if (cpu < 0)
		return LULL__RUNS_UNKNOWN;
	if (cpu == mine || displaced(sighting, tid, cpu))
		return LULL__RUNS_NO;
	return LULL__RUNS_BELIEVED;
}

bool lull__oracle_rseq_usable(void)
{
	return lull__rseq_cpu() != NULL;
}

const struct lull__oracle lull__oracle_rseq = {
	.name = "rseq",
	.inline_locks = true,
	.usable = lull__oracle_rseq_usable,
	.runs = lull__oracle_rseq_runs,
};

/* ---- none: knows nothing --------------------------------------------------------------------- */

static enum lull__runs none_runs(struct lull__sighting *sighting, uint32_t tid)
{
	(void)sighting;
	(void)tid;
	return LULL__RUNS_UNKNOWN;
}

static bool none_usable(void)
{
	return true;
}

const struct lull__oracle lull__oracle_none = {
	.name = "none",
	.inline_locks = true,
	.usable = none_usable,
	.runs = none_runs,
};

/* ---- the choice ------------------------------------------------------------------------------ */

static const struct lull__oracle *by_name(const char *name)
{
	for (const struct lull__oracle *const *at = lull__oracles; *at; at++)
		if (strcmp(name, (*at)->name) == 0)
			return *at;
	return NULL;
}

static const struct lull__oracle *first_usable(void)
{
	const struct lull__oracle *const *at = lull__oracles;

	while ((*at)->when_asked || !(*at)->usable())
		at++; /* ends at `none`, if not before */
	return *at;
}

/* Put the names of all oracles in @buf: "rseq, bpf or none". */
static const char *all_names(char *buf, size_t size)
{
	buf[0] = '\0';
	for (const struct lull__oracle *const *at = lull__oracles; *at; at++) {
		strncat(buf, at == lull__oracles ? "" : at[1] ? ", " : " or ", size - strlen(buf) - 1);
		strncat(buf, (*at)->name, size - strlen(buf) - 1);
	}
	return buf;
}

/*
 * One waiter spins to take over in time, a few more bridge the time that it takes to wake a sleeper. More would only
 * take the lock's cache line away from the owner.
 */
#define SPINNERS_MOST 3

/* Never count less than before: what this thread may run on need not be all that others may. */
static void count_cpus(void)
{
	unsigned cpus = lull__cpus_allowed(), spinners = cpus > SPINNERS_MOST ? SPINNERS_MOST : cpus - 1;

	if (spinners > lull_load_relaxed(&lull__spinners_max))
		lull_store_relaxed(&lull__spinners_max, spinners);
}

static void choose(const struct lull__oracle *choice)
{
	count_cpus();
	if (choice->released)
		lull_store_relaxed(&tells_releases, true);
	lull_store_relaxed(&chosen, choice);
	lull_store_relaxed(&decided, true);
}

void lull__oracle_decide(void)
{
	if (!lull_load_relaxed(&decided))
		choose(first_usable());
}

void lull__oracle_init(void)
{
	const char *forced = getenv("LULL_OWNER_ORACLE");
	const struct lull__oracle *choice;
	char names[64];

	decided = false;
	if (!forced || !*forced)
		return; /* at the first lock: a process that only loads the library asks the kernel for nothing */
	choice = by_name(forced);
	if (!choice)
		lull__say("LULL_OWNER_ORACLE is \"%.60s\", which is ignored; it can be %s", forced,
			  all_names(names, sizeof(names)));
	else if (!choice->usable())
		lull__say("LULL_OWNER_ORACLE is %s, which is not available here and is ignored", forced);
	else
		choose(choice);
}

const char *lull_mutex_oracle_name(void)
{
	lull__init();
	lull__oracle_decide();
	return lull_load_relaxed(&chosen)->name;
}

int lull_mutex_choose_oracle(const char *name)
{
	const struct lull__oracle *choice = by_name(name);

	lull__init();
	if (!choice)
		return -EINVAL;
	if (!choice->usable())
		return -ENOTSUP;
	choose(choice);
	return 0;
}

/* ---- ask the oracle, and tell it of locks ---------------------------------------------------- */

enum lull__runs lull__oracle_runs(struct lull__sighting *sighting, uint32_t tid)
{
	return lull_load_relaxed(&chosen)->runs(sighting, tid);
}

bool lull__oracle_waits(void)
{
	return lull_load_relaxed(&chosen)->wait;
}

int lull__oracle_wait(uint32_t *word, uint32_t value, uint32_t bitset, uint64_t deadline_ns, bool shared)
{
	const struct lull__oracle *oracle = lull_load_relaxed(&chosen);

	return oracle->wait ? oracle->wait(word, value, bitset, deadline_ns, shared) :
			      lull__futex_wait_bits(word, value, bitset, deadline_ns, shared);
}

bool lull__oracle_inline_locks(void)
{
	return lull_load_relaxed(&chosen)->inline_locks;
}

bool lull__oracle_slice_over(void)
{
	const struct lull__oracle *oracle = lull_load_relaxed(&chosen);

	return oracle->slice_over && oracle->slice_over();
}

void lull__oracle_thread_enter(void)
{
	const struct lull__oracle *oracle = lull_load_relaxed(&chosen);

	if (oracle->thread_enter)
		oracle->thread_enter();
}

void lull__oracle_tries(void)
{
	const struct lull__oracle *oracle = lull_load_relaxed(&chosen);

	if (lull_unlikely(oracle->tries != NULL))
		oracle->tries();
}

/* The thread that loaded the library may have been pinned, or the process. So count again now and then. */
void lull__oracle_sleeps(void)
{
	static uint32_t sleeps;

	lull__event_mutex_sleep();
	if (lull_load_relaxed(&lull__spinners_max) < SPINNERS_MOST && lull_add_relaxed(&sleeps, 1u) % 64 == 0)
		count_cpus();
}

void lull__oracle_acquired(void)
{
	const struct lull__oracle *oracle = lull_load_relaxed(&chosen);

	if (lull_unlikely(oracle->acquired != NULL))
		oracle->acquired();
}

void lull__oracle_released(void)
{
	if (lull_likely(!lull_load_relaxed(&tells_releases)))
		return;
	for (const struct lull__oracle *const *at = lull__oracles; *at; at++)
		if ((*at)->released)
			(*at)->released();
}
