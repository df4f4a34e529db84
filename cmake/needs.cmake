# SPDX-License-Identifier: MIT
#
# What a build cannot do without: one line that says so, with the name of Debian's package. Included before project(),
# which would say that there are no compilers where there is no make.
if(CMAKE_GENERATOR STREQUAL "Unix Makefiles" AND NOT CMAKE_MAKE_PROGRAM)
	find_program(LULL_MAKE NAMES gmake make)
	mark_as_advanced(LULL_MAKE)
	if(NOT LULL_MAKE)
		message(FATAL_ERROR "there is no make here: install it (Debian: make), or use Ninja: cmake -G Ninja -B build")
	endif()
endif()

# lull_need(VARIABLE WHAT PACKAGE): end where a find_...() has left nothing in VARIABLE.
function(lull_need variable what package)
	if(NOT ${variable})
		message(FATAL_ERROR "the tests need ${what}: install it (Debian: ${package}), or configure with -DLULL_BUILD_TESTS=OFF")
	endif()
endfunction()
