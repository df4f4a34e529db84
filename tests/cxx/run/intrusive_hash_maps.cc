/* SPDX-License-Identifier: MIT */
/*
 * intrusive_hash_maps.cc - what intrusive_hash_map.hpp promises.
 */
#include <algorithm>
#include <set>
#include <vector>

#include <lull/intrusive_hash_map.hpp>
#include <lull/reclaim.h>

#include "faults.hpp"

namespace
{

struct with_virtual {
	virtual ~with_virtual() {}
	lull_hash_node by_name;
};

/* Not of standard layout, and with the nodes at odd places. */
struct user : with_virtual {
	word name;
	lull_hash_node by_id;
	lull_rcu_head head;
	std::atomic<int> uses{ 0 };

	user(int id, const char *text) : name(text), number(id) {}
	int id() const noexcept { return number; }

private:
	int number;
};

int id_of(const user &u) noexcept
{
	return u.id();
}

word name_of(const user &u)
{
	return u.name;
}

const std::string &text_of(const user &u) noexcept
{
	return u.name.text;
}

using by_name = lull::intrusive_hash_map<user, &user::by_name, &user::name, hash_words, compare_words>;
struct compare_surely {
	bool operator()(const word &a, const word &b) const noexcept { return a.text == b.text; }
};

/* The function makes the key, and may fail, where nothing else may. */
using by_copy = lull::intrusive_hash_map<user, &user::by_name, name_of, hash_words, compare_surely>;
using by_text = lull::intrusive_hash_map<user, &user::by_name, text_of>;
static_assert(std::is_same<by_text::key_type, std::string>::value, "");
static_assert(noexcept(std::declval<by_text &>().insert(std::declval<user &>())), "");
static_assert(!noexcept(std::declval<by_copy &>().contains("")), "");
static_assert(!noexcept(std::declval<by_name &>().insert(std::declval<user &>())), "");
static_assert(!std::is_copy_constructible<by_name>::value && !std::is_move_constructible<by_name>::value, "");

/* A key that a function template finds. */
template <class T> const auto &stored_id(const T &u) noexcept
{
	return u.key;
}
struct numbered {
	int key;
	lull_hash_node node;
};
using by_number = lull::intrusive_hash_map<numbered, &numbered::node, stored_id<numbered>>;

void drop(lull_rcu_head *head) noexcept
{
	delete static_cast<user *>(lull::detail::object_of(head, &user::head));
}

void retire(user *u)
{
	lull_rcu_call_sized(&u->head, drop, sizeof(*u));
}

TEST(finds_objects)
{
	by_text m(4);
	user one(1, "one"), two(2, "two"), other(3, "one"), third(4, "one");

	MUST(m.empty() && !m.contains("one") && !m.erase("one") && m.bucket_count() == 4);
	MUST(m.insert(one) && m.insert(two) && !m.insert(other) && m.size() == 2);
	{
		section s;
		MUST(m.find("one") == &one && m.find("two") == &two && !m.find("three"));
		MUST(m.find_or_insert(other) == &one);
		m.find("one")->uses++;
		MUST(m.insert_or_replace(other) == &one && m.find("one") == &other);
		MUST(!m.replace(one, third) && m.replace(other, third) && m.find("one") == &third);
		MUST(!m.remove(other) && m.remove(third) && !m.find("one"));
	}
	lull_rcu_synchronize();
	MUST(m.find_or_insert(one) == nullptr && m.contains("one"));
	MUST(m.insert_or_replace(other) == &one && m.erase("one") == &other && !m.erase("one"));
	lull_rcu_synchronize();
	MUST(m.insert_or_replace(one) == nullptr);
	std::set<user *> met, gone;
	{
		section s;
		for (user &u : m)
			met.insert(&u);
	}
	MUST(met == std::set<user *>{ &one, &two });
	m.rehash(256);
	m.finish_resize();
	MUST(m.bucket_count() == 256 && m.contains("one") && m.contains("two"));
	m.clear([&](user &u) { gone.insert(&u); });
	MUST(gone == met && m.empty() && !lull_rcu_read_lock_held());
	MUST(lull_hash_count(m.native_handle()) == 0);
	MUST(throws<std::bad_alloc>([&] { m.rehash(SIZE_MAX / 4); }));
}

TEST(refuses_configurations)
{
	lull_hash_config wrong = {};

	wrong.flags = 0x80000000u;
	MUST(throws<lull::bad_hash_config>([&] { by_text m(wrong); }));
	MUST(throws<std::bad_alloc>([] { by_text m(SIZE_MAX / 4); }));
	MUST(by_text().bucket_count() == 16 && by_text(0).bucket_count() == 16);
}

TEST(leaves_objects_alone)
{
	user one(1, "one");
	const int before = alive;
	{
		by_text m;

		MUST(m.insert(one));
	}
	lull_rcu_barrier();
	MUST(alive == before && one.name.text == "one");
}

TEST(finds_keys)
{
	by_number m;
	numbered one = { 1, {} }, two = { 2, {} };

	MUST(m.insert(one) && m.insert(two));
	section s;
	MUST(m.find(1) == &one && m.find(2) == &two && !m.find(3));
}

template <class Map> int fails_everywhere(Map &m, callable update)
{
	int failed = 0;

	for (bool done = false; !done; failed++) {
		const size_t before = m.size();
		user extra(9, failed % 2 ? "a!" : "b!");

		faults_in = failed + 1;
		try {
			update();
			done = true;
		} catch (const fault &) {
			MUST(faults_in == 0 && m.size() == before && !lull_rcu_read_lock_held());
			/* No lock is left. */
			MUST(m.insert(extra) && m.erase(extra.name) == &extra);
			lull_rcu_synchronize();
		}
		faults_in = 0;
	}
	return failed - 1;
}

TEST_OF(Map, is_strong, by_name, by_copy)
{
	Map m;
	user a(1, "a"), b(2, "b"), c(3, "c"), other(4, "a");
	word key("a"), none("e");

	MUST(m.insert(a) && m.insert(b) && m.insert(c));
	MUST(fails_everywhere(m, [&] { MUST(m.contains(key) && !m.contains(none)); }) >= 5);
	MUST(fails_everywhere(m, [&] { MUST(!m.insert(other)); }) >= 2);
	MUST(fails_everywhere(m, [&] { section s; MUST(m.find_or_insert(other) == &a); }) >= 2);
	MUST(fails_everywhere(m, [&] { MUST(!m.erase(none)); }) >= 3);
	MUST(fails_everywhere(m, [&] { MUST(m.insert_or_replace(other) == &a); }) >= 2);
	MUST(fails_everywhere(m, [&] { MUST(m.erase(key) == &other); }) >= 2);
	lull_rcu_synchronize();
	MUST(fails_everywhere(m, [&] { MUST(m.insert(a)); }) >= 2);
}

TEST(is_read_while_it_changes)
{
	lull::intrusive_hash_map<user, &user::by_id, id_of> ids;
	std::atomic<bool> over{ false };
	constexpr int count = 64;

	for (int i = 0; i < count; i++)
		MUST(ids.insert(*new user(i, "first")));
	in_threads(4, [&](int me) {
		while (me == 3 && !over) {
			std::vector<int> met(count);

			ids.for_each([&](const user &u) { met[static_cast<size_t>(u.id())]++; });
			MUST(std::count(met.begin(), met.end(), 1) == count);
		}
		for (int i = 0; me < 2 && !over; i = (i + 1) % count) {
			section s;
			user *u = ids.find(i);

			MUST(u && u->id() == i && !u->name.text.empty());
		}
		for (int turn = 0; me == 2 && turn < 40; turn++) {
			for (int i = 0; i < count; i++)
				retire(ids.insert_or_replace(*new user(i, "next")));
			ids.rehash(turn % 2 ? 16 : 512);
		}
		over = true;
	});
	ids.clear([](user &u) { retire(&u); });
	lull_rcu_barrier();
}

AFTER_EACH([] { MUST(alive == 0); });

} // namespace
