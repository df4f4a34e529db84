/* SPDX-License-Identifier: MIT */
/*
 * bounded.cc - loops of updates that read, change and write leave no more waiting than a limit says, whatever readers do.
 *
 * Counts, no times: a wait is as long as it may be, and ends when there is nothing to wait for.
 */
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <lull/debug.h>
#include <lull/lull.hpp>
#include <lull/reclaim.h>

#include "test.hpp"

namespace
{
constexpr int threads = 8;
constexpr size_t most = 32768;
#if UNDER_TSAN
constexpr int loops = 10000;
#else
constexpr int loops = 60000;
#endif

void configure(lull_reclaim_hard on_hard, size_t hard)
{
	lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.on_hard = on_hard;
	config.hard_items = hard;
	config.soft_wait_us = 1000000;
	MUST(lull_reclaim_configure(&config) == 0);
	lull_debug_set_stall_ms(0);
}

lull_reclaim_counts counts()
{
	lull_reclaim_counts now;

	lull_reclaim_stats(&now);
	return now;
}

/* Run @step in all threads, beside a reader that sleeps, or none. Returns the peak. */
template <class Step> size_t peak_of(Step step, bool stays)
{
	std::atomic<bool> stop{ false }, in_section{ false }, leave{ false };
	std::vector<std::thread> all;
	size_t peak = 0;

	lull_rcu_barrier();
	lull_reclaim_reset_peak();
	std::thread reader([&] {
		lull::rcu_section section;
		in_section = true;
		while (stays && !leave)
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
	});
	while (!in_section)
		std::this_thread::yield();
	for (int n = 0; n < threads; n++)
		all.emplace_back([&, n] {
			for (int i = 0; i < loops && !stop; i++)
				step(n, i);
		});
	if (stays) {
		while (counts().items < 4096)
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
		std::this_thread::sleep_for(std::chrono::milliseconds(200));
		peak = counts().peak_items;
		stop = leave = true;
	}
	for (std::thread &one : all)
		one.join();
	reader.join();
	return stays ? peak : counts().peak_items;
}

template <class Step> void check_peak(const char *what, Step step)
{
	for (bool stays : { false, true }) {
		size_t peak = peak_of(step, stays);

		if (peak > most)
			fprintf(stderr, "%s%s: peak %zu\n", what, stays ? " beside a reader" : "", peak);
		MUST(peak <= most);
	}
}

/* hash_map::update(), of elements that are freed, and of those with a destructor. */
TEST(updates)
{
	configure(LULL_RECLAIM_TELL, 1000000);
	lull::hash_map<int, long> numbers;
	lull::hash_map<int, std::string> words;

	for (int i = 0; i < 64; i++) {
		numbers.insert({ i, 0 });
		words.insert({ i, "nothing yet, but too long for a short string" });
	}
	check_peak("update", [&](int, int i) { MUST(numbers.update(i % 64, [](long old) { return old + 1; })); });
	check_peak("update words", [&](int, int i) { MUST(words.update(i % 64, [](const std::string &old) { return old; })); });
}

struct plain : lull::rcu_obj_base<plain> {
	explicit plain(long is) : value(is) {}
	long value;
};

struct owning : lull::rcu_obj_base<owning> {
	explicit owning(long is) : value(is) {}
	long value;
	std::string name = "too long for a short string, so it is destroyed";
};

template <class T> void add_one(lull::rcu_ptr<T> &to)
{
	for (;;) {
		lull::rcu_section section;
		T *old = to.read(section);
		auto now = std::make_unique<T>(old->value + 1);

		if (to.compare_exchange(old, now))
			return;
	}
}

/* A loop with rcu_ptr::compare_exchange(), in the section in which the old value was read. */
TEST(compares)
{
	configure(LULL_RECLAIM_TELL, 1000000);
	std::vector<lull::rcu_ptr<plain>> frees(threads);
	std::vector<lull::rcu_ptr<owning>> calls(threads);

	for (int i = 0; i < threads; i++) {
		frees[static_cast<size_t>(i)].publish(std::make_unique<plain>(0));
		calls[static_cast<size_t>(i)].publish(std::make_unique<owning>(0));
	}
	check_peak("compare_exchange", [&](int n, int) { add_one(frees[static_cast<size_t>(n)]); });
	check_peak("compare_exchange, destroyed", [&](int n, int) { add_one(calls[static_cast<size_t>(n)]); });
}

/* HELP keeps its hard limit for both. */
TEST(helps)
{
	lull::hash_map<int, long> numbers;

	configure(LULL_RECLAIM_HELP, 8192);
	for (int i = 0; i < 64; i++)
		numbers.insert({ i, 0 });
	const size_t peak =
		peak_of([&](int, int i) { MUST(numbers.update(i % 64, [](long old) { return old + 1; })); }, true);
	MUST(peak <= 8192 + 2 * 64 * threads);
}

#if UNDER_TSAN
constexpr int many = 20000;
#else
constexpr int many = 50000;
#endif

uint64_t grace_periods()
{
	return lull_load_relaxed(&lull__rcu_gp) / LULL__RCU_STEP;
}

/* Empty @map, full of @many elements, by @clear. Little of it waits at a time, and grace periods come to an end meanwhile. */
template <class Map, class Clear> void check_clear(const char *what, Map &map, Clear clear)
{
	lull_rcu_barrier();
	lull_reclaim_reset_peak();
	const uint64_t before = grace_periods();
	clear();
	const uint64_t ended = grace_periods() - before;
	const size_t peak = counts().peak_items;

	if (peak > 8192 + 2 * 64 || ended < 2)
		fprintf(stderr, "%s: peak %zu, %llu grace periods\n", what, peak, static_cast<unsigned long long>(ended));
	MUST(peak <= 8192 + 2 * 64 && ended >= 2);
	MUST(map.size() == 0);
}

struct user {
	int id;
	lull_hash_node node{};
	lull_head head{};
};

/* clear() and erase_if() leave their section now and then. */
TEST(clears)
{
	configure(LULL_RECLAIM_TELL, 1000000);
	lull::hash_map<int, int> numbers;
	lull::hash_map<int, std::string> words;
	lull::intrusive_hash_map<user, &user::node, &user::id> users;

	for (int i = 0; i < many; i++) {
		numbers.insert({ i, i });
		words.insert({ i, "" });
		users.insert(*new user{ i });
	}
	check_clear("clear", numbers, [&] { numbers.clear(); });
	check_clear("clear words", words, [&] { words.clear(); });
	check_clear("clear users", users, [&] {
		users.clear([](user &gone) { lull_rcu_call(&gone.head, [](lull_head *head) noexcept { delete lull_container_of(head, user, head); }); });
	});
	for (int i = 0; i < many; i++)
		numbers.insert({ i, i });
	check_clear("erase_if", numbers, [&] { MUST(numbers.erase_if([](const auto &) { return true; }) == many); });
}

/* While another thread resizes the table, none that was there is missed, and none is counted twice. */
TEST(clears_amid_resizes)
{
	configure(LULL_RECLAIM_TELL, 1000000);
	lull::hash_map<int, int> map;
	std::atomic<bool> stop{ false };
	std::thread resizes([&] {
		for (size_t n = 0; !stop; n++)
			map.rehash(size_t(16) << n * 5 % 12);
	});

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 2000; i++)
			map.insert({ i, i });
		MUST(map.erase_if([](const auto &one) { return one.first % 2 == 0; }) == 1000);
		for (int i = 0; i < 2000; i++)
			MUST(map.contains(i) == (i % 2 != 0));
		map.clear();
		MUST(map.empty());
	}
	stop = true;
	resizes.join();
}
} // namespace
