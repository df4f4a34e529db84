/* SPDX-License-Identifier: MIT */
/*
 * Common parts of the C++ maps: keys that know their hash, and a map for each kind of key. Each scheme defines
 *
 *	template <class Equal> struct flavor_map	a map of such keys; `Equal` compares two of them with equal hashes
 *		explicit flavor_map(const bench_hash_shape &)
 *		void insert(const flavor_key &, uint64_t value)
 *		bool look_up(const flavor_key &, uint64_t *value)
 *		bool replace(const flavor_key &, uint64_t value)	by another element; false: there was none
 */
#ifndef BENCH_CXX_HASH_MAP_H
#define BENCH_CXX_HASH_MAP_H

#include <cstring>
#include <memory>

#include "hash_scheme.h"
#include "flavor.h"

/* Each scheme has types and functions of its own, by the same names. */
namespace
{

struct flavor_key {
	const char *text;
	uint64_t length;
	uint64_t hash;
};

struct flavor_hash {
	using is_avalanching = void;
	size_t operator()(const flavor_key &key) const noexcept
	{
		return key.hash;
	}
};

/* Are two keys with equal hashes the same? Integers are their hashes. */
struct flavor_same_integer {
	bool operator()(const flavor_key &, const flavor_key &) const noexcept
	{
		return true;
	}
};

struct flavor_same_text {
	bool operator()(const flavor_key &a, const flavor_key &b) const noexcept
	{
		return a.length == b.length && !std::memcmp(a.text, b.text, a.length);
	}
};

/* For maps that do not compare the hashes first. */
template <class Equal> struct flavor_same_hash {
	bool operator()(const flavor_key &a, const flavor_key &b) const noexcept
	{
		return a.hash == b.hash && Equal()(a, b);
	}
};

/* Fills an element up to 64 bytes, beside its key and the part of the map. */
struct flavor_value {
	uint64_t value;
	uint64_t payload[2];
};

template <class Equal> struct flavor_map;

struct hash_table {
	bench_hash_shape shape;
	std::unique_ptr<flavor_map<flavor_same_integer>> integers;
	std::unique_ptr<flavor_map<flavor_same_text>> texts;
};

/* A key out of shape->asked or kept, with its hash at the price that the mode has. */
BENCH_HASH_INLINE flavor_key flavor_key_of(const bench_hash_key *key, uint64_t hash)
{
	return key ? flavor_key{ key->text, key->length, hash } : flavor_key{ nullptr, 0, hash };
}

inline void flavor_thread_enter()
{
}

inline void flavor_thread_leave()
{
}

inline void flavor_quiescent()
{
}

template <class Map> void flavor_fill(const std::unique_ptr<Map> &map, const bench_hash_shape *shape)
{
	for (size_t i = 0; i < shape->elements; i++) {
		const bench_hash_key *key = bench_hash_key_at(shape->kept, shape->mode, i);

		map->insert(flavor_key_of(key, key ? key->hash : i), i);
	}
}

void *hash_create(const bench_hash_shape *shape)
{
	hash_table *table = new hash_table{ *shape, nullptr, nullptr };

	if (shape->mode == BENCH_HASH_INTEGERS) {
		table->integers = std::make_unique<flavor_map<flavor_same_integer>>(*shape);
		flavor_fill(table->integers, shape);
	} else {
		table->texts = std::make_unique<flavor_map<flavor_same_text>>(*shape);
		flavor_fill(table->texts, shape);
	}
	return table;
}

void hash_destroy(void *table)
{
	delete static_cast<hash_table *>(table);
}

} // namespace

#endif
