/* SPDX-License-Identifier: MIT */
/*
 * ORDER RCU-2, RCU-3, RCU-7, RCU-8
 * grace-period.c - a reader against a grace period, for ESBMC, which takes threads with pointers between them: the
 * code of include/lull/rcu.h and src/rcu/, as it is.  An updater unpublishes an object and pushes the
 * grace period along once; a reader goes through one section.
 * Where: lull_rcu_read_lock(), lull_rcu_read_unlock(), lull_rcu_dereference(), lull_rcu_assign(),
 * lull__rcu_cookie(), lull__rcu_advance(), gp_push(), gp_open(), gp_begin(), gp_scan(), gp_end(), gp_complete(),
 * gp_raise(), gp_next(), gp_is_over(),
 * number_of(), lull__registry_move(), lull__trylock(), lull__unlock_wake()
 *
 * Never: the reader finds the object in use for something else.
 * Sequential consistency, up to three switches from one thread to the other: what the fences are for is
 * the litmus tests' business.  The reader's record is the only one.
 * Tool: esbmc
 * Flags: --unwind 2 --context-bound 3 --no-pointer-check --no-bounds-check
 * With each of these it must fail:
 * Busted READER_MISSED: sc
 * Busted EARLY_COOKIE: sc
 * Busted NOT_WAITED: sc
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#undef __x86_64__ /* no assembly */
#include <lull/thread.h>

/* Without the counts for people: each would be one more place where threads switch. */
#define LULL_EVENTS_H

static void lull__event_gp_start(uint64_t number)
{
	(void)number;
}

static void lull__event_gp_end(uint64_t number, uint64_t ns, uint32_t weight)
{
	(void)number, (void)ns, (void)weight;
}

/* Of its own record an updater looks at no more than whether it is online. */
static struct lull__thread readers;
#define lull__self readers
#define NEVER() __ESBMC_assume(false)
/* The only updater leads whenever it asks: so it goes beside nobody. */
#include "base/lock.h"
#define lull__trylock(lock) (lull__trylock(lock) || (NEVER(), false))
/* The updater is not alone; to find that out would be two more places where threads switch. */
#include "base/registry.h"
#define lull__is_alone() false
#include "rcu/grace_period.c"
#undef lull__trylock
#include "rcu/section.c"

uint32_t lull__fence_full_mode;
struct lull__thread lull__registry;
uint32_t lull__registry_awake;

static int object = 1;
static int *pointer = &object;

#include "rest.h"

void lull_fence_heavy(void)
{
}

void lull__registry_enter(struct lull__registry_hold *hold)
{
	(void)hold;
}

void lull__registry_leave(const struct lull__registry_hold *hold)
{
	(void)hold;
}

void lull__lock_wake(struct lull__lock *lock, int how_many)
{
	(void)lock, (void)how_many;
}

static void *reader(void *unused)
{
	int *found;

	(void)unused;
	lull_rcu_read_lock();
	found = lull_rcu_dereference(pointer);
	if (found)
		assert(*found == 1);
	lull_rcu_read_unlock();
	return NULL;
}

int main(void)
{
	lull_rcu_cookie cookie;
	pthread_t thread;
	bool over;

	readers.next = readers.prev = lull__registry.next = lull__registry.prev = &lull__registry;
#ifndef READER_MISSED
	lull__registry.next = lull__registry.prev = &readers;
#endif
	pthread_create(&thread, NULL, reader, NULL);
	lull_rcu_assign(pointer, (int *)NULL);
	cookie = lull__rcu_cookie();
#ifdef EARLY_COOKIE
	cookie -= LULL__RCU_STEP;
#endif
	over = lull__rcu_advance(cookie);
#ifdef NOT_WAITED
	over = true;
#endif
	if (over)
		object = 0;
	return 0;
}
