/* SPDX-License-Identifier: MIT */
/* The parts of `lull keyscale`, among themselves. */
#ifndef LULL_LAB_KEYSCALE_H
#define LULL_LAB_KEYSCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/figures.h"
#include "common/json.h"
#include "common/options.h"
#include "common/bench.h"

enum keyscale_setup {
	KEYSCALE_IDLE,	    /* only the threads that unregister */
	KEYSCALE_LOOKUPS,   /* other threads look keys up */
	KEYSCALE_UNRELATED, /* the same, and one thread protects something else all the time */
	KEYSCALE_SETUPS
};

struct keyscale_shape {
	size_t keys, buckets;
	unsigned updaters;     /* threads that unregister; at most as many as keys */
	uint64_t unrelated_ns; /* how long that thread stays at a time */
};

struct keyscale_scheme;

#define KEYSCALE_SCHEMES 3

extern const struct keyscale_scheme *const keyscale_schemes[KEYSCALE_SCHEMES];
const char *keyscale_name(const struct keyscale_scheme *scheme);
const char *keyscale_what(const struct keyscale_scheme *scheme);

struct keyscale_table;

/* State of the unrelated thread. */
#define KEYSCALE_OUTSIDE 0u
#define KEYSCALE_INSIDE 1u
#define KEYSCALE_GONE 2u

/* State that a thread needs to look at the table. */
struct keyscale_reader {
	struct lull_hazptr *slot[2];
	uint32_t presence;  /* KEYSCALE_* */
	uint64_t met_freed; /* keys that it had in hand and that were free: a fault */
};

struct keyscale_table *keyscale_table_new(const struct keyscale_shape *shape);
void keyscale_table_free(struct keyscale_table *table);
const struct keyscale_shape *keyscale_shape(const struct keyscale_table *table);
/* Look up one of the ids; half of them are there. */
bool keyscale_lookup(const struct keyscale_scheme *scheme, const struct keyscale_table *table,
		     struct keyscale_reader *r, uint64_t *rng);
/* Protect something else, for as long as the shape says. */
void keyscale_stay(const struct keyscale_scheme *scheme, const struct keyscale_table *table,
		   struct keyscale_reader *r);
/* Unregister a key and register another. Returns how many ns the first took. */
uint64_t keyscale_renew(const struct keyscale_scheme *scheme, struct keyscale_table *table,
			unsigned updater, uint64_t *rng);

/* One scheme in one setup. */
struct keyscale_result {
	struct bench_stat ms;	      /* for 1000 unregistrations */
	struct bench_latency one;     /* of them */
	struct bench_stat per_second; /* lookups, all threads together; count 0: none */
	uint64_t met_freed; /* keys that a reader had in hand and that were free: a fault */
};

/* Threads that a setup needs with this number of lookup threads. */
unsigned keyscale_threads(const struct keyscale_shape *shape, enum keyscale_setup setup,
			  unsigned lookups);

/* Measures the schemes in turns; results[i] belongs to schemes[i]. Returns how many runs there was time for. */
unsigned keyscale_measure(struct bench_pool *pool, const struct options *opt, double seconds,
			  struct keyscale_table *table, enum keyscale_setup setup, unsigned lookups,
			  const struct keyscale_scheme *const *schemes, size_t count,
			  struct keyscale_result *results);

/* results.c */
double keyscale_per_second(uint64_t ops, uint64_t ns);
double keyscale_ms_for_1000(double per_second);
/* Ratios are taken against rcu, the first of keyscale_schemes, where it was measured. */
void keyscale_write_json(struct jsonout *json, const struct keyscale_scheme *const *scheme, size_t count, const char *setup,
			 unsigned lookups, unsigned updaters, const struct keyscale_result *results);
void keyscale_print(const struct keyscale_scheme *const *scheme, size_t count, const struct keyscale_result *results);

#endif
