/* SPDX-License-Identifier: MIT */
/* lull compare: measures locks, chooses one, and says what was found. */
#ifndef LULL_LAB_LOCKS_H
#define LULL_LAB_LOCKS_H

#include "common/json.h"
#include "engine/workload.h"
#include "report/compared.h"

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
/* The table, at most 100 columns wide. */
void compare_locks_print(const struct compare_locks *locks);
/* Null if nothing was measured. */
json_t *compare_locks_json(const struct compare_locks *locks);

#endif
