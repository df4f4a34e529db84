/* SPDX-License-Identifier: MIT */
/*
 * throwing_key.hpp - for hash_maps.cc and its part that is compiled without exceptions: a key that may throw.
 */
#ifndef LULL_TEST_THROWING_KEY_HPP
#define LULL_TEST_THROWING_KEY_HPP

#include <cstddef>

struct throwing_key {
	int number;
	bool operator==(const throwing_key &other) const; /* in hash_maps.cc */
};

struct hash_throwing_keys {
	std::size_t operator()(const throwing_key &) const
	{
		return 0;
	}
};

#endif /* LULL_TEST_THROWING_KEY_HPP */
