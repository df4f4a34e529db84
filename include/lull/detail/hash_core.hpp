/* SPDX-License-Identifier: MIT */
/*
 * hash_core.hpp - what the two maps of hash_map.hpp share: a struct lull_hash whose users may throw.
 *
 * The C table calls its match function with a bucket locked, and knows no exceptions. So the match function catches and
 * keeps each exception of the user's comparison. Then it answers so that the C function changes nothing: it tells an
 * insertion that the key is there, and a removal that there is no such key. The C function unlocks its bucket and
 * returns, and then the exception goes on. Where the comparison cannot throw, nothing of this is compiled.
 */
#ifndef LULL_HASH_CORE_HPP
#define LULL_HASH_CORE_HPP

#include <errno.h>

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

/* std::hash, without more than needed: of the headers that have it, <optional> is the least. */
#if defined(__GLIBCXX__) && __has_include(<bits/functional_hash.h>)
#include <bits/functional_hash.h>
#else
#include <optional>
#endif

#include <lull/hash_cursor.h>

/*
 * In a program whose files are compiled in part without exceptions, the linker keeps one copy of each function. Such a map
 * must not get functions that cannot catch, so without exceptions it is another type.
 */
#ifdef __cpp_exceptions
#define LULL__BEGIN_THROWING
#define LULL__END_THROWING
#else
#define LULL__BEGIN_THROWING inline namespace no_exceptions {
#define LULL__END_THROWING   }
#endif

