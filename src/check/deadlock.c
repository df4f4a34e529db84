/* SPDX-License-Identifier: MIT */
/*
 * deadlock.c - debug builds: find deadlocks of mutexes.
 *
 * A waiter publishes which mutex it waits for, and follows the way from owner to owner, every now and then.
 * It aborts if that leads back to itself.
 */
#ifdef LULL_DEBUG
#include <stdio.h>
#include <unistd.h>

#include "../base/message.h"
#include "../owner_runs/owner.h"
#include "checks.h"

#define CYCLE_MAX 16
#define SURE_NS	  2000000000u /* a signal handler that holds a lock, and is preempted, does not take so long */

static __thread struct {
	uint32_t cycle;
	uint64_t since_ns;
} suspicion __attribute__((tls_model("initial-exec")));

/* Return the owner of @m, which may be freed by now: so the kernel reads its word. */
static uint32_t owner_of(const struct lull_mutex *m)
{
	uint32_t word = 0;

	return lull__peek(&m->word, &word) ? word & LULL__MUTEX_TID : 0;
}

/*
 * Find a cycle: every thread on the way waits, without a deadline, for a lock that the next one holds, and
 * the last one waits for a lock of the first, the caller. A thread that has just been woken may still be
 * published as waiting; but then the word no longer names the next one. So all is read twice, in this
 * order.
 */
static unsigned find_cycle(uint32_t tid, struct lull__owner_wish *cycle)
{
	uint32_t at = tid;
	unsigned n = 0;
	struct lull__owner_wish again;

	do {
		if (n == CYCLE_MAX || !lull__owner_wish(at, &cycle[n]))
			return 0;
		at = owner_of(cycle[n++].waits);
	} while (at != tid);
	for (unsigned i = 0; i < n; i++)
		if (owner_of(cycle[i].waits) != cycle[(i + 1) % n].tid ||
		    !lull__owner_wish(cycle[i].tid, &again) || again.seq != cycle[i].seq)
			return 0;
	/* A cycle of one: the caller has just been handed the lock that it was about to wait for. */
	return n > 1 ? n : 0;
}

/*
 * Has the same cycle existed for a while? A signal handler may hold a lock by trylock, and will unlock it
 * although its thread waits.
 */
static bool persists(const struct lull__owner_wish *cycle, unsigned n)
{
	uint64_t now_ns = lull__now_ns();
	uint32_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum = sum * 31 + cycle[i].tid + cycle[i].seq * 7;
	if (suspicion.cycle != sum) {
		suspicion.cycle = sum;
		suspicion.since_ns = now_ns;
	}
	return now_ns - suspicion.since_ns >= SURE_NS;
}

static void print_cycle(const struct lull__owner_wish *cycle, unsigned n)
{
	static uint32_t printed;
	char line[400];
	size_t at = 0;

	while (lull_xchg_relaxed(&printed, 1u))
		sleep(1); /* another thread of the cycle has found it, and aborts */

	for (unsigned i = 0; i < n && at < sizeof(line); i++)
		at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%s waits for mutex %p", i ? ", held by " : "",
				       lull__thread_words(cycle[i].tid).text, (const void *)cycle[i].waits);
	lull__die("deadlock: %s, held by the first", line);
}

void lull__deadlock_check(const struct lull_mutex *m, uint32_t tid)
{
	struct lull__owner_wish cycle[CYCLE_MAX];
	unsigned n;

	lull__owner_set_wish(m);
	if (m && (n = find_cycle(tid, cycle)) && persists(cycle, n))
		print_cycle(cycle, n);
}
#endif
