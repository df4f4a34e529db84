/* SPDX-License-Identifier: MIT */
/*
 * no_exceptions.cc - a part of hash_maps.cc that is compiled without exceptions. It uses the same map, and is linked first.
 */
#include <lull/hash_map.hpp>

#include "test.hpp"
#include "throwing_key.hpp"

void use_without_exceptions();

void use_without_exceptions()
{
	lull::hash_map<throwing_key, int, hash_throwing_keys> m;

	for (int i = 0; i < 100; i++)
		MUST(m.try_emplace(throwing_key{ i }, i) && m.insert_or_assign(throwing_key{ -1 - i }, i));
	for (int i = 0; i < 100; i++)
		MUST(m.contains(throwing_key{ i }) && m.find(throwing_key{ i })->second == i && m.erase(throwing_key{ i }));
	MUST(m.size() == 100);
}
