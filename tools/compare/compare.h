/* SPDX-License-Identifier: MIT */
/* Everything that `lull compare` has found out: what its table and its report are made of. */
#ifndef LULL_TOOL_COMPARE_H
#define LULL_TOOL_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/bench.h"
#include "choose/choose.h"
#include "compare/locks.h"
#include "common/machine.h"
#include "scale/tradeoff/tradeoff.h"

#define COMPARE_WAITS_MAX 6
#define COMPARE_REPLACES_MAX 64

/* How a scheme is drawn and weighed. */
struct compare_style {
	const char *name;
	enum choose_family family;
	unsigned effort;
	const char *demand; /* see choose.h */
	bool long_readers, bounded;
	unsigned point;		  /* enum plot_mark */
	const char *light, *dark; /* colours */
};

/* What one waits for, by rcuscale's name, and in words. */
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
	struct bench_stat mixed[CHOOSE_FRACTIONS_MAX];	/* Mops by updates */
	double cpu_ns[CHOOSE_FRACTIONS_MAX];
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

struct compare {
	struct machine machine;
	char *command; /* that gives this report again */
	char *keys;    /* in words */
	char *when;
	double took_seconds;
	unsigned *threads;
	size_t nr_threads;
	unsigned percent[CHOOSE_FRACTIONS_MAX];
	size_t nr_percents;
	unsigned mixed_threads;
	struct compare_scheme *scheme;
	size_t count;
	struct compare_replace replace[COMPARE_REPLACES_MAX];
	size_t nr_replaces;
	/* Of a percpu_ref until it is confirmed, and one membarrier; idle process, busy reader. */
	struct bench_latency kill[2], membarrier[2];
	char advice[CHOOSE_LINES_MAX][CHOOSE_LINE];
	size_t nr_advice;
	/* Four ways to keep an object alive, and the one for the workload that was described. */
	struct tradeoff tradeoff;
	struct choose_verdict verdict; /* its indices: tradeoff.scheme[] */
	char workload[CHOOSE_LINE];    /* in words */
	char answer[CHOOSE_LINES_MAX][CHOOSE_LINE];
	size_t nr_answers;
	struct compare_locks locks;
};

/* "455 ns", "5.9 us", "12 ms"; "n/a" for a negative one. */
const char *compare_time(char *to, size_t size, double ns);
/* "0", "512", "12 kB", "3.4 MB"; "-" for a negative one. */
const char *compare_bytes(char *to, size_t size, double bytes);

/* What suits the workload: fills in verdict, workload and answer. */
void compare_answer(struct compare *data);
json_t *compare_verdict_json(const struct compare *data);

#endif
