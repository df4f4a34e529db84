/* SPDX-License-Identifier: MIT */
/*
 * test.hpp - for the test programs beside it, which test.cc is a part of: TEST(name) { ... } lists itself. Objects that
 * count how many of them live; threads; waits that end. Includes no more than most of them need, and has no template where
 * a function does: they are compiled in each build.
 */
#ifndef LULL_TEST_CXX_HPP
#define LULL_TEST_CXX_HPP

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include <pthread.h>
#include <sched.h>

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
template <class E = int> bool throws(callable call)
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

/* AFTER_EACH(function); a call after each test of the program */
extern void (*after_each)();
#define AFTER_EACH(function) [[maybe_unused]] static const bool has_after_each = (after_each = function, true)

/* A program that says so has not failed, and not done all: SKIPPED(why) where it does nothing else. */
void skip(const char *why);
#define SKIPPED(why) TEST(skipped) { skip(why); }

/* ---- threads ---------------------------------------------------------------------------------------- */

/* A std::thread that costs a compiler less. */
class runner
{
      public:
	struct body {
		virtual ~body() = default;
		virtual void run() = 0;
	};

	template <class Work> explicit runner(Work work) : runner(static_cast<body *>(new body_of<Work>(std::move(work)))) {}
	runner(runner &&other) noexcept : thread(other.thread), is_joinable(std::exchange(other.is_joinable, false)) {}
	~runner() { MUST(!is_joinable); }
	bool joinable() const { return is_joinable; }
	void join();
	void detach();

      private:
	template <class Work> struct body_of final : body {
		explicit body_of(Work &&moved) : work(std::move(moved)) {}
		void run() override { work(); }
		Work work;
	};

	explicit runner(body *begin);
	pthread_t thread;
	bool is_joinable = true;
};

/* Run @work in so many threads, each of which is told its number. */
void in_threads(int count, callable work);

/* Two readers look so often, and tell @read who and how often that is, while another thread calls @change all the time. */
template <class Read> void reads_while_it_changes(Read read, callable change)
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
std::uint64_t test_seed();

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
void none_alive();

/* ---- waits ------------------------------------------------------------------------------------------- */

/* Wait until the condition holds; a wait that is never over is no machine that is merely busy. */
#define AWAIT(...)                                                                                                     \
	for (patience awaits_(#__VA_ARGS__, __FILE__, __LINE__); !(__VA_ARGS__);)                                         \
		awaits_.nap()
class patience
{
      public:
	patience(const char *condition, const char *in, int at);
	void nap() const;

      private:
	const char *text, *file;
	int line;
	long since;
};

void nap(int milliseconds = 20);

void set_mode(int mode, void (*notify)(void *) noexcept = nullptr);

struct section {
	section() { lull_rcu_read_lock(); }
	~section() { lull_rcu_read_unlock(); }
};

/* A thread that is in a read section until it is told to leave. */
class reader
{
      public:
	reader();
	~reader() { leave(); }
	void leave();

	std::atomic<bool> ended{ false };

      private:
	std::atomic<bool> is_in{ false }, leaves{ false };
	runner thread;
};

#endif /* LULL_TEST_CXX_HPP */
