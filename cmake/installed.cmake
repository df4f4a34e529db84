# SPDX-License-Identifier: MIT
#
# The installed lull that a yard stands on, and LULL_DEBUG as that was built. LULL_PREFIX is where it is; without, it is
# looked for as any package is. (It is never in a sysroot of other libraries.)
set(LULL_PREFIX "" CACHE PATH "Where lull is installed, and nowhere else; empty: where CMake looks for packages")
if(LULL_PREFIX)
	find_package(lull ${PROJECT_VERSION} REQUIRED PATHS ${LULL_PREFIX} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
else()
	find_package(lull ${PROJECT_VERSION} REQUIRED NO_CMAKE_FIND_ROOT_PATH)
endif()
if(NOT "${lull_SANITIZE}" STREQUAL "${LULL_SANITIZE}")
	message(FATAL_ERROR "LULL_SANITIZE is '${LULL_SANITIZE}', and the lull in ${lull_DIR} was built with '${lull_SANITIZE}'")
endif()
get_target_property(definitions lull::lull INTERFACE_COMPILE_DEFINITIONS)
set(LULL_DEBUG OFF)
if("LULL_DEBUG" IN_LIST definitions)
	set(LULL_DEBUG ON)
endif()
