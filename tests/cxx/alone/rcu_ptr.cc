// SPDX-License-Identifier: MIT
/* rcu_ptr.cc - lull/rcu_ptr.hpp alone has all that its example needs. It is compiled, and that is the test. */
#include <lull/rcu_ptr.hpp>

struct config : lull::rcu_obj_base<config> {
	int value = 0;
};

int value_of(lull::rcu_ptr<config> &current);

int value_of(lull::rcu_ptr<config> &current)
{
	lull::rcu_section section;

	return current.read()->value;
}
