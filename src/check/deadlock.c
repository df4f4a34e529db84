/* SPDX-License-Identifier: MIT */
/*
 * deadlock.c - debug builds: find circles of threads that wait for each other.
 *
 * A waiter publishes what it waits for (waits.c), and every now and then follows the way from there to the threads that
 * hold that up (edges.c), and on to what these wait for. It aborts if that leads back to itself. Those look that wait for
 * a mutex, for a hazard pointer or for a cohort, as they hold no lock of the library's meanwhile. One of these is in nearly
 * every circle: a thread in a section may wait for nothing else, nor does a callback that is in a barrier's way.
 */
#ifdef LULL_DEBUG
#include <stdio.h>
#include <unistd.h>

#include "../base/message.h"
#include "checks.h"
#include "waits.h"

#define CYCLE_MAX 16
#define SEEN_MAX  64
#define LOOK_NS	  500000000u
#define SURE_LOOKS 4	   /* a process that was stopped has not run meanwhile */
#define SURE_NS	  2000000000u /* a signal handler that holds a lock, and is preempted, does not take so long */

static __thread struct {
	uint32_t cycle;
	uint32_t looks; /* that have found it */
	bool said;	/* and its hook for messages may wait for a mutex */
	uint64_t since_ns;
} suspicion __attribute__((tls_model("initial-exec")));

/* A search for the way from one thread's wait back to that thread. */
struct cycle_search {
	uint32_t first;
	struct lull__wish way[CYCLE_MAX];
	uint32_t seen[SEEN_MAX]; /* the way leads through each thread once */
	unsigned nr_seen;
};

static bool is_new(struct cycle_search *s, uint32_t tid)
{
	for (unsigned i = 0; i < s->nr_seen; i++)
		if (s->seen[i] == tid)
			return false;
	if (s->nr_seen == SEEN_MAX)
		return false;
	s->seen[s->nr_seen++] = tid;
	return true;
}

/* Go on from @tid, which is number @n of the way. Returns how long the circle is; 0: none is found. */
static unsigned follow_way(struct cycle_search *s, uint32_t tid, unsigned n)
{
	uint32_t holders[LULL__HOLDERS_MOST];
	unsigned count, found = 0;

	if (n == CYCLE_MAX || !is_new(s, tid) || !lull__waits_of(tid, &s->way[n]))
		return 0;
	count = lull__holders_of(&s->way[n], holders);
	for (unsigned i = 0; i < count; i++)
		if (holders[i] == s->first)
			return n + 1;
	for (unsigned i = 0; i < count && !found; i++)
		found = follow_way(s, holders[i], n + 1);
	return found;
}

static bool is_held_by(const struct lull__wish *wish, uint32_t tid)
{
	uint32_t holders[LULL__HOLDERS_MOST];
	unsigned count = lull__holders_of(wish, holders);

	for (unsigned i = 0; i < count; i++)
		if (holders[i] == tid)
			return true;
	return false;
}

/*
 * Find a cycle: every thread on the way waits, without a deadline, for what the next one holds, and the last one waits
 * for what the first one holds, the caller. A thread that has just been woken may still be published as waiting; but
 * then the next one no longer holds that. So all is read twice, in this order.
 */
static unsigned find_cycle(uint32_t tid, struct cycle_search *s)
{
	struct lull__wish again;
	unsigned n;

	s->first = tid;
	s->nr_seen = 0;
	n = follow_way(s, tid, 0);
	for (unsigned i = 0; i < n; i++)
		if (!is_held_by(&s->way[i], s->way[(i + 1) % n].tid) || !lull__waits_of(s->way[i].tid, &again) ||
		    again.seq != s->way[i].seq || again.of.kind != s->way[i].of.kind)
			return 0;
	/* A cycle of one: the caller has just been handed the lock that it was about to wait for. */
	return n > 1 ? n : 0;
}

/*
 * Has the same cycle existed for a while? A signal handler may hold a lock by trylock, and will unlock it
 * although its thread waits.
 */
static bool persists(const struct lull__wish *cycle, unsigned n)
{
	uint64_t now_ns = lull__now_ns();
	uint32_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum = sum * 31 + cycle[i].tid + cycle[i].seq * 7;
	if (suspicion.cycle != sum) {
		suspicion.cycle = sum;
		suspicion.looks = 0;
		suspicion.since_ns = now_ns;
	}
	return ++suspicion.looks >= SURE_LOOKS && now_ns - suspicion.since_ns >= SURE_NS;
}

/* Put into words what a thread waits for, up to the thread that has it. */
static void put_edge(const struct lull__awaited *of, char *to, size_t size)
{
	static const char *const words[] = {
		[LULL__AWAITS_MUTEX] = "waits for mutex %p, held by",
		[LULL__AWAITS_GP] = "waits for a grace period, which waits for the section of",
		[LULL__AWAITS_HAZPTR] = "waits until no hazard pointer protects %p, as does one of",
		[LULL__AWAITS_RECLAIMER] = "waits in a barrier for callbacks on",
		[LULL__AWAITS_PARKED] = "waits in a barrier for what a hazard pointer protects of",
		[LULL__AWAITS_COHORT] = "waits for cohort %p, held up by",
	};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(to, size, words[of->kind], of->what);
#pragma GCC diagnostic pop
}

static uint32_t said;

static void print_cycle(const struct lull__wish *cycle, unsigned n)
{
	char line[480], edge[80];
	size_t at = 0;

	suspicion.said = true;
	while (lull_xchg_relaxed(&said, 1u))
		sleep(1); /* another thread of the cycle has found it, and aborts */

	for (unsigned i = 0; i < n && at < sizeof(line); i++) {
		put_edge(&cycle[i].of, edge, sizeof(edge));
		at += (size_t)snprintf(line + at, sizeof(line) - at, "%s %s ", lull__thread_words(cycle[i].tid).text, edge);
	}
	lull__die("deadlock: %sthe first", line);
}

static void look_for_cycle(uint32_t tid)
{
	struct cycle_search search;
	unsigned n = suspicion.said ? 0 : find_cycle(tid, &search);

	if (n && persists(search.way, n))
		print_cycle(search.way, n);
}

void lull__deadlock_check(const struct lull_mutex *m, uint32_t tid)
{
	if (m)
		look_for_cycle(tid);
}

uint64_t lull__deadlock_look(uint64_t again_ns)
{
	uint64_t look_ns = lull__now_ns() + LOOK_NS;

	look_for_cycle(lull__check_tid());
	return look_ns < again_ns ? look_ns : again_ns;
}
#endif
