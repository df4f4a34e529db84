# SPDX-License-Identifier: MIT
#
# The last lines of the configuration: what is built, and which packages would bring more.
find_path(LULL_SDT_INCLUDE sys/sdt.h)
mark_as_advanced(LULL_SDT_INCLUDE)

# lull_say(WHAT HAVE MISSING): "yes" where HAVE is true, else "no" and what brings it.
function(lull_say what have missing)
	if(have)
		message(STATUS "  ${what}: yes")
	else()
		message(STATUS "  ${what}: no (${missing})")
	endif()
endfunction()

message(STATUS "lull ${PROJECT_VERSION}, the library (${CMAKE_BUILD_TYPE}):")
lull_say("probes for tracers" "${LULL_SDT_INCLUDE}" "Debian: systemtap-sdt-dev")
lull_say("usage checks" "${LULL_DEBUG}" "LULL_DEBUG")
lull_say("watch: stall reports, page for lull top" "${LULL_WATCH}" "LULL_WATCH")
foreach(way BPF KERNEL SLICE)
	lull_say("whether an owner runs, by ${way}" "${LULL_ORACLE_${way}}" "LULL_ORACLE_${way}")
endforeach()
lull_say("tests" "${LULL_BUILD_TESTS}" "LULL_BUILD_TESTS; Debian: libcmocka-dev valgrind python3 g++")
lull_say("examples" "${LULL_BUILD_EXAMPLES}" "LULL_BUILD_EXAMPLES")
