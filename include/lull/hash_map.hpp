/* SPDX-License-Identifier: MIT */
/*
 * hash_map.hpp - the hash table of hash.h with types: a map that owns its elements, and one that does not.
 *
 *	lull::hash_map<std::string, route> routes;
 *
 *	if (auto r = routes.find(name))		a read section, which ends with r
 *		use(r->second);
 *	routes.insert_or_assign(name, route(...));
 *	routes.update(name, [](const route &old) { return old.with_metric(7); });
 *	for (const auto &[name, route] : routes)
 *		...
 *
 * Any thread may call any function at any time, except constructors and destructors. Lookups take no lock, and never
 * wait, also while the table grows. An element never changes: an assignment puts another one in its place, and readers
 * have the one or the other. The old element is destroyed when no section is left that may have found it: at once freed if
 * it has no destructor to run, else destroyed on the reclaimer's thread (reclaim.h), where its destructor must not throw.
 * (If readers should change something in an element, give it mutable atomic members.)
 *
 * Hash and Eq may throw, and so may the constructors of Key and T. Each call says what holds then; "strong" means that
 * nothing has changed. Nothing ever stays locked. Hash is called before anything is locked, Eq with a bucket locked in
 * updates: it must not update this map. Both are called by several threads at once, as const.
 *
 * The table wants well mixed hashes, and std::hash of a number is that number. So the map mixes what Hash returns, unless
 * Hash has a member type is_avalanching. If strangers choose the keys, use a Hash with a secret (lull_hash_bytes()).
 * If Hash and Eq both have a member type is_transparent, lookups and erase() take every type that both take.
 *
 * Without exceptions in the compiler the program ends (std::terminate) where there is no memory, and the map is another
 * type to the linker: code that is compiled with exceptions cannot use it.
 */
#ifndef LULL_HASH_MAP_HPP
#define LULL_HASH_MAP_HPP

#include <tuple>

#include <lull/detail/hash_core.hpp>
#include <lull/detail/hash_entry.hpp>

