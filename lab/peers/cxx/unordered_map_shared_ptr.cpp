/* SPDX-License-Identifier: MIT */
/*
 * Hash table: a std::unordered_map whose keys never change, of std::atomic<std::shared_ptr>. No lock: nothing could be
 * inserted or erased.
 */
#include <atomic>
#include <unordered_map>

#include "hash_map.h"

#define FLAVOR_NAME "unordered_map-shared_ptr"
#define FLAVOR_WHAT "std::unordered_map of std::atomic<std::shared_ptr> (C++), keys never change"

#define HASH_BODY bench_hash_unordered_map_shared_ptr
#define HASH_SECTION "atomic-shared_ptr"
#define HASH_HOLDS_UP "memory"
#define HASH_READER_MAY_BLOCK true
#define HASH_BUCKET_BYTES BENCH_HASH_MEASURED

namespace
{

template <class Equal> struct flavor_map {
	explicit flavor_map(const bench_hash_shape &shape)
	{
		map.max_load_factor(shape.grow ? 1.0f : static_cast<float>(shape.elements));
		map.rehash(shape.buckets);
	}

	void insert(const flavor_key &key, uint64_t value)
	{
		map[key].store(std::make_shared<flavor_value>(flavor_value{ value, {} }));
	}

	bool look_up(const flavor_key &key, uint64_t *value)
	{
		const auto found = map.find(key);

		if (__builtin_expect(found == map.end(), 0))
			return false;
		*value = found->second.load()->value;
		return true;
	}

	bool replace(const flavor_key &key, uint64_t value)
	{
		const auto found = map.find(key);

		if (__builtin_expect(found == map.end(), 0))
			return false;
		found->second.store(std::make_shared<flavor_value>(flavor_value{ value, {} }));
		return true;
	}

	std::unordered_map<flavor_key, std::atomic<std::shared_ptr<flavor_value>>, flavor_hash, flavor_same_hash<Equal>> map;
};

} // namespace

#include "hash_map_loop.h"
