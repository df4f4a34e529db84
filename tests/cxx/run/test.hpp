/* SPDX-License-Identifier: MIT */
/*
 * test.hpp - for the test programs beside it: TEST(name) { ... } lists itself. Objects that count how many of them live;
 * threads; waits that end.
 */
#ifndef LULL_TEST_CXX_HPP
#define LULL_TEST_CXX_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <lull/hazptr.h>
#include <lull/reclaim.h>

#include "must.hpp"

#if defined __cpp_constinit
#define CONSTANT constinit
#elif defined __clang__
#define CONSTANT [[clang::require_constant_initialization]]
#else
#define CONSTANT __constinit
#endif

#ifdef __cpp_exceptions
/* Does @call throw an E? */
template <class E = int, class Call> bool throws(Call call)
{
	try {
		call();
	} catch (const E &) {
		return true;
	}
	return false;
}
#endif

/* ---- a list of tests ------------------------------------------------------------------------------- */

struct test {
	const char *name;
	void (*run)();
	test *next = nullptr;
	static inline test *first = nullptr, **last = &first;

	test(const char *called, void (*function)()) : name(called), run(function)
	{
		*last = this;
		last = &next;
	}
};

#define TEST(name)                                                                                                     \
	static void name();                                                                                            \
	static test listed_##name(#name, name);                                                                        \
	static void name()

/* A test that is the same for several types: TEST_OF(T, name, int, long) { T t; ... } */
template <class...> struct types {
};
#define TEST_OF(T, name, ...)                                                                                          \
	template <class T> static void name();                                                                         \
	static struct list_##name {                                                                                    \
		template <class... All> static void add(types<All...>)                                                 \
		{                                                                                                      \
			(new test(#name, name<All>), ...);                                                             \
		}                                                                                                      \
		list_##name()                                                                                          \
		{                                                                                                      \
			add(types<__VA_ARGS__>());                                                                     \
		}                                                                                                      \
	} lists_##name;                                                                                                \
	template <class T> static void name()

/* Run all, or those that are named; @after each. Returns the exit status. */
inline int run_tests(int argc, char **argv, void (*after)() = nullptr)
{
	int count = 0;

	for (const test *t = test::first; t; t = t->next) {
		bool chosen = argc < 2;

		for (int i = 1; i < argc; i++)
			chosen |= std::strcmp(argv[i], t->name) == 0;
		if (!chosen)
			continue;
		std::printf("%s\n", t->name);
		std::fflush(stdout);
		t->run();
		if (after)
			after();
		count++;
	}
	if (count == 0)
		std::fprintf(stderr, "there is no such test\n");
	return count == 0;
}

/* Run @work in so many threads, each of which is told its number. */
template <class Work> void in_threads(int count, Work work)
{
	std::vector<std::thread> all;

	for (int i = 0; i < count; i++)
		all.emplace_back(work, i);
	for (std::thread &one : all)
		one.join();
}

/* Two readers look so often, and tell @read who and how often that is, while another thread calls @change all the time. */
template <class Read, class Change> void reads_while_it_changes(Read read, Change change)
{
	std::atomic<int> reading{ 2 };

	in_threads(3, [&](int me) {
		while (me == 2 && reading)
			change();
		if (me == 2)
			return;
		read(me, SANITIZED ? 2000 : 20000);
		reading--;
	});
}

/* The seed of what is random: LULL_TEST_SEED, or always the same. */
inline std::uint64_t test_seed()
{
	const char *wish = std::getenv("LULL_TEST_SEED");
	const std::uint64_t seed = wish ? std::strtoull(wish, nullptr, 0) : 1;

	std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
	std::fflush(stdout);
	return seed;
}

/* ---- objects that live ------------------------------------------------------------------------------ */

inline std::atomic<int> alive;

struct counted {
	counted() { alive++; }
	counted(const counted &) { alive++; }
	counted &operator=(const counted &) = default;
	~counted() { alive--; }

	long before = 1; /* so that what comes next has another address than the object */
};

/* Has something on the heap, too, that a late reader would find freed. */
struct living {
	std::string text = "alive and too long for a short string";

	living() { alive++; }
	living(const living &other) : text(other.text) { alive++; }
	living &operator=(const living &) = default;
	virtual ~living()
	{
		text = "dead";
		alive--;
	}
	bool is_whole() const { return text.size() == 37; }
};

/* Each test begins with nothing alive, and leaves nothing behind. */
inline void none_alive()
{
	lull_hazptr_barrier();
	MUST(alive == 0);
}

/* ---- waits ------------------------------------------------------------------------------------------- */

/* Wait until the condition holds; a wait that is never over is no machine that is merely busy. */
template <class Condition> void await(Condition condition)
{
	const auto since = std::chrono::steady_clock::now();

	while (!condition()) {
		MUST(std::chrono::steady_clock::now() - since < std::chrono::minutes(1));
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
}
#define AWAIT(...) await([&] { return __VA_ARGS__; })

inline void nap()
{
	std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

inline void set_mode(int mode, void (*notify)(void *) noexcept = nullptr)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.mode = static_cast<lull_reclaim_mode>(mode);
	if (notify)
		config.notify = notify;
	MUST(lull_reclaim_configure(&config) == 0);
}

struct section {
	section() { lull_rcu_read_lock(); }
	~section() { lull_rcu_read_unlock(); }
};

/* A thread that is in a read section until it is told to leave. */
class reader
{
      public:
	reader()
		: thread([this] {
			  section here;

			  is_in = true;
			  AWAIT(leaves.load());
			  ended = true;
		  })
	{
		AWAIT(is_in.load());
	}
	~reader() { leave(); }

	void leave()
	{
		leaves = true;
		if (thread.joinable())
			thread.join();
	}

	std::atomic<bool> ended{ false };

      private:
	std::atomic<bool> is_in{ false }, leaves{ false };
	std::thread thread;
};

#endif /* LULL_TEST_CXX_HPP */
