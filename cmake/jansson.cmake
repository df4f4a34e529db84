# SPDX-License-Identifier: MIT
#
# The command writes JSON by jansson. The instruments cannot do without; top and doctor then have no --json, which
# LULL_WITHOUT_JANSSON explains. It is empty where jansson is there.
option(LULL_JANSSON "Build the --json of the command, where jansson is installed" ON)

find_package(PkgConfig QUIET)
set(LULL_WITHOUT_JANSSON "")
if(NOT LULL_JANSSON)
	set(LULL_WITHOUT_JANSSON "jansson was switched off at configure time (LULL_JANSSON)")
else()
	pkg_check_modules(JANSSON QUIET IMPORTED_TARGET jansson)
	if(NOT JANSSON_FOUND)
		set(LULL_WITHOUT_JANSSON "jansson was not found at configure time")
	endif()
endif()
if(LULL_BUILD_INSTRUMENTS AND LULL_WITHOUT_JANSSON)
	message(FATAL_ERROR "LULL_BUILD_INSTRUMENTS needs jansson (Debian: libjansson-dev, pkgconf): ${LULL_WITHOUT_JANSSON}")
endif()
