/* SPDX-License-Identifier: MIT */
/* The parts of `lull mutexscale`, among themselves. */
#ifndef LULL_LAB_MUTEXSCALE_H
#define LULL_LAB_MUTEXSCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/figures.h"
#include "common/json.h"
#include "engine/other_programs.h"
#include "lock_scheme.h"

/* ---- instruments/mutex/run.c ----------------------------------------------------------------- */

/* Work of the threads in one measurement; times in ns, shares of 1. */
struct mutexscale_cell {
	const char *name; /* of the shape, in tables and JSON */
#define MUTEXSCALE_OWN "own" /* as options say */
	unsigned threads;
	unsigned hogs; /* processes beside them that only burn processor time */
	double section;
	double outside; /* at most, between two sections; 0 to so long, any time as likely */
	double longer, longer_share;
	double sleep, sleep_share;
};

enum mutexscale_figure {
	FIGURE_RATE,	 /* sections per second, all threads together */
	FIGURE_WAIT,	 /* ns, mean over all sections */
	FIGURE_P99,	 /* of the waits */
	FIGURE_P999,
	FIGURE_MAX,
	FIGURE_CPU,	 /* processor time, ns per section, outside included */
	FIGURE_SWITCHES, /* context switches per section */
	FIGURE_JAIN,	 /* 1: all threads did the same; 1/threads: one did all */
	NR_FIGURES
};

#define MUTEXSCALE_ROUNDS 41 /* of more runs than that, those that come later are in the medians alone */

struct mutexscale_result {
	struct bench_stat stat[NR_FIGURES];
	double rate[MUTEXSCALE_ROUNDS]; /* FIGURE_RATE, round by round: in each of them all locks were measured */
	unsigned rounds;
	unsigned runs;	    /* that there was time for; 0: it was not measured */
	unsigned disturbed; /* of the slices: other programs ran meanwhile */
};
/* Puts @order, 0 to count - 1, into an order that chance decides. */
void mutexscale_shuffle(size_t *order, size_t count);
/* Runs @main_fn to its end in a thread that is new, and has locked nothing. */
void mutexscale_in_thread(void *(*main_fn)(void *), void *arg);

/* ---- instruments/mutex/figures.c -------------------------------------------------------------- */

/* Resources that the process had used at one time. */
struct mutexscale_used {
	struct bench_load load;
	uint64_t ticks, switches;
};

struct mutexscale_slice {
	double value[NR_FIGURES];
	double foreign; /* bench_foreign() */
};

/* Compute the figures of a slice; one in which nothing happened gives figures near zero. */
void mutexscale_figures(const struct bench_lock_waits *const *waits, unsigned threads, const struct mutexscale_used *from,
			const struct mutexscale_used *to, double *value);
/* Compute the results of lock @lock, one of @count, from @runs rounds of slices of all locks. */
void mutexscale_finish(const struct mutexscale_slice *slices, size_t count, size_t lock, unsigned runs,
		       struct mutexscale_result *result);

/* ---- instruments/mutex/results.c -------------------------------------------------------------- */

#define MUTEXSCALE_LOCKS 16 /* no more than so many */

struct mutexscale {
	const struct options *opt;
	struct jsonout *json;
	const struct bench_lock_scheme *locks[MUTEXSCALE_LOCKS]; /* the first is pthread */
	size_t count;
	unsigned runs;
};

/*
 * Measure a table, which has its share of the time: every lock once in each run, in an order that chance decides, as
 * long as the time allows; results[i] belongs to m->locks[i]. A slice that other programs disturbed is repeated at the
 * end of its round, if those that follow can be as much shorter; the less disturbed one counts. Return false when it
 * was left out: there was no time.
 */
bool mutexscale_measure(const struct mutexscale *m, const struct mutexscale_cell *cell, struct mutexscale_result *results);
/* "(3 of 40 slices ...)", when there were any. */
void mutexscale_print_disturbed(const struct mutexscale_result *results, size_t count);
/* One row for each figure of each lock. */
void mutexscale_json(const struct mutexscale *m, const struct mutexscale_cell *cell,
		     const struct mutexscale_result *results);
/* The table of one cell. */
void mutexscale_print(const struct mutexscale *m, const struct mutexscale_result *results);
/* Return which of the locks is called @name, or m->count. */
size_t mutexscale_find(const struct mutexscale *m, const char *name);

/* ---- the other things to measure: in --seconds, or the standard time ------------------------- */

/* instruments/mutex/matrix.c: many cells, each lock against the best one. */
void mutexscale_matrix(const struct mutexscale *m, double standard);
/* instruments/mutex/pair.c: no other thread wants the lock. */
void mutexscale_pair(const struct mutexscale *m, double standard);
/* instruments/mutex/wait1000.c: one owner, one waiter, how long it waits. */
void mutexscale_wait(const struct mutexscale *m, double standard);

#endif
