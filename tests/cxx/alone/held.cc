// SPDX-License-Identifier: MIT
/* held.cc - lull/held.hpp alone has all that its example needs. It is compiled, and that is the test. */
#include <lull/held.hpp>

struct config : lull::hazard_pointer_obj_base<config> {
	int value = 0;
};

lull::held<config> current(const std::atomic<config *> &variable);

lull::held<config> current(const std::atomic<config *> &variable)
{
	return lull::hold(variable);
}
