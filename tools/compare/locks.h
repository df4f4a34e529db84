/* SPDX-License-Identifier: MIT */
/* What `lull compare` finds out about locks: threads that want one at a time, and which to use. */
#ifndef LULL_TOOL_LOCKS_H
#define LULL_TOOL_LOCKS_H

#include "engine/bench.h"
#include "choose/choose.h"
#include "common/json.h"
#include "common/workload.h"

#define COMPARE_LOCKS 6
#define COMPARE_THREADS_MAX 40
#define COMPARE_LOCK_OUTSIDE 4 /* between two sections: so many sections' time, at most */

/* Of one lock, one number of threads. A figure with count 0 was not measured. */
struct compare_contention {
	struct bench_stat rate; /* sections per second, all threads together */
	struct bench_stat wait, p99, p999, longest; /* of a section, ns */
	struct bench_stat cpu; /* ns of all threads per section */
};

struct compare_lock {
	const char *name;
	struct bench_stat alone; /* ns: lock and unlock, when nobody else wants it */
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
	double section_ns; /* what the workload holds an object for; as far as sections go */
	double longer_ns;
	bool sleep; /* they sleep so long */
	struct choose_lock_verdict verdict;
	char answer[CHOOSE_LINES_MAX][CHOOSE_LINE];
	size_t nr_answers;
};

/* One call of mutexscale for each. */
enum {
	COMPARE_LOCKS_ALONE,
	COMPARE_LOCKS_PLAIN,
	COMPARE_LOCKS_HOGS,
	COMPARE_LOCKS_LONGER,
	COMPARE_LOCKS_ROOTS
};

/*
 * Measures, in about @seconds; more on a machine that others use. @threads stay the caller's;
 * @runs: 0 or as on the command line. @roots are the caller's, too; NULL: was not called.
 */
void compare_locks_measure(struct compare_locks *to, const struct workload *work,
			   const unsigned *threads, size_t nr_threads, unsigned runs, double seconds,
			   json_t *roots[COMPARE_LOCKS_ROOTS]);
/* Where in threads[] the most are. */
size_t compare_locks_most(const struct compare_locks *locks);
/* The table, at most 100 columns wide. */
void compare_locks_print(const struct compare_locks *locks);
json_t *compare_locks_json(const struct compare_locks *locks);

#endif
