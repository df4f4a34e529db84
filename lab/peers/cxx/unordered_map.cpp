/* SPDX-License-Identifier: MIT */
/* Hash table: std::unordered_map, with a std::shared_mutex around it. An update swaps a pointer under the lock. */
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "hash_map.h"

#define FLAVOR_NAME "unordered_map"
#define FLAVOR_WHAT "std::unordered_map and std::shared_mutex (C++)"

#define HASH_BODY bench_hash_unordered_map
#define HASH_SECTION "rwlock"
#define HASH_HOLDS_UP "updates"
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
		map.emplace(key, new flavor_value{ value, {} });
	}

	bool look_up(const flavor_key &key, uint64_t *value)
	{
		std::shared_lock<std::shared_mutex> section(mutex);
		const auto found = map.find(key);

		if (__builtin_expect(found == map.end(), 0))
			return false;
		*value = found->second->value;
		return true;
	}

	bool replace(const flavor_key &key, uint64_t value)
	{
		std::unique_ptr<flavor_value> fresh(new flavor_value{ value, {} });
		std::lock_guard<std::shared_mutex> lock(mutex);
		const auto found = map.find(key);

		if (__builtin_expect(found == map.end(), 0))
			return false;
		found->second.swap(fresh);
		return true;
	}

	std::shared_mutex mutex;
	std::unordered_map<flavor_key, std::unique_ptr<flavor_value>, flavor_hash, flavor_same_hash<Equal>> map;
};

} // namespace

#include "hash_map_loop.h"
