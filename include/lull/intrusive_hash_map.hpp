/* SPDX-License-Identifier: MIT */
/*
 * intrusive_hash_map.hpp - the hash table of hash.h with types, over objects that belong to the user.
 *
 *	struct user {
 *		std::string name;
 *		lull_hash_node node;
 *		lull_head head;
 *	};
 *	lull::intrusive_hash_map<user, &user::node, &user::name> users;
 *
 *	users.insert(*u);
 *	{ LULL_RCU_GUARD();
 *	  if (user *u = users.find(name))	valid until the section ends
 *		... }
 *	if (user *u = users.erase(name))	now the caller's, who retires it
 *		lull_rcu_call(&u->head, drop_user);
 *
 * The third parameter is the key: a pointer to a member, or a function that takes a const T & and returns the key. Hash
 * and Eq are as in hash_map.hpp, and may throw: all calls are strong, and nothing stays locked. An object is in one map at a
 * time by each of its nodes. An element that a call returns as removed was taken off by this call alone; readers may
 * still use it, so do not change it or insert it anywhere before a grace period has passed.
 */
#ifndef LULL_INTRUSIVE_HASH_MAP_HPP
#define LULL_INTRUSIVE_HASH_MAP_HPP

#include <lull/detail/hash_core.hpp>
#include <lull/detail/member.hpp>

namespace lull
{
namespace detail
{
LULL__BEGIN_THROWING

template <class T, auto Node, auto KeyOf> struct intrusive_entry {
	static constexpr bool is_member = std::is_member_object_pointer<decltype(KeyOf)>::value;
	static constexpr bool is_quiet = []() constexpr {
		if constexpr (is_member)
			return true;
		else
			return noexcept(KeyOf(std::declval<const T &>()));
	}();

	/* A reference, unless a function makes the key. */
	static decltype(auto) key_of(const T &object) noexcept(is_quiet)
	{
		if constexpr (is_member)
			return (object.*KeyOf);
		else
			return KeyOf(object);
	}
	static T *object(const lull_hash_node *node) noexcept
	{
		return object_of<T>(node, static_cast<lull_hash_node T::*>(Node));
	}
	static T *object_or_null(const lull_hash_node *node) noexcept { return node ? object(node) : nullptr; }
	static decltype(auto) key(const lull_hash_node *node) noexcept(is_quiet) { return key_of(*object(node)); }
};

template <class T, auto KeyOf, class = decltype(KeyOf)> struct intrusive_key {
	using type = std::remove_cv_t<std::remove_reference_t<decltype(KeyOf(std::declval<const T &>()))>>;
};
template <class T, auto KeyOf, class Class, class Member> struct intrusive_key<T, KeyOf, Member Class::*> {
	using type = std::remove_cv_t<Member>;
};

LULL__END_THROWING
} // namespace detail

LULL__BEGIN_THROWING

template <class T, auto Node, auto KeyOf, class Hash = std::hash<typename detail::intrusive_key<T, KeyOf>::type>,
	  class Eq = equal_to>
class intrusive_hash_map
{
public:
	using key_type = typename detail::intrusive_key<T, KeyOf>::type;
	using value_type = T;
	using size_type = size_t;
	using hasher = detail::hash_of_keys<key_type, Hash>;
	using key_equal = Eq;
	static_assert(std::is_invocable_v<const Hash &, const key_type &>,
		      "lull::intrusive_hash_map: there is no std::hash of these keys, or Hash does not take them; say how to hash them");

private:
	using entry = detail::intrusive_entry<T, Node, KeyOf>;
	using core_type = detail::hash_core<key_type, entry, hasher, Eq>;
	template <class K> using argument = typename core_type::template argument<K>;
	template <class K> static constexpr bool quiet = core_type::template looks_quietly<K>;
	static constexpr bool updates_quietly = quiet<key_type>;
	static_assert(detail::points_to<decltype(Node), lull_hash_node>, "the member is a lull_hash_node");

public:
	/* The position of a walk, for range-for. In one read section of the caller's, as long as the walk lasts. */
	struct end_of_walk {
	};
	class iterator
	{
	public:
		T &operator*() const noexcept { return *entry::object(node); }
		T *operator->() const noexcept { return entry::object(node); }
		iterator &operator++() noexcept
		{
			node = lull__hash_iter_next(&at, node);
			return *this;
		}
		bool operator!=(end_of_walk) const noexcept { return node; }

	private:
		friend class intrusive_hash_map;
		explicit iterator(const lull_hash *table) noexcept : node(lull__hash_iter_first(table, &at)) {}
		lull_hash_iter at;
		lull_hash_node *node;
	};

