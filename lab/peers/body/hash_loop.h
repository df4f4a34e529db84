/* SPDX-License-Identifier: MIT */
/*
 * The measured loop, and the scheme HASH_BODY made of it. Included at the end of each scheme's
 * file, after a flavor header, struct hash_table (with a member `struct bench_hash_shape shape`),
 * hash_create(), hash_destroy(), and these two, BENCH_HASH_INLINE so that `mode` is a constant in
 * each copy of the loop:
 *
 *	hash_lookup(table, mode, hash, key)	the value of the key's element, read in a section
 *	hash_replace(table, mode, index)	replaces the element of that key
 */
#include "hash_scheme.h"

/* A linear congruential step: the high half chooses the key, the low half the operation. */
BENCH_HASH_INLINE uint64_t hash_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state;
}

BENCH_HASH_INLINE uint64_t hash_loop(struct bench_thread *t, struct hash_table *table, uint64_t n,
				     uint64_t updates, enum bench_hash_mode mode, bool mixed)
{
	const struct bench_hash_key *asked = table->shape.asked;
	uint64_t elements = table->shape.elements, rng = t->rng, sum = 0;

	while (n) {
		uint64_t burst = n < FLAVOR_QUIESCENT_EVERY ? n : FLAVOR_QUIESCENT_EVERY;

		n -= burst;
		for (; burst; burst--) {
			uint64_t random = hash_random(&rng),
				 index = (random >> 32) * elements >> 32;
			const struct bench_hash_key *key = bench_hash_key_at(asked, mode, index);

			if (mixed && (uint32_t)random < updates)
				hash_replace(table, mode, index);
			else
				sum += hash_lookup(table, mode, bench_hash_of(key, index, mode), key);
		}
		flavor_quiescent();
	}
	t->rng = rng;
	return sum;
}

static uint64_t hash_run(struct bench_thread *t, void *arg, uint64_t n, uint64_t updates)
{
	struct hash_table *table = (struct hash_table *)arg;

	switch (table->shape.mode) {
	case BENCH_HASH_INTEGERS:
		return updates ? hash_loop(t, table, n, updates, BENCH_HASH_INTEGERS, true)
			       : hash_loop(t, table, n, 0, BENCH_HASH_INTEGERS, false);
	case BENCH_HASH_TEXTS:
		return updates ? hash_loop(t, table, n, updates, BENCH_HASH_TEXTS, true)
			       : hash_loop(t, table, n, 0, BENCH_HASH_TEXTS, false);
	default:
		return updates ? hash_loop(t, table, n, updates, BENCH_HASH_PREHASHED, true)
			       : hash_loop(t, table, n, 0, BENCH_HASH_PREHASHED, false);
	}
}

static void hash_update(void *arg, size_t index)
{
	struct hash_table *table = (struct hash_table *)arg;

	if (table->shape.mode == BENCH_HASH_INTEGERS)
		hash_replace(table, BENCH_HASH_INTEGERS, index);
	else if (table->shape.mode == BENCH_HASH_TEXTS)
		hash_replace(table, BENCH_HASH_TEXTS, index);
	else
		hash_replace(table, BENCH_HASH_PREHASHED, index);
	flavor_quiescent();
}

#ifndef HASH_BARRIER
#define HASH_BARRIER() flavor_barrier()
#endif

#if defined(FLAVOR_HAS_GP) && !defined(HASH_SETTLES_IN_LEAVE)
static void hash_settle(void)
{
	HASH_BARRIER();
}
#else
#define hash_settle NULL
#endif

#ifdef HASH_COUNTS_DEFERRED
#define HASH_DEFERRED bench_hash_deferred
#endif
#ifndef HASH_DEFERRED
#define HASH_DEFERRED NULL
#endif
#ifndef HASH_SECTION
#define HASH_SECTION FLAVOR_NAME
#endif
#ifndef HASH_READER_MAY_BLOCK
#define HASH_READER_MAY_BLOCK false
#endif
#ifndef HASH_UPDATES_ALONE
#define HASH_UPDATES_ALONE false
#endif
#ifndef HASH_OBJECT_BYTES
#define HASH_OBJECT_BYTES 0
#endif
#ifndef HASH_CPU_BYTES
#define HASH_CPU_BYTES 0
#endif
#ifndef HASH_BUCKET_BYTES
#define HASH_BUCKET_BYTES (sizeof(struct hash_bucket) - sizeof(void *))
#endif
#ifndef HASH_THREAD_BYTES
#define HASH_THREAD_BYTES 0
#endif
#ifndef HASH_RELOAD_BEGIN
#define HASH_RELOAD_BEGIN NULL
#define HASH_RELOAD_END NULL
#endif

const struct bench_hash_scheme HASH_BODY = {
	.name = FLAVOR_NAME,
	.what = FLAVOR_WHAT,
	.section = HASH_SECTION,
	.holds_up = HASH_HOLDS_UP,
	.reader_may_block = HASH_READER_MAY_BLOCK,
	.updates_alone = HASH_UPDATES_ALONE,
	.object_bytes = HASH_OBJECT_BYTES,
	.cpu_bytes = HASH_CPU_BYTES,
	.bucket_bytes = HASH_BUCKET_BYTES,
	.thread_bytes = HASH_THREAD_BYTES,
	.create = hash_create,
	.destroy = hash_destroy,
	.thread_enter = flavor_thread_enter,
	.thread_leave = flavor_thread_leave,
	.run = hash_run,
	.update = hash_update,
	.settle = hash_settle,
	.deferred = HASH_DEFERRED,
	.reload_begin = HASH_RELOAD_BEGIN,
	.reload_end = HASH_RELOAD_END,
};
