/* SPDX-License-Identifier: MIT */
/* The parts of `lull hashscale`, among themselves. */
#ifndef LULL_LAB_HASHSCALE_H
#define LULL_LAB_HASHSCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/json.h"
#include "common/options.h"
#include "common/bench.h"
#include "hash_scheme.h"
#include "instruments/hash/key_file.h"

#define HASHSCALE_SCHEMES_MAX 64

struct hashscale_settings {
	const char *keys_path;
	size_t elements, buckets; /* 0: not given */
	bool prehashed, grow, check, reload;
	unsigned *updates; /* percent */
	size_t nr_updates;
	unsigned figure; /* of the article; 0: none */
	uint64_t seed;
};

/* One chosen scheme. */
struct hashscale_entry {
	const struct bench_hash_scheme *scheme;
	void *lookups, *mixed; /* tables */
	size_t thread_bytes;
	double object_bytes;
};

struct hashscale {
	const struct options *opt;
	const struct hashscale_settings *settings;
	struct keys keys;
	struct bench_hash_shape shape;
	struct hashscale_entry entries[HASHSCALE_SCHEMES_MAX];
	size_t count;
	struct bench_pool *pool;
	struct jsonout *json;
};

/* Return whether any of the mixes has updates. */
bool hashscale_updates(const struct hashscale *run);
/* Bytes that malloc has given out. */
size_t hashscale_heap(void);
/* Fills in thread_bytes of all entries. While this process has a single thread and no tables. */
void hashscale_probe(struct hashscale_entry *entries, size_t count);
/* Return the shares of the time of all tables of figures. */
double hashscale_shares(const struct hashscale *run);
/* All the slices that there is time for; prints, and adds to the JSON. */
void hashscale_measure(struct hashscale *run);
/* The same for reloads. */
void hashscale_reload(struct hashscale *run);

#endif
