/* SPDX-License-Identifier: MIT */
/*
 * hash_entry.hpp - an element of a lull::hash_map: how it is made, and how it goes.
 */
#ifndef LULL_HASH_ENTRY_HPP
#define LULL_HASH_ENTRY_HPP

#include <errno.h>
#include <stdlib.h>

#include <new>
#include <type_traits>
#include <utility>

#include <lull/detail/hash_core.hpp>

namespace lull
{
namespace detail
{
LULL__BEGIN_THROWING

template <class Reclaim, class = void> constexpr bool has_free = false;
template <class Reclaim>
constexpr bool has_free<Reclaim, std::void_t<decltype(Reclaim::free(static_cast<void *>(nullptr), size_t()))>> = true;

struct no_head {
};

/* An element of a hash_map, in memory of malloc(). */
template <class Value, class Reclaim>
struct hash_entry : lull_hash_node,
		    std::conditional_t<std::is_trivially_destructible<Value>::value && has_free<Reclaim>, no_head, lull_head> {
	static constexpr bool is_plain = std::is_trivially_destructible<Value>::value && has_free<Reclaim>;
	Value value;

	template <class... Args> explicit hash_entry(Args &&...args) : lull_hash_node(), value(std::forward<Args>(args)...) {}

	static const auto &key(const lull_hash_node *node) noexcept { return static_cast<const hash_entry &>(*node).value.first; }

	/* Throws std::bad_alloc, and what the constructors throw. */
	template <class... Args> static hash_entry *make(Args &&...args)
	{
		struct memory {
			void *at;
			~memory() { ::free(at); }
		} fresh{ alignof(hash_entry) > alignof(max_align_t) ? aligned_alloc(alignof(hash_entry), sizeof(hash_entry)) :
								      malloc(sizeof(hash_entry)) };

		if (!fresh.at)
			hash_failed(-ENOMEM);
		hash_entry *made = ::new (fresh.at) hash_entry(std::forward<Args>(args)...);
		fresh.at = nullptr;
		return made;
	}

	/* At once. */
	static void destroy(hash_entry *entry) noexcept
	{
		entry->~hash_entry();
		::free(entry);
	}

	static void retire(lull_hash_node *node) noexcept
	{
		auto *entry = &static_cast<hash_entry &>(*node); /* of a pointer it would keep null, and gcc would warn of that path */

		if constexpr (is_plain)
			Reclaim::free(static_cast<void *>(entry), sizeof(*entry));
		else
			Reclaim::call(
				entry, [](lull_head *head) noexcept { destroy(&static_cast<hash_entry &>(*head)); }, sizeof(*entry));
	}

	static void gone(lull_hash_node *node, void *) noexcept { destroy(&static_cast<hash_entry &>(*node)); }
};

LULL__END_THROWING
} // namespace detail
} // namespace lull

#endif /* LULL_HASH_ENTRY_HPP */