	/* Throws std::bad_alloc, bad_hash_config. @buckets: at the start; 0: a few. hash.h has the rest. */
	intrusive_hash_map() : intrusive_hash_map(lull_hash_config()) {}
	explicit intrusive_hash_map(size_type buckets, hasher hash = hasher(), Eq equal = Eq())
		: intrusive_hash_map(lull_hash_config{ buckets, 0, 0 }, std::move(hash), std::move(equal))
	{
	}
	explicit intrusive_hash_map(const lull_hash_config &config, hasher hash = hasher(), Eq equal = Eq())
		: core(config, std::move(hash), std::move(equal))
	{
	}
	intrusive_hash_map(const intrusive_hash_map &) = delete;
	intrusive_hash_map &operator=(const intrusive_hash_map &) = delete;

	/* No other thread uses the map any more. Leaves the objects alone. */
	~intrusive_hash_map() { lull_hash_destroy(&core.table, nullptr, nullptr); }

	/* NULL: there is none. In a read section of the caller's: valid until it ends. */
	template <class K = key_type>
	LULL_INLINE T *find(const argument<K> &key) const noexcept(quiet<argument<K>>)
	{
		return entry::object_or_null(core.seek(core.hash_of(key), key));
	}

	template <class K = key_type>
	LULL_INLINE bool contains(const argument<K> &key) const noexcept(quiet<argument<K>>)
	{
		const uint64_t hash = core.hash_of(key);
		const detail::hash_section section;

		return core.seek(hash, key);
	}

	/* Insert @object unless there is one with its key. Returns whether it did. */
	bool insert(T &object) noexcept(updates_quietly)
	{
		return !core.insert(node_of(object), core.hash_of(entry::key_of(object)));
	}

	/* Insert likewise. Returns NULL, or the object that is there; to use that, call this in a read section. */
	T *find_or_insert(T &object) noexcept(updates_quietly)
	{
		return entry::object_or_null(core.insert(node_of(object), core.hash_of(entry::key_of(object))));
	}

	/* Insert @object, or put it in the place of the one with its key. Returns NULL, or that one, to be retired. */
	[[nodiscard]] T *insert_or_replace(T &object) noexcept(updates_quietly)
	{
		return entry::object_or_null(core.put(node_of(object), core.hash_of(entry::key_of(object))));
	}

	/* Put @object, with an equal key, in the place of @old, if that is there. Returns whether; then retire @old. */
	[[nodiscard]] bool replace(T &old, T &object) noexcept
	{
		return lull_hash_replace_node(&core.table, node_of(old), node_of(object)) == 0;
	}

	/* Returns the object, to be retired, or NULL. */
	template <class K = key_type> [[nodiscard]] T *erase(const argument<K> &key) noexcept(quiet<argument<K>>)
	{
		return entry::object_or_null(core.remove(core.hash_of(key), key));
	}

	/* Take @object off, found in this same read section, or known to be alive. Returns whether it was there. */
	[[nodiscard]] bool remove(T &object) noexcept { return lull_hash_remove_node(&core.table, node_of(object)) == 0; }

	/*
	 * Take off all objects, and call @retire(object) for each of them, in a read section, of which there are many: no walk
	 * over all holds others up. Not those that come meanwhile.
	 */
	template <class Retire> void clear(Retire retire)
	{
		core.visit_in_portions([&](lull_hash_node *node) {
			if (lull_hash_remove_node(&core.table, node) == 0)
				retire(*entry::object(node));
		});
	}

	/* Meets each object that is there during the whole walk, once, or more often during a resize. The body may update. */
	iterator begin() const noexcept { return iterator(&core.table); }
	end_of_walk end() const noexcept { return {}; }

	/*
	 * Call @use(object) likewise, but for none twice, and in many short sections: all as hash_map.hpp says of its
	 * for_each().
	 */
	template <class Use> void for_each(Use use) const
	{
		core.visit_in_portions([&](const lull_hash_node *node) { use(*entry::object(node)); });
	}

	size_type size() const noexcept { return lull_hash_count(&core.table); }
	bool empty() const noexcept { return size() == 0; }
	size_type bucket_count() const noexcept { return lull_hash_buckets(&core.table); }
	void rehash(size_type buckets) { core.resize(buckets); }
	void finish_resize() noexcept { lull_hash_finish_resize(&core.table); }
	lull_hash *native_handle() noexcept { return &core.table; }

private:
	core_type core;

	static lull_hash_node *node_of(T &object) noexcept { return &(object.*Node); }
};

LULL__END_THROWING
} // namespace lull

#endif /* LULL_INTRUSIVE_HASH_MAP_HPP */
