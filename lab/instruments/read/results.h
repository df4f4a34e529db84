/* SPDX-License-Identifier: MIT */
/* lull refscale: from what was measured to what is printed, and written to the JSON. */
#ifndef LULL_LAB_READ_RESULTS_H
#define LULL_LAB_READ_RESULTS_H

#include <stdbool.h>

#include "common/bench.h"
#include "common/json.h"

enum read_mode { MODE_READ, MODE_CHAIN, MODE_HOLD, MODE_NESTED };

struct read_sections {
	enum read_mode mode;
	uint64_t hold_ns;
	unsigned nested;
};

/*
 * Operations of the case that shows the processor's clock: a chain of so many multiplications, each 3 cycles on every
 * x86-64 of the last fifteen years. Measured among the schemes, so it sees the same clock.
 */
#define READ_CLOCK_CHAIN 8
bool read_clock_known(void);
/*
 * Cycles and instructions come from the counters where there are any, else from the @clock, and from @instructions that were
 * counted by single steps; negative: they were not.
 */
void read_fill_in(struct bench_result *r, double instructions, const struct bench_result *clock);
/* Add a row; all ratios are taken against @none. */
void read_write_json(struct jsonout *json, const struct read_sections *s, const char *scheme, unsigned threads,
		     const struct bench_result *r, const struct bench_result *none, bool counters);
/* The table of one number of readers; the first scheme is the unprotected loop. */
void read_print(const char *const *names, size_t count, const struct bench_result *results);

#endif