namespace lull
{

/* Compares by ==. Transparent: if the hash is that, too, lookups take every type that both take. */
struct equal_to {
	using is_transparent = void;
	template <class A, class B>
	constexpr bool operator()(const A &a, const B &b) const noexcept(noexcept(static_cast<bool>(a == b)))
	{
		return static_cast<bool>(a == b);
	}
};

/* Thrown by constructors: unknown flags, or more buckets at the start than at most. */
class LULL__API_CLASS bad_hash_config : public std::exception
{
public:
	const char *what() const noexcept override { return "lull: a hash table cannot be set up like this"; }
};

namespace detail
{
LULL__BEGIN_THROWING

template <class F, class = void> constexpr bool is_transparent = false;
template <class F> constexpr bool is_transparent<F, std::void_t<typename F::is_transparent>> = true;

/* Does a hash say of itself that its low bits are as good as any? By `using is_avalanching = void` or std::true_type. */
template <class F, class = void> constexpr bool is_avalanching = false;
template <class F>
constexpr bool is_avalanching<F, std::void_t<typename F::is_avalanching>> =
	!std::is_same<typename F::is_avalanching, std::false_type>::value;

/* Stands in for a hash that does not take the keys, so that the compiler says only that. */
struct no_hash {
	template <class K> constexpr uint64_t operator()(const K &) const noexcept { return 0; }
};
template <class Key, class Hash>
using hash_of_keys = std::conditional_t<std::is_invocable_v<const Hash &, const Key &>, Hash, no_hash>;

/* The type of a parameter for keys: anything, if that is allowed; else Key, to which arguments are converted. */
template <bool any> struct key_argument {
	template <class K, class Key> using type = Key;
};
template <> struct key_argument<true> {
	template <class K, class Key> using type = K;
};

/* A read section until the end of the block. */
class hash_section
{
public:
	hash_section() noexcept { lull_rcu_read_lock(); }
	hash_section(const hash_section &) = delete;
	hash_section &operator=(const hash_section &) = delete;
	~hash_section() { lull_rcu_read_unlock(); }
	static void *operator new(size_t) = delete; /* it ends where it began */
	static void *operator new[](size_t) = delete;
};

[[noreturn]] inline void hash_failed(int err)
{
#ifdef __cpp_exceptions
	if (err == -ENOMEM)
		throw std::bad_alloc();
	throw bad_hash_config();
#else
	(void)err;
	std::terminate();
#endif
}

/* Keep the exception of a comparison; without @throws there is none to keep. */
template <bool throws> struct caught {
	bool is_set() const noexcept { return false; }
	void rethrow() const noexcept {}
};
#ifdef __cpp_exceptions
template <> struct caught<true> {
	mutable std::exception_ptr error;
	bool is_set() const noexcept { return error != nullptr; }
	void rethrow() const
	{
		if (error)
			std::rethrow_exception(std::move(error));
	}
};
constexpr bool has_exceptions = true;
#else
constexpr bool has_exceptions = false;
#endif

/* Entry::key(node): the key of the element with this node. Entry need not be complete yet. */
template <class Key, class Entry, class Hash, class Eq> class hash_core
{
public:
	using key_type = Key;
	template <class K>
	using argument = typename key_argument<is_transparent<Hash> && is_transparent<Eq>>::template type<K, key_type>;
	template <class K> static constexpr bool hashes_quietly = noexcept(std::declval<const Hash &>()(std::declval<const K &>()));
	template <class K>
	static constexpr bool compares_quietly =
		!has_exceptions || (noexcept(Entry::key(nullptr)) &&
				    noexcept(std::declval<const Eq &>()(std::declval<const key_type &>(), std::declval<const K &>())));
	template <class K> static constexpr bool looks_quietly = hashes_quietly<K> && compares_quietly<K>;

	hash_core(const lull_hash_config &config, Hash hash, Eq eq) : hasher(std::move(hash)), equal(std::move(eq))
	{
		int err = lull_hash_init(&table, &config);

		if (err)
			hash_failed(err);
	}
	hash_core(const hash_core &) = delete;
	hash_core &operator=(const hash_core &) = delete;

	/* Without any lock, and before a section begins. */
	template <class K> uint64_t hash_of(const K &key) const noexcept(hashes_quietly<K>)
	{
		if constexpr (is_avalanching<Hash>)
			return static_cast<uint64_t>(hasher(key));
		else
			return lull_hash_mix64(static_cast<uint64_t>(hasher(key)));
	}

	/* In a section. */
	template <class K> LULL_INLINE lull_hash_node *seek(uint64_t hash, const K &key) const noexcept(compares_quietly<K>)
	{
		const probe<K> asked{ __builtin_addressof(key), __builtin_addressof(equal), {} };
		lull_hash_node *found = lull_hash_lookup(&table, hash, matches<K, true>, &asked);

		asked.error.rethrow();
		return found;
	}

	/* Insert @node. Returns the element that is there already, or NULL. If this throws, nothing is inserted. */
	lull_hash_node *insert(lull_hash_node *node, uint64_t hash) noexcept(compares_quietly<key_type>)
	{
		const key_type &key = Entry::key(node);
		const probe<key_type> asked{ __builtin_addressof(key), __builtin_addressof(equal), {} };
		lull_hash_node *found = lull_hash_lookup_or_insert(&table, node, hash, matches<key_type, true>, &asked);

		asked.error.rethrow();
		return found;
	}

	/* Put @node in the place of the element with its key, and return that, or NULL. If this throws, nothing has changed. */
	lull_hash_node *put(lull_hash_node *node, uint64_t hash) noexcept(compares_quietly<key_type>)
	{
		if constexpr (compares_quietly<key_type>) {
			const key_type &key = Entry::key(node);
			const probe<key_type> asked{ __builtin_addressof(key), __builtin_addressof(equal), {} };

			return lull_hash_replace(&table, node, hash, matches<key_type, true>, &asked);
		} else {
			/* No answer of a comparison keeps lull_hash_replace() from changing something. */
			hash_section section;
			lull_hash_node *old;

			do {
				old = insert(node, hash);
			} while (old && lull_hash_replace_node(&table, old, node) != 0);
			return old;
		}
	}

	/* If this throws, nothing is removed. */
	template <class K> lull_hash_node *remove(uint64_t hash, const K &key) noexcept(compares_quietly<K>)
	{
		const probe<K> asked{ __builtin_addressof(key), __builtin_addressof(equal), {} };
		lull_hash_node *found = lull_hash_remove(&table, hash, matches<K, false>, &asked);

		asked.error.rethrow();
		return found;
	}

	/*
	 * Call @visit(node) for each element that is in the table all the time, once, in many short sections, so that a visit
	 * to all holds nobody up.
	 */
	template <class Visit> void visit_in_portions(Visit &&visit) const
	{
		lull_hash_cursor cursor;

		lull_hash_cursor_begin(&cursor, &table);
		while (cursor.h) {
			const hash_section section;

			for (int n = 0; n < 64; n++) {
				lull_hash_node *node = lull__hash_cursor_within(&cursor, 64);

				if (!node)
					break;
				visit(node);
			}
		}
	}

	void resize(size_t buckets)
	{
		int err = lull_hash_resize(&table, buckets ? buckets : 1);

		if (err)
			hash_failed(err);
	}

	lull_hash table;

private:
	template <class K> struct probe {
		const K *key;
		const Eq *equal;
		caught<!compares_quietly<K>> error;
	};

	Hash hasher;
	Eq equal;

	/* @then: the answer after an exception. */
	template <class K, bool then> static bool matches(const lull_hash_node *node, const void *key) noexcept
	{
		const probe<K> &asked = *static_cast<const probe<K> *>(key);

		if constexpr (compares_quietly<K>) {
			return static_cast<bool>((*asked.equal)(Entry::key(node), *asked.key));
		} else {
#ifdef __cpp_exceptions
			if (asked.error.is_set())
				return then;
			try {
				return static_cast<bool>((*asked.equal)(Entry::key(node), *asked.key));
			} catch (...) {
				asked.error.error = std::current_exception();
				if (!asked.error.is_set())
					std::terminate(); /* foreign, or the end of a cancelled thread: it cannot be kept */
				return then;
			}
#endif
		}
	}
};

LULL__END_THROWING
} // namespace detail
} // namespace lull

#endif /* LULL_HASH_CORE_HPP */
