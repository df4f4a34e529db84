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
#include <stdio.h>
#include <time.h>

#define BENCH_LINE 128 /* two lines: the adjacent-line prefetcher couples pairs */

/* ---- figures --------------------------------------------------------------------------------- */

struct bench_stat {
	double min, median, max;
	size_t count; /* 0: not available, prints as n/a */
};

/* Sorts v in place. */
struct bench_stat bench_stat_of(double *v, size_t count);
/* s * factor, for other units. */
struct bench_stat bench_stat_scale(struct bench_stat s, double factor);

struct bench_latency {
	double min, mean, p50, p90, p99, max; /* ns */
	size_t count;
};

/*
 * Sorts ns in place. Percentile P is the smallest value with at least P % of the values at or below
 * it.
 */
struct bench_latency bench_latency_of(uint64_t *ns, size_t count);
double bench_percentile(const uint64_t *sorted, size_t count, double percent);

/* ---- small tools ----------------------------------------------------------------------------- */

static inline uint64_t bench_clock_ns(clockid_t clock)
{
	struct timespec ts = { 0, 0 };

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t bench_now_ns(void)
{
	return bench_clock_ns(CLOCK_MONOTONIC);
}

static inline void bench_sleep_ns(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	nanosleep(&ts, NULL);
}

/* xorshift64*; state must not be 0. */
static inline uint64_t bench_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1du;
}

/*
 * The CPUs this process may run on, and how many cores and sockets they belong to. bench_pin() pins
 * the calling thread to the index-th CPU in the order of topology.h, round robin; returns the CPU
 * number or -1 when the system refused (measuring goes on unpinned).
 */
unsigned bench_cpus(void);
unsigned bench_cores(void);
unsigned bench_sockets(void);
int bench_cpu(unsigned index);
int bench_pin(unsigned index);

/*
 * Function-call interrupts (CAL line of /proc/interrupts), all CPUs together and per CPU.
 * Returns false where the line does not exist; per_cpu may be NULL, else holds nr entries by CPU
 * number.
 */
bool bench_call_interrupts(uint64_t *total, uint64_t *per_cpu, unsigned nr);

/* User-mode cycles and instructions can be counted in this process (perf_event_open). */
bool bench_counters_work(void);

/*
 * Progress line on stderr: only on a terminal, rewritten in place; bench_progress_clear() wipes it.
 */
void bench_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void bench_progress_clear(void);

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
	 * On the controlling thread around each slice of this case, not timed, may be NULL: reset a
	 * backlog, read a counter. after gets the slice's total operations and its length.
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
	const char *label; /* for the progress line */
};

#define BENCH_SLICE_NS 1500000u
#define BENCH_WARM_NS 50000u
#define BENCH_RUNS 5u

/*
 * A plan that spends about `seconds` on all cases together: slices per run follow from the time,
 * the runs and the number of cases (at least 3). More threads than CPUs: longer slices.
 */
struct bench_plan bench_plan_for(unsigned threads, unsigned runs, double seconds, size_t nr_cases);

struct bench_result {
	struct bench_stat ns;	/* thread time per operation: sum of elapsed / sum of operations */
	struct bench_stat mops; /* 1e6 operations per second, all threads together */
	struct bench_stat cycles; /* user-mode cycles per operation; count 0 when not available */
	struct bench_stat instructions; /* user-mode instructions per operation; likewise */
	uint64_t ops;			/* in all slices that were taken */
	unsigned slices, dropped, disturbed;
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

/* ---- tables on stdout ------------------------------------------------------------------------ */

struct bench_table;

/* Header cells; the first column is left-aligned, the others right-aligned. "a|b|c" */
struct bench_table *bench_table_new(const char *header);
/* Fills the next cell, row by row. */
void bench_cell(struct bench_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "12.3 [11.9..14.0]" with a sensible number of digits; "n/a" for count 0. */
void bench_cell_stat(struct bench_table *t, const struct bench_stat *s);
/* "x1.24" of the medians; "n/a" when either is missing. */
void bench_cell_ratio(struct bench_table *t, const struct bench_stat *s,
		      const struct bench_stat *base);
/* Prints to stdout and frees. */
void bench_table_print(struct bench_table *t);

#endif
