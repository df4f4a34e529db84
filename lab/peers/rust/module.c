/* SPDX-License-Identifier: MIT */
/*
 * The module rust.so: hash tables of Rust's, whose loops are in src/lib.rs. Built with LULL_PEERS_RUST.
 *
 * Rust's thread-local variables are reached by a call, because a stable compiler offers nothing else for a shared object:
 * as in a plugin, not as in a program.
 */
#include <stddef.h>

#include "hash_scheme.h"
#include "peer_module.h"

void *lull_rust_papaya(const struct bench_hash_shape *shape);
void *lull_rust_flurry(const struct bench_hash_shape *shape);
void *lull_rust_scc_index(const struct bench_hash_shape *shape);
uint64_t lull_rust_run(const void *table, uint64_t *rng, uint64_t n, uint64_t updates);
void lull_rust_update(const void *table, size_t index);
void lull_rust_destroy(void *table);

/* Functions that src/lib.rs calls. */
void lull_rust_retired(void);
void lull_rust_freed(void);

void lull_rust_retired(void) { bench_hash_retired(); }
void lull_rust_freed(void) { bench_hash_freed(); }

/* struct Shape of src/lib.rs is this one. */
_Static_assert(offsetof(struct bench_hash_shape, elements) == 8 && offsetof(struct bench_hash_shape, buckets) == 16 &&
		       offsetof(struct bench_hash_shape, grow) == 24 && offsetof(struct bench_hash_shape, asked) == 32 &&
		       offsetof(struct bench_hash_shape, kept) == 40 && sizeof(struct bench_hash_shape) == 48,
	       "Shape");
_Static_assert(offsetof(struct bench_hash_key, text) == 0 && offsetof(struct bench_hash_key, hash) == 8 &&
		       offsetof(struct bench_hash_key, length) == 16,
	       "Asked");

static void nothing(void)
{
}

static uint64_t run(struct bench_thread *t, void *table, uint64_t n, uint64_t updates)
{
	return lull_rust_run(table, &t->rng, n, updates);
}

static void update(void *table, size_t key)
{
	lull_rust_update(table, key);
}

#define SCHEME(title, words, make)                                                                                  \
	{                                                                                                           \
		.name = title, .what = words, .section = "", .holds_up = "memory", .reader_may_block = true,        \
		.bucket_bytes = BENCH_HASH_MEASURED, .create = make, .destroy = lull_rust_destroy,                  \
		.thread_enter = nothing, .thread_leave = nothing, .run = run, .update = update,                     \
		.deferred = bench_hash_deferred,                                                                    \
	}

static const struct bench_hash_scheme papaya =
	SCHEME("papaya", "Rust: papaya::HashMap, grows; an update allocates an entry", lull_rust_papaya);
static const struct bench_hash_scheme flurry =
	SCHEME("flurry", "Rust: flurry::HashMap, grows; an update allocates a value", lull_rust_flurry);
static const struct bench_hash_scheme scc_index =
	SCHEME("scc-index", "Rust: scc::HashIndex, grows; entries are in the buckets; a lookup that misses an update takes a lock",
	       lull_rust_scc_index);

static const void *const hash[] = { &papaya, &flurry, &scc_index, NULL };

const struct peer_module lull_peer_module = {
	.build = PEER_BUILD,
	.library = "Rust",
	.version = PEER_VERSION,
	.schemes = { [PEER_HASH] = hash },
};
