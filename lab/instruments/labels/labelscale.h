/* SPDX-License-Identifier: MIT */
/* The parts of `lull labelscale`, among themselves. */
#ifndef LULL_LAB_LABELSCALE_H
#define LULL_LAB_LABELSCALE_H

#include <stddef.h>
#include <stdint.h>

#include "common/bench.h"
#include "common/json.h"

struct label;

struct labelscale_scheme {
	const char *name, *what;
	int (*open)(const char *path); /* use the label, which stays meanwhile; -1: no file */
	void (*retire)(struct label *old);
	/* A label is going to be used by this scheme, or is not used by anybody any more. May be NULL. */
	void (*make)(struct label *l);
	void (*unmake)(struct label *l);
};

#define LABELSCALE_SCHEMES 6

extern const struct labelscale_scheme labelscale_schemes[LABELSCALE_SCHEMES];

/* Makes the label, and the thread that replaces it. */
void labelscale_begin(unsigned replace_per_second);
/* Opens are by this scheme from here on. NULL: there are none. */
void labelscale_use(const struct labelscale_scheme *scheme);
/*
 * Give the calling thread a table of open files, a working directory and a credential of its own, if it has none. Returns 0
 * or an error number: it may not, or there is no memory.
 */
int labelscale_be_apart(void);
/* No more opens. Returns how often the label was replaced. */
uint64_t labelscale_end(void);

/* results.c; ratios are taken against the first. */
void labelscale_write_json(struct jsonout *json, const char *const *names, const uint64_t *failed, size_t count,
			   unsigned threads, const struct bench_result *results);
void labelscale_print(const char *const *names, size_t count, const struct bench_result *results);

#endif
