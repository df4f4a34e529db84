/* SPDX-License-Identifier: MIT */
/* The slow side of the big-reader lock: slots and writers. */
#include "brlock.h"

#include <stdlib.h>

__thread unsigned bench_brlock_self;
static __thread int entered;

/*
 * Held by a writer throughout: no thread gets its first slot while a writer believes to hold all of
 * them.
 */
static pthread_mutex_t writers = PTHREAD_MUTEX_INITIALIZER;
static unsigned slots_used;

struct bench_brlock *bench_brlock_new(void)
{
	struct bench_brlock *br = aligned_alloc(_Alignof(struct bench_brlock), sizeof(*br));
	unsigned i;

	if (!br)
		return NULL;
	for (i = 0; i < BENCH_BRLOCK_SLOTS; i++)
		pthread_spin_init(&br->slot[i].lock, PTHREAD_PROCESS_PRIVATE);
	return br;
}

void bench_brlock_free(struct bench_brlock *br)
{
	free(br);
}

void bench_brlock_enter(void)
{
	if (entered)
		return;
	pthread_mutex_lock(&writers);
	/* More threads than slots share them: slower, still right. */
	bench_brlock_self = slots_used % BENCH_BRLOCK_SLOTS;
	if (slots_used < BENCH_BRLOCK_SLOTS)
		slots_used++;
	entered = 1;
	pthread_mutex_unlock(&writers);
}

void bench_brlock_write_lock(struct bench_brlock *br)
{
	unsigned i;

	pthread_mutex_lock(&writers);
	for (i = 0; i < slots_used; i++)
		pthread_spin_lock(&br->slot[i].lock);
}

void bench_brlock_write_unlock(struct bench_brlock *br)
{
	unsigned i;

	for (i = slots_used; i-- > 0;)
		pthread_spin_unlock(&br->slot[i].lock);
	pthread_mutex_unlock(&writers);
}
