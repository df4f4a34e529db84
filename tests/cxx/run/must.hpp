/* SPDX-License-Identifier: MIT */
/*
 * must.hpp - for the test programs beside it: MUST(condition) ends the program with a line if it is false.
 */
#ifndef LULL_TEST_MUST_HPP
#define LULL_TEST_MUST_HPP

#include <cstdio>
#include <cstdlib>

#define MUST(...) must_be((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

inline void must_be(bool condition, const char *text, const char *file, int line)
{
	if (!condition) {
		std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
		std::abort();
	}
}

#endif /* LULL_TEST_MUST_HPP */
