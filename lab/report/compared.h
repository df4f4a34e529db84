/* SPDX-License-Identifier: MIT */
/* Everything that `lull compare` has found out: what its table and its report are made of. */
#ifndef LULL_LAB_COMPARED_H
#define LULL_LAB_COMPARED_H

#include <stdbool.h>
#include <stddef.h>

#include "choose/choose.h"
#include "common/figures.h"
#include "common/machine.h"
#include "instruments/tradeoff/tradeoff.h"

/* ---- locks: threads that want one at a time, and which to use -------------------------------- */

#define COMPARE_LOCKS 6
#define COMPARE_THREADS_MAX 40
#define COMPARE_LOCK_OUTSIDE 4 /* between two sections: so many sections' time, at most */

/* Figures of one lock with one number of threads. A figure with count 0 was not measured. */
struct compare_contention {
	struct bench_stat rate; /* sections per second, all threads together */
	struct choose_rounds section; /* ns, 1e9 / rate, round by round */
	struct bench_stat wait, p99, p999, longest; /* of a section, ns */
	struct bench_stat cpu; /* ns of all threads per section */
};

struct compare_lock {
	const char *name;
	struct bench_stat alone; /* ns: lock and unlock, when no other thread wants it */
	struct compare_contention plain[COMPARE_THREADS_MAX]; /* by threads */
	struct compare_contention hogs[COMPARE_THREADS_MAX];  /* the same beside hogs */
	struct compare_contention longer; /* in sections of longer_ns, with most threads */
};

struct compare_locks {
	struct compare_lock lock[COMPARE_LOCKS]; /* pthread first */
	size_t count;
	const unsigned *threads; /* as given on the command line */
	size_t nr_threads;
	unsigned hogs;	   /* processes that burn processor time */
	double section_ns; /* how long the workload holds an object, as far as sections go */
	double longer_ns;
	bool sleep; /* they sleep so long */
	struct choose_lock_verdict verdict;
	char answer[CHOOSE_LINES_MAX][CHOOSE_LINE];
	size_t nr_answers;
};

/* Index of the most threads in threads[]. */
size_t compare_locks_most(const struct compare_locks *locks);

/* ---- all of it ------------------------------------------------------------------------------- */

#define COMPARE_WAITS_MAX 6
#define COMPARE_REPLACES_MAX 64

#define COMPARE_FRACTIONS_MAX 16

enum compare_family {
	COMPARE_UNPROTECTED, /* a limit, no protection */
	COMPARE_LOCK,	     /* readers write to something that they share */
	COMPARE_DEFERRED,    /* readers do not; memory waits for them, or updaters do */
};

/* Style in which a scheme is drawn. */
struct compare_style {
	const char *name;
	enum compare_family family;
	unsigned point;		  /* enum plot_mark */
	const char *light, *dark; /* colours */
};

/* Something that a caller waits for, by rcuscale's name and in words. */
struct compare_wait {
	const char *metric, *title, *caption;
};

extern const struct compare_wait compare_waits[COMPARE_WAITS_MAX];

/* Strings belong to the JSON of the instruments. A figure with count 0 was not measured. */
struct compare_scheme {
	const char *name, *what, *holds_up;
	const struct compare_style *style;
	unsigned colour;  /* 1, 2, ... */
	bool own_section; /* not that of another scheme */
	bool may_block, defers;
	double object_bytes, thread_bytes;
	struct bench_stat read[2];			/* ns per read section, 1 and 2 threads */
	struct bench_stat lookups[COMPARE_THREADS_MAX]; /* Mops by threads */
	struct bench_stat mixed[COMPARE_FRACTIONS_MAX];	/* Mops by updates */
	double cpu_ns[COMPARE_FRACTIONS_MAX];
	struct bench_stat cycles[COMPARE_FRACTIONS_MAX], instructions[COMPARE_FRACTIONS_MAX]; /* per operation */
	struct bench_latency update;
	double waiting_bytes;
	struct bench_latency wait[COMPARE_WAITS_MAX];
};

/* Over and over: allocate, exchange, retire, until all are freed. Idle process, busy reader. */
struct compare_replace {
	const struct compare_scheme *scheme;
	char way[16]; /* how they are retired */
	struct bench_stat ns[2];
	double peak[2]; /* objects that waited */
};

/* Sentence about parts that were left out. */
#define COMPARE_LEFT_OUT "Not measured, since the time was up: %s. A longer --seconds, or a calmer machine, has them too."

struct compare {
	struct machine machine;
	char *command; /* that gives this report again */
	char *keys;    /* in words */
	char *when;
	double seconds, took_seconds; /* that were given; that it took */
	unsigned *threads;
	size_t nr_threads;
	unsigned percent[COMPARE_FRACTIONS_MAX];
	size_t nr_percents;
	unsigned mixed_threads;
	struct compare_scheme *scheme;
	size_t count;
	struct compare_replace replace[COMPARE_REPLACES_MAX];
	size_t nr_replaces;
	/* Kill of a percpu_ref until confirmed, and one membarrier; [0] idle process, [1] busy reader. */
	struct bench_latency kill[2], membarrier[2];
	char *left_out; /* the parts that time was too short for, in words; NULL: all were measured */
	unsigned predict; /* threads that were not measured, and are predicted; 0: none */
	unsigned threads_here; /* that the verdict is about, as far as it was measured */
	/* Ways to keep an object alive, and the one for the workload that was described. */
	struct tradeoff tradeoff;
	struct choose_verdict verdict; /* its indices: tradeoff.scheme[] */
	char workload[CHOOSE_LINE];    /* in words */
	char answer[CHOOSE_LINES_MAX][CHOOSE_LINE]; /* first CHOOSE_HEADLINES that say what to do */
	size_t nr_answers;
	struct compare_locks locks;
};

#endif