namespace lull
{
LULL__BEGIN_THROWING

/*
 * How a map reclaims: after a grace period. A policy of your own needs call(), which makes sure that @func(@head) is
 * called when no reader is left; the map counts @bytes for it. free(), for elements without destructors, may be missing.
 */
struct by_rcu {
	static void call(lull_head *head, lull_rcu_func func, size_t bytes) noexcept { lull_rcu_call_sized(head, func, bytes); }
	static void free(void *memory, size_t bytes) noexcept { lull_rcu_free_sized(memory, bytes); }
};

template <class Key, class T, class Hash = std::hash<Key>, class Eq = equal_to, class Reclaim = by_rcu> class hash_map
{
public:
	using key_type = Key;
	using mapped_type = T;
	using value_type = std::pair<const Key, T>;
	using size_type = size_t;
	using hasher = detail::hash_of_keys<Key, Hash>;
	using key_equal = Eq;
	static_assert(std::is_invocable_v<const Hash &, const Key &>,
		      "lull::hash_map: there is no std::hash of these keys, or Hash does not take them; say how to hash them");

private:
	using entry = detail::hash_entry<value_type, Reclaim>;
	using core_type = detail::hash_core<Key, entry, hasher, Eq>;
	template <class K> using argument = typename core_type::template argument<K>;
	template <class K> static constexpr bool quiet = core_type::template looks_quietly<K>;

	static const value_type *value_of(const lull_hash_node *node) noexcept
	{
		return node ? &static_cast<const entry *>(node)->value : nullptr;
	}

public:
	/*
	 * Hold the result of find(): a pointer to the element, or nothing. A read section begins and ends with this object.
	 * It stays in its block: it cannot be copied, moved, or made by new. Long waits in that block hold reclamation up.
	 */
	class [[nodiscard]] found
	{
	public:
		found(const found &) = delete;
		found &operator=(const found &) = delete;
		static void *operator new(size_t) = delete;
		static void *operator new[](size_t) = delete;

		explicit operator bool() const noexcept { return node; }
		const value_type &operator*() const noexcept { return *value_of(node); }
		const value_type *operator->() const noexcept { return value_of(node); }

	private:
		friend class hash_map;
		template <class K>
		LULL_INLINE found(const core_type &into, uint64_t hash, const K &key) noexcept(core_type::template compares_quietly<K>)
			: node(into.seek(hash, key))
		{
		}
		detail::hash_section section; /* begins before the look, and ends if that throws */
		lull_hash_node *node;
	};

	/* For range-for: the position of a walk, in a read section that lasts as long as the walk. */
	struct end_of_walk {
	};
	class walk
	{
	public:
		walk(const walk &) = delete;
		walk &operator=(const walk &) = delete;
		static void *operator new(size_t) = delete;

		const value_type &operator*() const noexcept { return *value_of(node); }
		const value_type *operator->() const noexcept { return value_of(node); }
		walk &operator++() noexcept
		{
			node = lull__hash_iter_next(&at, node);
			return *this;
		}
		bool operator!=(end_of_walk) const noexcept { return node; }

	private:
		friend class hash_map;
		explicit walk(const lull_hash *table) noexcept : node(lull__hash_iter_first(table, &at)) {}
		detail::hash_section section;
		lull_hash_iter at;
		lull_hash_node *node;
	};

	/* Throws std::bad_alloc, bad_hash_config. @buckets: at the start; 0: a few. hash.h has the rest. */
	hash_map() : hash_map(lull_hash_config()) {}
	explicit hash_map(size_type buckets, hasher hash = hasher(), Eq equal = Eq())
		: hash_map(lull_hash_config{ buckets, 0, 0 }, std::move(hash), std::move(equal))
	{
	}
	explicit hash_map(const lull_hash_config &config, hasher hash = hasher(), Eq equal = Eq())
		: core(config, std::move(hash), std::move(equal))
	{
	}
	hash_map(const hash_map &) = delete;
	hash_map &operator=(const hash_map &) = delete;

	/* No other thread uses the map any more. Destroys the elements here and now. */
	~hash_map() { lull_hash_destroy(&core.table, entry::gone, nullptr); }

	/* ---- lookups, inline as in C: they throw what Hash and Eq throw -------------------------------------- */

	template <class K = Key>
	LULL_INLINE found find(const argument<K> &key) const noexcept(quiet<argument<K>>)
	{
		return found(core, core.hash_of(key), key);
	}

	/* In a read section of the caller's: valid until it ends; NULL if there is none. */
	template <class K = Key>
	LULL_INLINE const value_type *lookup(const argument<K> &key) const noexcept(quiet<argument<K>>)
	{
		return value_of(core.seek(core.hash_of(key), key));
	}

	template <class K = Key>
	LULL_INLINE bool contains(const argument<K> &key) const noexcept(quiet<argument<K>>)
	{
		const uint64_t hash = core.hash_of(key);
		const detail::hash_section section;

		return core.seek(hash, key);
	}

	/* Call @use(element) in a read section, if there is one. Returns whether there is. Throws what @use throws. */
	template <class K = Key, class Use> bool visit(const argument<K> &key, Use &&use) const
	{
		found there = find<K>(key);

		if (there)
			std::forward<Use>(use)(*there);
		return static_cast<bool>(there);
	}

	/* ---- updates: strong -------------------------------------------------------------------------------- */

	/*
	 * Insert an element with @key, and a T made of @args, unless there is one with that key. Returns whether it did.
	 * If the key was there when the call began, @key and @args are as they were. If another thread inserts it meanwhile,
	 * they may have been moved from, and their copy is destroyed.
	 */
	template <class K = Key, class... Args> bool try_emplace(const argument<K> &key, Args &&...args)
	{
		return emplace_new(key, key, std::forward<Args>(args)...);
	}
	template <class... Args> bool try_emplace(Key &&key, Args &&...args)
	{
		return emplace_new(key, std::move(key), std::forward<Args>(args)...);
	}
	bool insert(const value_type &value) { return emplace_new(value.first, value.first, value.second); }
	bool insert(value_type &&value) { return emplace_new(value.first, value.first, std::move(value.second)); }

	/* Make the pair first, of @args, and insert it unless its key is there. */
	template <class... Args> bool emplace(Args &&...args)
	{
		fresh made(entry::make(std::forward<Args>(args)...));

		return made.insert_into(core, core.hash_of(made.key()));
	}

	/* Insert the element, or put it in the place of the one with @key. Returns whether there was none. */
	template <class V> bool insert_or_assign(const Key &key, V &&value) { return put(key, std::forward<V>(value)); }
	template <class V> bool insert_or_assign(Key &&key, V &&value) { return put(std::move(key), std::forward<V>(value)); }

	/*
	 * Put an element with the value @change(old value) in the place of the one with @key. Nothing is lost if threads do so
	 * at once: @change is called again if another one was faster. It runs in a read section. Returns false if there is none.
	 * In a loop the old elements that wait are bounded (reclaim.h), unless the caller is in a section all the time.
	 */
	template <class K = Key, class Change> bool update(const argument<K> &key, Change &&change)
	{
		const uint64_t hash = core.hash_of(key);
		const detail::hash_section section;

		while (lull_hash_node *old = core.seek(hash, key)) {
			const value_type &was = *value_of(old);
			fresh made(make(was.first, change(was.second)));

			if (made.replace(core, old))
				return true;
		}
		return false;
	}

	/* Returns whether this call removed it. */
	template <class K = Key> bool erase(const argument<K> &key) noexcept(quiet<argument<K>>)
	{
		lull_hash_node *old = core.remove(core.hash_of(key), key);

		if (old)
			entry::retire(old);
		return old;
	}

	/* This very element, if it is still there. @element stays valid. */
	bool erase(const found &element) noexcept
	{
		return element && lull_hash_remove_node(&core.table, element.node) == 0 && (entry::retire(element.node), true);
	}

	/*
	 * Erase the elements for which @is_it(element) is true. Returns how many. Elements that other threads insert
	 * meanwhile may stay. If @is_it throws, what was erased so far is gone. Neither this call nor clear() holds readers'
	 * updaters up, or lets more wait than the limits of reclaim.h: they go through the map as for_each() does.
	 */
	template <class Which> size_type erase_if(Which is_it)
	{
		size_type count = 0;

		core.visit_in_portions([&](lull_hash_node *node) {
			if (is_it(*value_of(node)) && lull_hash_remove_node(&core.table, node) == 0) {
				entry::retire(node);
				count++;
			}
		});
		return count;
	}
	void clear() noexcept
	{
		erase_if([](const value_type &) noexcept { return true; });
	}

	/* ---- all elements ----------------------------------------------------------------------------------- */

	/*
	 * for (const auto &[key, value] : map). It meets each element that is in the map during the whole walk, once, or
	 * perhaps more than once while the table is resized. The body may update the map. The walk follows a table that grows,
	 * and all that others retire waits for it: of a large map, or one that grows, take for_each().
	 */
	walk begin() const noexcept { return walk(&core.table); }
	end_of_walk end() const noexcept { return {}; }

	/*
	 * Call @use(element) for each element, in a read section that is left every 64 elements (but not the caller's): what
	 * others retire does not wait for the whole walk. It calls for each element that is there during the whole walk, and
	 * for none twice; one that comes meanwhile is met or not, and the walk ends however many come (hash_cursor.h). @use may
	 * update the map. If it throws, the walk is over.
	 */
	template <class Use> void for_each(Use use) const
	{
		core.visit_in_portions([&](const lull_hash_node *node) { use(*value_of(node)); });
	}

	/* Exact while no thread updates. */
	size_type size() const noexcept { return lull_hash_count(&core.table); }
	bool empty() const noexcept { return size() == 0; }
	size_type bucket_count() const noexcept { return lull_hash_buckets(&core.table); }

	/* Move to a table of @buckets; throws std::bad_alloc (strong). finish_resize() helps a resize that goes on to its end. */
	void rehash(size_type buckets) { core.resize(buckets); }
	void finish_resize() noexcept { lull_hash_finish_resize(&core.table); }

	lull_hash *native_handle() noexcept { return &core.table; }

private:
	core_type core;

	/* An element that is in no map yet, and is destroyed unless it comes into one. */
	class fresh
	{
	public:
		explicit fresh(entry *made) noexcept : mine(made) {}
		fresh(const fresh &) = delete;
		fresh &operator=(const fresh &) = delete;
		~fresh()
		{
			if (mine)
				entry::destroy(mine);
		}
		const Key &key() const noexcept { return mine->value.first; }
		bool insert_into(core_type &into, uint64_t hash)
		{
			return !into.insert(mine, hash) && is_in();
		}
		lull_hash_node *put_into(core_type &into, uint64_t hash)
		{
			lull_hash_node *old = into.put(mine, hash);

			is_in();
			return old;
		}
		bool replace(core_type &into, lull_hash_node *old) noexcept
		{
			return lull_hash_replace_node(&into.table, old, mine) == 0 && is_in() && (entry::retire(old), true);
		}

	private:
		entry *mine;
		bool is_in() noexcept
		{
			mine = nullptr;
			return true;
		}
	};

	template <class K, class... Args> static entry *make(K &&key, Args &&...args)
	{
		return entry::make(std::piecewise_construct, std::forward_as_tuple(std::forward<K>(key)),
				   std::forward_as_tuple(std::forward<Args>(args)...));
	}

	template <class Look, class K, class... Args> bool emplace_new(const Look &look, K &&key, Args &&...args)
	{
		const uint64_t hash = core.hash_of(look);

		if (found(core, hash, look))
			return false;
		fresh made(make(std::forward<K>(key), std::forward<Args>(args)...));
		return made.insert_into(core, hash);
	}

	template <class K, class V> bool put(K &&key, V &&value)
	{
		const uint64_t hash = core.hash_of(key);
		lull_hash_node *old = fresh(make(std::forward<K>(key), std::forward<V>(value))).put_into(core, hash);

		if (old)
			entry::retire(old);
		return !old;
	}
};

LULL__END_THROWING
} // namespace lull

#endif /* LULL_HASH_MAP_HPP */
