// SPDX-License-Identifier: MIT
/*
 * no_exceptions_hp.cc - hazard pointers in a file without exceptions, beside one that catches: memory.cc. The linker takes the
 * functions of this file, and what it has no memory for must still be caught there.
 */
#include <lull/held.hpp>

bool has_a_hazard_pointer();

bool has_a_hazard_pointer()
{
	return !lull::make_hazard_pointer().empty();
}
