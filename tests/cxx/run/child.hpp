/* SPDX-License-Identifier: MIT */
/*
 * child.hpp - for the test programs beside it: a child that must abort, after a line that says why.
 */
#ifndef LULL_TEST_CHILD_HPP
#define LULL_TEST_CHILD_HPP

#include "must.hpp"

/* Run @work in a child, which must abort after one line that has @words, and begins with @first. */
void must_end(const char *words, callable work, const char *first = "lull: ");

/* A test (of test.hpp) whose body must do so. */
#define DEATH_TEST(name, words)                                                                                        \
	static void name##_in_child();                                                                                 \
	TEST(name)                                                                                                     \
	{                                                                                                              \
		must_end(words, [] { name##_in_child(); });                                                            \
	}                                                                                                              \
	static void name##_in_child()

#endif /* LULL_TEST_CHILD_HPP */
