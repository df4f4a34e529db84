/* SPDX-License-Identifier: MIT */
/*
 * warnings.cc - what programs with -O2 -Wnull-dereference -Werror compile: a map whose elements have destructors.
 */
#include <string>

#include <lull/hash_map.hpp>

#include "test.hpp"

TEST(compiles)
{
	lull::hash_map<int, std::string> words;

	words.insert({ 1, "one" });
	MUST(words.update(1, [](const std::string &old) { return old + " more"; }));
	MUST(words.erase(1));
	words.clear();
}
