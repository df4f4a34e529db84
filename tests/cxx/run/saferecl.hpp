/* SPDX-License-Identifier: MIT */
/*
 * saferecl.hpp - for saferecl_*.cc: a program of tests that are named by the clauses of the standard; what they count.
 */
#ifndef LULL_TEST_SAFERECL_HPP
#define LULL_TEST_SAFERECL_HPP

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>

#include "must.hpp"

/* Counts the objects that live. */
inline std::atomic<int> alive;

struct counted {
	counted()
	{
		alive++;
	}
	counted(const counted &)
	{
		alive++;
	}
	counted &operator=(const counted &) = default;
	~counted()
	{
		alive--;
	}

	long before = 1; /* so that what comes next has another address than the object */
};

struct clause {
	const char *name;
	void (*test)();
};

#define CLAUSE(name) clause{ #name, name }

/* Run all, or those that are named. */
template <std::size_t n> int run(const clause (&clauses)[n], int argc, char **argv)
{
	for (const clause &c : clauses) {
		bool chosen = argc < 2;

		for (int i = 1; i < argc; i++)
			chosen |= std::strcmp(argv[i], c.name) == 0;
		if (!chosen)
			continue;
		std::printf("%s\n", c.name);
		std::fflush(stdout);
		c.test();
	}
	return 0;
}

/* Wait until the condition holds; a wait that is never over is no machine that is merely busy. */
template <class Condition> void await(Condition condition)
{
	const auto since = std::chrono::steady_clock::now();

	while (!condition()) {
		MUST(std::chrono::steady_clock::now() - since < std::chrono::minutes(1));
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
}

inline void nap()
{
	std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

#endif /* LULL_TEST_SAFERECL_HPP */
