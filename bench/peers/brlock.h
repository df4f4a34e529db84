/* SPDX-License-Identifier: MIT */
/*
 * A big-reader lock: one lock per thread, each on its own lines. A reader takes its own, which
 * nobody else touches while there is no writer; a writer takes them all. The locks are pthread's.
 */
#ifndef BENCH_BRLOCK_H
#define BENCH_BRLOCK_H

#include <pthread.h>

#define BENCH_BRLOCK_SLOTS 4096

struct bench_brlock_slot {
	pthread_spinlock_t lock;
} __attribute__((aligned(128)));

struct bench_brlock {
	struct bench_brlock_slot slot[BENCH_BRLOCK_SLOTS];
};

/* This thread's slot, the same in every brlock; bench_brlock_enter() sets it. */
extern __thread unsigned bench_brlock_self;

/* NULL when there is no memory. */
struct bench_brlock *bench_brlock_new(void);
void bench_brlock_free(struct bench_brlock *br);
/* Once per thread before its first section, again is harmless. Waits for writers. */
void bench_brlock_enter(void);
/* The caller needs no slot of its own. Writers of all brlocks exclude each other. */
void bench_brlock_write_lock(struct bench_brlock *br);
void bench_brlock_write_unlock(struct bench_brlock *br);

static inline void bench_brlock_read_lock(struct bench_brlock *br)
{
	pthread_spin_lock(&br->slot[bench_brlock_self].lock);
}

static inline void bench_brlock_read_unlock(struct bench_brlock *br)
{
	pthread_spin_unlock(&br->slot[bench_brlock_self].lock);
}

#endif
