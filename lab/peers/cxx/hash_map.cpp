/* SPDX-License-Identifier: MIT */
/* Hash table: lull's own with types, lull::hash_map. */
#include <lull/hash_map.hpp>

#include "hash_map.h"

#define FLAVOR_NAME "cxx-hash_map"
#define FLAVOR_WHAT "lull::hash_map (C++), lull's own hash table with types"
#define FLAVOR_HAS_GP 1

#define HASH_BODY bench_hash_cxx_hash_map
#define HASH_SECTION "cxx-rcu"
#define HASH_HOLDS_UP "memory"
#define HASH_READER_MAY_BLOCK true
#define HASH_BUCKET_BYTES (sizeof(struct lull__hash_bucket) - sizeof(void *))
#define HASH_THREAD_BYTES sizeof(struct lull__thread)
#define HASH_DEFERRED bench_hash_lull_deferred

namespace
{

inline void flavor_barrier()
{
	lull_rcu_barrier();
}

template <class Equal> struct flavor_map {
	using map_type = lull::hash_map<flavor_key, flavor_value, flavor_hash, Equal>;

	explicit flavor_map(const bench_hash_shape &shape)
		: map(lull_hash_config{ shape.buckets, 0, shape.grow ? 0u : static_cast<uint32_t>(LULL_HASH_FIXED) })
	{
	}

	void insert(const flavor_key &key, uint64_t value)
	{
		map.try_emplace(key, flavor_value{ value, {} });
	}

	bool look_up(const flavor_key &key, uint64_t *value)
	{
		const auto found = map.find(key);

		if (__builtin_expect(!found, 0))
			return false;
		*value = found->second.value;
		return true;
	}

	bool replace(const flavor_key &key, uint64_t value)
	{
		return !map.insert_or_assign(key, flavor_value{ value, {} });
	}

	map_type map;
};

static_assert(sizeof(lull::detail::hash_entry<std::pair<const flavor_key, flavor_value>, lull::by_rcu>) == 64, "as all elements");

} // namespace

#include "hash_map_loop.h"
