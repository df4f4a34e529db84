# SPDX-License-Identifier: MIT
#
# Programs that are tests once more under valgrind's memcheck, which must find nothing, and for which nothing is
# suppressed. There is none where sanitizers are, and no valgrind for programs of another processor.
set(lull_under_valgrind)
if(LULL_BUILD_TESTS AND NOT CMAKE_CROSSCOMPILING AND NOT LULL_SANITIZE)
	find_program(LULL_VALGRIND valgrind)
	lull_need(LULL_VALGRIND valgrind valgrind)
	# It runs one thread at a time; fair: one that waits in a loop hands over to the others.
	set(lull_under_valgrind ${LULL_VALGRIND} --quiet --error-exitcode=9 --fair-sched=yes)
endif()

# lull_add_valgrind_test(NAME TARGET LABEL [OPTION...]): the test valgrind_NAME.
function(lull_add_valgrind_test name target label)
	if(lull_under_valgrind)
		add_test(NAME valgrind_${name} COMMAND ${lull_under_valgrind} ${ARGN} $<TARGET_FILE:${target}>)
		set_tests_properties(valgrind_${name} PROPERTIES LABELS ${label} TIMEOUT 600
			ENVIRONMENT LULL_TEST_VALGRIND=1)
	endif()
endfunction()

# A program that leaves nothing behind.
function(lull_add_valgrind_program name target)
	lull_add_valgrind_test(${name} ${target} valgrind
		--leak-check=full --errors-for-leak-kinds=definite,indirect,possible)
endfunction()
