/* SPDX-License-Identifier: MIT */
/*
 * hash_maps.cc - what hash_map.hpp promises, call by call; storm.cc has all of it at once.
 */
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <lull/hash_map.hpp>
#include <lull/reclaim.h>

#include "faults.hpp"
#include "test.hpp"
#include "throwing_key.hpp"

static bool keys_throw;
bool throwing_key::operator==(const throwing_key &other) const
{
	if (keys_throw)
		throw 1;
	return number == other.number;
}
void use_without_exceptions(); /* no_exceptions.cc */

namespace
{

using numbers = lull::hash_map<int, long>;
using words = lull::hash_map<word, word, hash_words, compare_words>;

template <class Map> constexpr bool stays = !std::is_copy_constructible<Map>::value && !std::is_move_constructible<Map>::value &&
	!std::is_copy_assignable<Map>::value && !std::is_move_assignable<Map>::value;
static_assert(stays<numbers> && stays<numbers::found> && stays<numbers::walk>, "");

static_assert(noexcept(std::declval<numbers &>().find(1)) && noexcept(std::declval<numbers &>().contains(1)), "");
static_assert(noexcept(std::declval<numbers &>().erase(1)) && noexcept(std::declval<numbers &>().lookup(1)), "");
static_assert(noexcept(std::declval<numbers &>().clear()) && noexcept(std::declval<numbers &>().size()), "");
static_assert(!noexcept(std::declval<numbers &>().try_emplace(1)), "");
static_assert(!noexcept(std::declval<words &>().find("")) && !noexcept(std::declval<words &>().erase("")), "");
/* No more than C has: the node with its hash, the head only if a destructor is to run. */
static_assert(sizeof(lull::detail::hash_entry<std::pair<const long, long>, lull::by_rcu>) == sizeof(lull_hash_node) + 16, "");
static_assert(sizeof(lull::detail::hash_entry<std::pair<const long, std::string>, lull::by_rcu>) ==
		      sizeof(lull_hash_node) + sizeof(lull_head) + 8 + sizeof(std::string), "");

TEST(may_be_incomplete)
{
	struct tree {
		lull::hash_map<int, tree> branches;
	} trunk;

	trunk.branches.try_emplace(1);
	MUST(trunk.branches.find(1)->second.branches.empty());
}

/* ---- one thread ----------------------------------------------------------------------------- */

TEST(finds_what_is_there)
{
	numbers m;

	MUST(m.empty() && m.size() == 0 && !m.find(1) && !m.contains(1) && !m.erase(1));
	MUST(m.insert({ 1, 10 }) && !m.insert({ 1, 11 }));
	MUST(m.try_emplace(2, 20) && !m.try_emplace(2, 21) && m.try_emplace(3) && m.emplace(4, 40) && !m.emplace(4, 41));
	MUST(m.size() == 4 && !m.empty());
	MUST(m.find(1)->second == 10 && m.find(2)->second == 20 && m.find(3)->second == 0 && (*m.find(4)).second == 40);
	MUST(m.find(1)->first == 1);
	MUST(!m.insert_or_assign(1, 12) && m.insert_or_assign(5, 50));
	MUST(m.find(1)->second == 12 && m.find(5)->second == 50 && m.size() == 5);
	MUST(m.update(1, [](long was) { return was + 1; }) && !m.update(9, [](long) -> long { std::abort(); }));
	MUST(m.find(1)->second == 13);
	long seen = 0;
	MUST(m.visit(1, [&](const auto &element) { seen = element.second; }) && seen == 13);
	MUST(!m.visit(9, [&](const auto &) { seen = 0; }) && seen == 13);
	MUST(m.erase(1) && !m.erase(1) && !m.contains(1) && m.size() == 4);
	MUST((section(), m.lookup(2)->second == 20 && m.lookup(1) == nullptr));
	MUST(m.erase_if([](const auto &element) { return element.first % 2 == 0; }) == 2);
	MUST(m.size() == 2 && m.contains(3) && m.contains(5));
	m.clear();
	MUST(m.empty() && m.try_emplace(1, 1));
}

TEST(erases_this_very_element)
{
	numbers m;

	m.try_emplace(1, 10);
	{
		auto first = m.find(1), none = m.find(2);

		MUST(!m.erase(none));
		m.insert_or_assign(1, 11); /* another one */
		MUST(!m.erase(first));
		MUST(first->second == 10); /* as long as it is held */
		auto second = m.find(1);
		MUST(second->second == 11 && m.erase(second) && !m.erase(second) && second->second == 11);
	}
	MUST(m.empty());
}

TEST(leaves_sections)
{
	numbers m;

	m.try_emplace(1, 10);
	MUST(m.contains(1) && m.visit(1, [](const auto &) { MUST(lull_rcu_read_lock_held()); }));
	MUST(!lull_rcu_read_lock_held());
	{
		auto one = m.find(1), none = m.find(2);
		MUST(lull_rcu_read_lock_held() && one && !none);
	}
	MUST(!lull_rcu_read_lock_held());
	MUST(throws([&] { m.visit(1, [](const auto &) { throw 1; }); }) && !lull_rcu_read_lock_held());
	for (const auto &element : m) {
		MUST(lull_rcu_read_lock_held() && element.first == 1);
		break;
	}
	MUST(!lull_rcu_read_lock_held());
	MUST(throws([&] {
		m.update(1, [](long) -> long {
			MUST(lull_rcu_read_lock_held());
			throw 2;
		});
	}));
	MUST(!lull_rcu_read_lock_held() && m.find(1)->second == 10);
}

TEST(leaves_arguments_alone)
{
	lull::hash_map<std::string, std::string> m;
	const std::string text = "a text that does not fit into the string itself";
	std::string key = text, value = text;

	MUST(m.try_emplace(std::move(key), std::move(value)) && key.empty() && value.empty());
	key = value = text;
	MUST(!m.try_emplace(std::move(key), std::move(value)) && key == text && value == text);
	std::pair<const std::string, std::string> both(text, text);
	MUST(!m.insert(std::move(both)) && both.second == text);
	MUST(!m.insert_or_assign(key, std::move(value)) && value.empty());
	MUST(m.find(text)->second == text);
	std::pair<const std::string, std::string> fresh("fresh", text);
	MUST(m.insert(std::move(fresh)) && fresh.second.empty());
	key = text + text;
	MUST(m.insert_or_assign(std::move(key), text) && key.empty());
	MUST(!m.find("a text that is converted"));
}

/* While the value is made, another one comes in with its key. */
TEST(is_overtaken)
{
	lull::hash_map<int, word> m;
	const long before = alive;
	struct overtaker {
		lull::hash_map<int, word> *in;
		operator const char *() const
		{
			in->try_emplace(1, "faster");
			return "slower";
		}
	};

	MUST(!m.try_emplace(1, overtaker{ &m }) && m.size() == 1 && m.find(1)->second.text == "faster");
	MUST(alive == before + 1);
}

TEST(erases_until_it_throws)
{
	numbers m;
	int asked = 0;

	for (int i = 0; i < 10; i++)
		m.try_emplace(i, i);
	MUST(throws([&] { m.erase_if([&](const auto &) { return asked++ < 4 ? true : throw 3; }); }));
	MUST(m.size() == 6 && !lull_rcu_read_lock_held());
}

/* std::hash of a number is the number; the table wants better. */
bool any(const lull_hash_node *, const void *) noexcept
{
	return true;
}

struct good_hash {
	using is_avalanching = std::true_type;
	size_t operator()(int x) const noexcept { return static_cast<size_t>(x); }
};
struct bad_hash {
	using is_avalanching = std::false_type;
	size_t operator()(int x) const noexcept { return static_cast<size_t>(x); }
};

template <class Map> bool has_hash(Map &m, uint64_t hash)
{
	section s;

	return lull_hash_lookup(m.native_handle(), hash, any, nullptr);
}

TEST(mixes_weak_hashes)
{
	numbers m;
	lull::hash_map<int, int, good_hash> good;
	lull::hash_map<int, int, bad_hash> bad;

	m.try_emplace(77);
	good.try_emplace(77);
	bad.try_emplace(77);
	MUST(has_hash(m, lull_hash_mix64(77)) && !has_hash(m, 77));
	MUST(has_hash(bad, lull_hash_mix64(77)) && !has_hash(bad, 77));
	MUST(has_hash(good, 77) && !has_hash(good, lull_hash_mix64(77)));
}

struct label {
	static inline int made;
	std::string text;
	explicit label(std::string_view from) : text(from) { made++; }
};
struct hash_text {
	using is_transparent = void;
	size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
	size_t operator()(const label &l) const noexcept { return (*this)(std::string_view(l.text)); }
};
struct compare_text {
	using is_transparent = void;
	bool operator()(const label &a, const label &b) const noexcept { return a.text == b.text; }
	bool operator()(const label &a, std::string_view b) const noexcept { return a.text == b; }
};

TEST(looks_up_other_types)
{
	lull::hash_map<label, int, hash_text, compare_text> m;
	const std::string_view one("one");

	MUST(m.try_emplace(one, 1) && label::made == 1); /* it is made of the text only if it is inserted */
	MUST(!m.try_emplace("one", 2) && m.find(one)->second == 1 && m.contains("one") && !m.contains("two"));
	MUST(m.update(one, [](int was) { return was + 1; }) && m.visit(one, [](const auto &e) { MUST(e.second == 2); }));
	MUST(m.erase("one") && !m.erase(one) && label::made == 1);
	MUST(m.try_emplace(label(one), 3) && m.contains(label(one)) && m.find(label(one))->second == 3);
	MUST(m.erase(label(one)) && m.empty());
}

TEST(aligns_elements)
{
	struct alignas(256) wide {
		char bytes[256];
	};
	lull::hash_map<int, wide> m;

	for (int i = 0; i < 20; i++) {
		m.try_emplace(i);
		MUST(reinterpret_cast<uintptr_t>(&m.find(i)->second) % 256 == 0);
	}
	MUST(m.erase(3) && !m.insert_or_assign(4, wide()));
}

/* ---- what goes wrong ------------------------------------------------------------------------ */

TEST(refuses_configurations)
{
	lull_hash_config wrong = {};

	wrong.flags = 0x80000000u;
	try {
		numbers m(wrong);
		MUST(false);
	} catch (const lull::bad_hash_config &error) {
		MUST(std::string(error.what()) != "");
	}
	MUST(throws<std::bad_alloc>([] { numbers m(SIZE_MAX / 4); }));
	MUST(numbers().bucket_count() == 16 && numbers(0).bucket_count() == 16);
	numbers m(100);
	MUST(m.bucket_count() == 128);
	m.try_emplace(1, 10);
	MUST(throws<std::bad_alloc>([&] { m.rehash(SIZE_MAX / 4); }) && m.find(1)->second == 10 && m.bucket_count() == 128);
	m.rehash(0);
	MUST(m.bucket_count() == 2 && m.contains(1));
	m.rehash(1000);
	m.finish_resize();
	MUST(m.bucket_count() == 1024 && m.contains(1));
}

TEST(has_no_memory)
{
	struct too_large {
		char bytes[INT64_C(1) << 46];
		explicit too_large(int) {}
	};
	lull::hash_map<int, too_large> m;

	if (SANITIZED)
		return;
	MUST(throws<std::bad_alloc>([&] { m.try_emplace(1, 1); }) && m.empty() && !m.contains(1));
	MUST(throws<std::bad_alloc>([&] { m.insert_or_assign(1, 1); }) && m.empty() && !m.contains(1));
}

using picture = std::map<std::string, std::string>;

picture picture_of(const words &m)
{
	picture all;

	for (const auto &element : m)
		MUST(all.emplace(element.first.text, element.second.text).second);
	MUST(all.size() == m.size());
	return all;
}

/* Let @update throw at each place where it can: nothing has changed then, and nothing is locked. Returns how often. */
int fails_everywhere(words &m, callable update)
{
	const picture before = picture_of(m);
	int failed = 0;

	for (bool done = false; !done; failed++) {
		lull_rcu_barrier();
		const long living = alive;

		faults_in = failed + 1;
		try {
			update();
			done = true;
		} catch (const fault &) {
			MUST(faults_in == 0 && !lull_rcu_read_lock_held());
		}
		if (!done) {
			lull_rcu_barrier();
			MUST(alive == living);
			MUST(picture_of(m) == before);
			/* An update of each bucket would wait for ever. */
			for (const char *key : { "a!", "b!" })
				MUST(m.try_emplace(key, "new") && m.erase(key));
		}
	}
	faults_in = 0;
	return failed - 1;
}

TEST(is_strong)
{
	words m(2);
	const char *const keys[] = { "a", "b", "c", "d", "e", "f" };

	for (const char *key : keys)
		m.try_emplace(key, "old");
	/* All that can fail in a call: the word that is made of a literal, the hash, three comparisons ... */
	const word c("c"), fresh("g"), value("new");
	MUST(fails_everywhere(m, [&] { MUST(m.find(c) ? true : false); }) >= 2);
	MUST(fails_everywhere(m, [&] { MUST(!m.contains(fresh)); }) >= 4);
	MUST(fails_everywhere(m, [&] { MUST(m.visit(c, [](const auto &) { may_fail(4); })); }) >= 3);
	MUST(fails_everywhere(m, [&] { MUST(!m.try_emplace(c, value)); }) >= 2);
	MUST(fails_everywhere(m, [&] { MUST(!m.insert({ c, value })); }) >= 4);
	MUST(fails_everywhere(m, [&] { MUST(!m.emplace(c, value)); }) >= 4);
	MUST(fails_everywhere(m, [&] { MUST(!m.erase(fresh)); }) >= 4);
	MUST(fails_everywhere(m, [&] { MUST(m.erase_if([](const auto &) { may_fail(5); return false; }) == 0); }) == 6);
	MUST(fails_everywhere(m, [&] { MUST(m.update(c, [&](const word &) { may_fail(6); return value; })); }) >= 5);
	MUST(m.find("c")->second.text == "new");
	MUST(fails_everywhere(m, [&] { MUST(m.try_emplace(fresh, value)); }) >= 9);
	MUST(fails_everywhere(m, [&] { MUST(!m.insert_or_assign(fresh, "newer")); }) >= 4);
	MUST(m.find("g")->second.text == "newer");
	MUST(fails_everywhere(m, [&] { MUST(m.insert_or_assign(word("h"), value)); }) >= 5);
	MUST(fails_everywhere(m, [&] { MUST(m.insert({ word("i"), value })); }) >= 5);
	MUST(fails_everywhere(m, [&] { MUST(m.erase(word("i"))); }) >= 3);
	MUST(m.size() == 8);
	/* The last element of a chain, which comes after all comparisons that may throw. */
	MUST(fails_everywhere(m, [&] { MUST(m.erase("a")); }) >= 4);
	m.clear();
	MUST(m.empty());
	lull_rcu_barrier();
	MUST(alive == 3);
}

/* ---- reclamation ---------------------------------------------------------------------------- */

TEST(destroys_when_nobody_reads)
{
	lull_rcu_barrier();
	const long before = alive;
	{
		lull::hash_map<int, word> m;

		m.try_emplace(1, "one");
		m.try_emplace(2, "two");
		MUST(alive == before + 2);
		{
			auto one = m.find(1);

			runner([&] {
				MUST(m.erase(1) && !m.insert_or_assign(2, "other"));
				lull_rcu_gp_poll(lull_rcu_gp_start());
			}).join();
			MUST(alive == before + 3 && one->second.text == "one");
		}
		lull_rcu_barrier();
		MUST(alive == before + 1);
		MUST(m.update(2, [](const word &) { return word("third"); }));
		lull_rcu_barrier();
		MUST(alive == before + 1);
		m.try_emplace(3, "three");
		MUST(m.erase(m.find(3)));
		lull_rcu_barrier();
		MUST(alive == before + 1);
	}
	MUST(alive == before); /* the destructor of the map does not wait */
}

struct counting {
	static inline int calls, frees;
	static inline size_t bytes;
	static void call(lull_head *head, lull_rcu_func func, size_t size) noexcept
	{
		calls++;
		bytes = size;
		lull_rcu_call_sized(head, func, size);
	}
	static void free(void *memory, size_t size) noexcept
	{
		frees++;
		bytes = size;
		lull_rcu_free_sized(memory, size);
	}
};
struct only_calls {
	static inline int calls;
	static void call(lull_head *head, lull_rcu_func func, size_t size) noexcept
	{
		calls++;
		lull_rcu_call_pure_sized(head, func, size);
	}
};

TEST(asks_the_policy)
{
	lull::hash_map<int, int, std::hash<int>, lull::equal_to, counting> plain;
	lull::hash_map<int, word, std::hash<int>, lull::equal_to, counting> rich;
	lull::hash_map<int, int, std::hash<int>, lull::equal_to, only_calls> called;

	plain.try_emplace(1, 1);
	plain.insert_or_assign(1, 2);
	plain.update(1, [](int was) { return was; });
	plain.erase(1);
	MUST(counting::frees == 3 && counting::calls == 0 && counting::bytes == sizeof(lull_hash_node) + 8);
	rich.try_emplace(1, "x");
	rich.insert_or_assign(1, "y");
	rich.clear();
	MUST(counting::frees == 3 && counting::calls == 2 && counting::bytes >= sizeof(word));
	called.try_emplace(1, 1);
	called.erase(1);
	MUST(only_calls::calls == 1);
	lull_rcu_barrier();
}

/* ---- many threads --------------------------------------------------------------------------- */

TEST(loses_no_update)
{
	numbers m;
	constexpr int threads = 4, turns = 3000;

	m.try_emplace(0, 0);
	/* One that comes while the new value is made, and one that takes the element away. */
	int asked = 0;
	MUST(m.update(0, [&](long was) {
		if (asked++ == 0)
			m.insert_or_assign(0, 10);
		return was + 1;
	}));
	MUST(asked == 2 && m.find(0)->second == 11);
	MUST(!m.update(0, [&](long was) { return m.erase(0) ? was : was + 1; }));
	MUST(m.empty() && m.try_emplace(0, 0));
	in_threads(threads, [&](int me) {
		for (int i = 0; i < turns; i++) {
			MUST(m.update(0, [](long was) { return was + 1; }));
			MUST(m.try_emplace(1 + me * turns + i, i));
		}
	});
	MUST(m.find(0)->second == threads * turns);
	MUST(m.size() == 1 + threads * turns);
	/* One thread alone inserts or erases each. */
	std::atomic<int> came{ 0 }, went{ 0 };
	in_threads(threads, [&](int) {
		for (int i = 0; i < 500; i++) {
			came += m.try_emplace(-1 - i, i);
			went += m.erase(1 + i);
		}
	});
	MUST(came == 500 && went == 500);
}

/* A walk meets all that stay, while the table is resized under it. */
TEST(walks_while_it_is_resized)
{
	numbers m;
	std::atomic<bool> over{ false };
	constexpr int stay = 300;

	for (int i = 0; i < stay; i++)
		m.try_emplace(i, i);
	runner resizer([&] {
		for (size_t i = 0; !over; i++) {
			m.rehash(i % 2 ? 16 : 2048);
			m.try_emplace(-1, 0);
			m.erase(-1);
		}
	});
	for (int turn = 0; turn < 60; turn++) {
		std::vector<int> met(stay);

		for (const auto &[key, value] : m) {
			MUST(key == -1 || key == value);
			if (key >= 0)
				met[static_cast<size_t>(key)]++;
		}
		MUST(std::count(met.begin(), met.end(), 0) == 0);
		for (int i = 0; i < stay; i++)
			MUST(m.contains(i));
	}
	over = true;
	resizer.join();
	/* The body may erase what it stands on. */
	for (const auto &element : m)
		MUST(m.erase(element.first));
	MUST(m.empty());
}

/* Values are assigned meanwhile, too: the old element or the new one. */
TEST(for_each_meets_each_once)
{
	numbers m;
	std::atomic<bool> over{ false };
	constexpr int stay = 300;

	for (int i = 0; i < stay; i++)
		m.try_emplace(i, i);
	runner changer([&] {
		for (size_t i = 0; !over; i++) {
			m.rehash(i % 2 ? 16 : 2048);
			for (int key = static_cast<int>(i % 3); key < stay; key += 3)
				m.insert_or_assign(key, key);
			m.try_emplace(-1, 0);
			m.erase(-1);
		}
	});
	for (int turn = 0; turn < 100; turn++) {
		std::vector<int> met(stay + 1);

		m.for_each([&](const auto &element) {
			MUST(element.first == -1 || element.first == element.second);
			met[static_cast<size_t>(element.first + 1)]++;
			if (element.first % 8 == 0)
				sched_yield(); /* the table is resized meanwhile */
		});
		MUST(met[0] <= 1 && std::count(met.begin() + 1, met.end(), 1) == stay);
	}
	over = true;
	changer.join();
}

TEST(for_each_ends)
{
	numbers m;
	int next = 0, met = 0;

	while (next < 1000)
		m.try_emplace(next++);
	m.for_each([&](const auto &) {
		m.try_emplace(next++);
		MUST(++met < 1900);
	});
	MUST(met >= 1000 && m.size() == static_cast<size_t>(next));
}

TEST(for_each_leaves_sections)
{
	numbers m;
	lull_rcu_cookie cookie = 0;
	int met = 0;

	for (int i = 0; i < 200; i++)
		m.try_emplace(i);
	m.for_each([&](const auto &) {
		MUST(lull_rcu_read_lock_held());
		if (met++ == 0)
			cookie = lull_rcu_gp_start();
		/* The grace period does not wait for this section, which began after it. */
		while (met == 100 && !lull_rcu_gp_poll(cookie))
			sched_yield();
	});
	MUST(met == 200 && !lull_rcu_read_lock_held());
	MUST(throws([&] { m.for_each([](const auto &) { throw 1; }); }) && !lull_rcu_read_lock_held());
}

/* Whichever copies of the map's functions the linker keeps. */
TEST(catches_beside_code_that_cannot)
{
	lull::hash_map<throwing_key, int, hash_throwing_keys> m;
	const throwing_key one{ 1 };

	use_without_exceptions();
	m.try_emplace(one, 1);
	keys_throw = true;
	MUST(throws([&] { (void)m.contains(one); }) && throws([&] { (void)m.find(one); }) && throws([&] { m.erase(one); }));
	MUST(throws([&] { m.try_emplace(one, 2); }) && throws([&] { m.insert_or_assign(one, 2); }));
	keys_throw = false;
	MUST(m.size() == 1 && m.find(one)->second == 1 && m.erase(one));
}

/* Keys and arguments whose address is not theirs. */
struct elsewhere {
	int number = 0;

	elsewhere *operator&() const
	{
		std::abort();
	}
	bool operator==(const elsewhere &other) const noexcept
	{
		return number == other.number;
	}
};

struct hash_elsewhere {
	std::size_t operator()(const elsewhere &key) const noexcept
	{
		return static_cast<std::size_t>(key.number);
	}
	void operator&() const = delete;
};

TEST(asks_no_type_for_its_address)
{
	lull::hash_map<elsewhere, elsewhere, hash_elsewhere> m;

	MUST(m.try_emplace(elsewhere{ 1 }, elsewhere{ 2 }) && !m.insert_or_assign(elsewhere{ 1 }, elsewhere{ 3 }));
	MUST(m.find(elsewhere{ 1 })->second.number == 3 && m.update(elsewhere{ 1 }, [](const elsewhere &old) { return old; }));
	MUST(m.contains(elsewhere{ 1 }) && m.erase(elsewhere{ 1 }) && m.empty());
}

AFTER_EACH(none_alive);
} // namespace
