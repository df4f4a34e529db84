/* SPDX-License-Identifier: MIT */
/* The accesses of hash_map.h, and the loop around them. Included at the end of each scheme's file. */
BENCH_HASH_INLINE uint64_t hash_lookup(hash_table *table, bench_hash_mode mode, uint64_t hash, const bench_hash_key *key)
{
	const flavor_key asked = flavor_key_of(key, hash);
	uint64_t value;

	if (!(mode == BENCH_HASH_INTEGERS ? table->integers->look_up(asked, &value) : table->texts->look_up(asked, &value)))
		bench_hash_broken(FLAVOR_NAME);
	return value;
}

BENCH_HASH_INLINE void hash_replace(hash_table *table, bench_hash_mode mode, size_t index)
{
	const bench_hash_key *key = bench_hash_key_at(table->shape.asked, mode, index);
	const flavor_key fresh = flavor_key_of(bench_hash_key_at(table->shape.kept, mode, index),
					       bench_hash_of(key, index, mode));

	if (!(mode == BENCH_HASH_INTEGERS ? table->integers->replace(fresh, index) : table->texts->replace(fresh, index)))
		bench_hash_broken(FLAVOR_NAME);
}

#include "hash_loop.h"
