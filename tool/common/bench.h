/* SPDX-License-Identifier: MIT */
/*
 * The measuring engine that all instruments share.
 *
 * Worker threads are made once, pinned round robin to the CPUs this process may use (one to each
 * core first, see topology.h), and sleep between slices. A slice runs ONE case on the first
 * `threads` workers. bench_measure() runs the cases round robin, slice by slice, so that a disturbance falls on all of them alike. In a slice
 * the workers meet at a starting line; from there each on its own does case->enter (untimed), the
 * body for warm_ns (untimed, finds the chunk length), the body in chunks until the common deadline,
 * and case->leave (untimed). So they stop within one chunk of each other, and a contended case is
 * contended all the time. Between enter and leave the engine makes no worker wait for another, so a
 * body may synchronize while another worker is an online thread.
 *
 * A slice in which a worker was preempted (involuntary context switch) is dropped and repeated, up
 * to plan->redo extra slices per case and run; when that is used up, disturbed slices are taken and
 * counted in bench_result.disturbed. With more threads than CPUs nothing is dropped and slices are
 * longer.
 *
 * Each run gives the median of its slices; a figure is the median, minimum and maximum over the
 * runs (over the slices, when there is only one run).
 */
#ifndef LULL_TOOL_BENCH_H
#define LULL_TOOL_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/cpus.h"
#include "common/figures.h"

#define BENCH_LINE 128 /* two lines: the adjacent-line prefetcher couples pairs */

/* Time of all slices so far, as planned: without what other programs and the scheduler made of it. */
extern uint64_t bench_planned_ns;

/* Keeps a computed value alive without storing it anywhere shared. */
void bench_sink(uint64_t value);

/* ---- cases ----------------------------------------------------------------------------------- */

struct bench_thread {
	unsigned index;	  /* 0 .. threads-1 */
	unsigned threads; /* workers in this slice */
	int cpu;	  /* pinned to, or -1 */
	uint64_t rng;	  /* for bench_random(); seeded per worker, goes on from slice to slice */
	void *priv;	  /* the case's own, from enter to leave */
} __attribute__((aligned(BENCH_LINE)));

struct bench_case {
	const char *name;
	void *arg;					  /* handed to the three functions */
	void (*enter)(struct bench_thread *t, void *arg); /* may be NULL */
	uint64_t (*body)(struct bench_thread *t, void *arg,
			 uint64_t n);			  /* n operations; result is sunk */
	void (*leave)(struct bench_thread *t, void *arg); /* may be NULL */
	/*
	 * Called on the controlling thread around each slice of this case, not timed, may be NULL: to reset a backlog
	 * or read a counter. after gets the slice's total operations and its length.
	 */
	void (*before)(void *arg, unsigned threads);
	void (*after)(void *arg, unsigned threads, uint64_t ops, uint64_t ns);
	uint64_t chunk; /* operations per body call; 0: calibrated to about 20 us */
};

struct bench_plan {
	unsigned threads; /* workers per slice; at most the pool's size */
	unsigned runs;
	unsigned slices; /* per run and case */
	unsigned redo;	 /* extra slices per run and case for disturbed ones */
	uint64_t slice_ns;
	uint64_t warm_ns;
	uint64_t most_ns;  /* when it has taken so long, no more slices begin, but each case has one; 0: no limit */
	const char *label; /* for the progress line */
};

#define BENCH_SLICE_NS 1500000u
#define BENCH_WARM_NS 50000u
#define BENCH_RUNS 5u

/*
 * A plan that spends about `seconds` on all cases together: slices per run follow from the time, the runs and the number
 * of cases (at least 3; with little time there are fewer runs, and then fewer slices). More threads than CPUs: longer
 * slices.
 */
struct bench_plan bench_plan_for(unsigned threads, unsigned runs, double seconds, size_t nr_cases);
/* Return the seconds of the shortest: a slice of each case that counts, after one that does not. */
double bench_least_seconds(unsigned threads, size_t nr_cases);

struct bench_result {
	struct bench_stat ns;	/* thread time per operation: sum of elapsed / sum of operations */
	struct bench_stat mops; /* 1e6 operations per second, all threads together */
	struct bench_stat cycles; /* user-mode cycles per operation; count 0 when not available */
	struct bench_stat instructions; /* user-mode instructions per operation; likewise */
	uint64_t ops;			/* in all slices that were taken */
	unsigned slices, dropped, disturbed;
	unsigned runs; /* that there was time for */
};

/* Zeros that share no line with anything else. Never NULL: no memory is options_fail(). */
void *bench_alloc_lines(size_t count, size_t size);

struct bench_pool;

/* Makes the workers now: a number that cannot be made ends the program with one line, exit 2. */
struct bench_pool *bench_pool_new(unsigned threads);
void bench_pool_free(struct bench_pool *pool);
/* Hardware counters work in the workers. */
bool bench_pool_counters(const struct bench_pool *pool);
/* results[i] belongs to cases[i]. */
void bench_measure(struct bench_pool *pool, const struct bench_plan *plan,
		   const struct bench_case *cases, size_t nr_cases, struct bench_result *results);

#endif
