# SPDX-License-Identifier: MIT
#
# Under sanitizers: the library is no library there, but part of the program, for nothing can be preloaded.
# Before 0.14 threads are left to the program to join, of which ThreadSanitizer complains.
if(LIBURCU_liburcu_VERSION VERSION_LESS 0.14 AND NOT LULL_SANITIZE MATCHES thread)
	set(version 13)
else()
	set(version 14)
endif()
lull_urcu_sources(sources ${version})
add_library(lull_urcu_parts OBJECT ${sources})
target_compile_definitions(lull_urcu_parts PRIVATE LULL_URCU_VERSION=${version})
target_link_libraries(lull_urcu_parts PRIVATE lull_urcu_settings)

# lull_urcu_sanitized(NAME SOURCE [DEFINITION...])
function(lull_urcu_sanitized name source)
	add_executable(${name} ${source} $<TARGET_OBJECTS:lull_urcu_parts> $<TARGET_OBJECTS:lull_urcu_core>)
	target_compile_definitions(${name} PRIVATE _GNU_SOURCE ${ARGN})
	target_compile_options(${name} PRIVATE -w)
	target_include_directories(${name} SYSTEM PRIVATE ${LIBURCU_INCLUDE_DIRS})
	target_link_libraries(${name} PRIVATE urcu-common Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

# lull_urcu_sanitized_test(NAME PROGRAM [ARGUMENT...])
function(lull_urcu_sanitized_test name program)
	add_test(NAME urcu_${name} COMMAND ${program} ${ARGN})
	set_tests_properties(urcu_${name} PROPERTIES LABELS urcu PROCESSORS 2 TIMEOUT 120)
endfunction()

set(forms called)
set(more)
if(LULL_SANITIZE MATCHES thread)
	set(more SEES_NO_VOLATILE OBJECTS=24) # few, to be used again soon
else()
	# liburcu's inlined readers are volatile accesses, which ThreadSanitizer takes for plain ones. It ends a thread in the
	# last round of destructors, and nothing may run in one after that.
	list(APPEND forms inlined)
	lull_urcu_sanitized(lull_urcu_places places.c FLAVOR_bp)
	lull_urcu_sanitized_test(places lull_urcu_places)
endif()
foreach(flavor memb mb bp qsbr)
	foreach(readers IN LISTS forms)
		set(program lull_urcu_torture_${flavor}_${readers})
		lull_urcu_sanitized(${program} torture.c FLAVOR_${flavor} $<$<STREQUAL:${readers},inlined>:_LGPL_SOURCE>
			${more})
		lull_urcu_sanitized_test(torture_${flavor}_${readers} ${program} 500)
		lull_urcu_sanitized_test(torture_${flavor}_${readers}_call ${program} 500 call)
	endforeach()
endforeach()
