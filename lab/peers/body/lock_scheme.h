/* SPDX-License-Identifier: MIT */
/*
 * Work that `lull mutexscale` measures: threads think, take one lock, work under it and give it back. Each lock's loops
 * come from the same text (lock_body.h), compiled around its own calls; what they do beside locking is the same code
 * for all of them, out of line (lock_work.c): a loop that is compiled into each differs by up to 30 % with how it
 * happens to be aligned.
 */
#ifndef BENCH_LOCK_SCHEME_H
#define BENCH_LOCK_SCHEME_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_LOCK_LINE 128

/*
 * ---- waits, which are short: a cheap clock and a distribution that takes no memory per wait ----
 */

/* Read a clock with units of its own; monotonic on each processor, and the same on all of them to within a wait. */
static inline uint64_t bench_lock_ticks(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_ia32_rdtsc();
#else
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
#endif
}

/* 16 steps to each power of two: a bucket is at most 6 % wide. */
#define BENCH_LOCK_STEPS 16u
#define BENCH_LOCK_BUCKETS (61u * BENCH_LOCK_STEPS)

struct bench_lock_waits {
	uint64_t count, sum, max; /* ticks */
	uint32_t bucket[BENCH_LOCK_BUCKETS];
};

void bench_lock_waits_note(struct bench_lock_waits *w, uint64_t ticks);
void bench_lock_waits_add(struct bench_lock_waits *to, const struct bench_lock_waits *w);
/* Return ticks such that at most @share of the waits were longer, to within a bucket; never above max. */
double bench_lock_waits_above(const struct bench_lock_waits *w, double share);

/* ---- what threads do ---- */

enum bench_lock_phase { BENCH_LOCK_WARM, BENCH_LOCK_COUNT, BENCH_LOCK_STOP };

/* Turns are those of bench_lock_work(); shares are of 2^32. */
struct bench_lock_plan {
	uint64_t section; /* turns under the lock */
	uint64_t outside; /* before it is asked for: 0 to so many, any number as likely */
	uint64_t longer;  /* so many more */
	uint64_t longer_share;
	uint64_t sleep_ns;
	uint64_t sleep_share;
	uint32_t phase __attribute__((aligned(BENCH_LOCK_LINE)));
	uint64_t guarded __attribute__((aligned(BENCH_LOCK_LINE))); /* sections so far */
};

struct bench_lock_thread {
	uint64_t rng;	   /* not 0 */
	uint64_t sections; /* all of them */
	uint64_t turns, sleep_ns; /* in the section that comes next */
	uint64_t sink;
	struct bench_lock_waits waits; /* those that began in BENCH_LOCK_COUNT */
} __attribute__((aligned(BENCH_LOCK_LINE)));

/* Multiplies @turns times, each after the one before. */
uint64_t bench_lock_work(uint64_t x, uint64_t turns);
/* Thinks; and decides what the next section is like, so that there it costs nothing. */
void bench_lock_outside(const struct bench_lock_plan *plan, struct bench_lock_thread *t);
void bench_lock_inside(struct bench_lock_plan *plan, struct bench_lock_thread *t);

/* ---- locks ---- */

struct bench_lock_scheme {
	const char *name;
	const char *what;
	const char *oracle; /* lull-mutex: who says that the owner runs; NULL: as lull chooses */
	/*
	 * Makes the lock free and new, for threads that are made from now on. NULL, or what is
	 * wrong: it cannot be had here.
	 */
	const char *(*renew)(const struct bench_lock_scheme *scheme);
	/* Runs until plan->phase is BENCH_LOCK_STOP. */
	void (*contend)(struct bench_lock_plan *plan, struct bench_lock_thread *t);
	/* n times lock and unlock; @arg is not used. */
	uint64_t (*pairs)(void *arg, uint64_t n);
	void (*lock)(void);
	void (*unlock)(void);
};

extern const struct bench_lock_scheme bench_lock_lull_mutex, bench_lock_lull_mutex_rseq,
	bench_lock_lull_mutex_bpf, bench_lock_lull_mutex_kernel, bench_lock_lull_mutex_slice, bench_lock_lull_mutex_none,
	bench_lock_pthread, bench_lock_pthread_adaptive, bench_lock_pthread_pi, bench_lock_spinlock,
	bench_lock_futex, bench_lock_spin_park, bench_lock_spin1000_park, bench_lock_absl;

#ifdef __cplusplus
}
#endif

#endif
