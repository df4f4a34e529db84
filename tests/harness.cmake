# SPDX-License-Identifier: MIT
#
# lull_test_main: what each test program has, which is main.c, cmocka, and where test.h is. The other yards use it too.
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/needs.cmake)
find_path(LULL_CMOCKA_INCLUDE cmocka.h)
find_library(LULL_CMOCKA_LIBRARY cmocka)
lull_need(LULL_CMOCKA_INCLUDE cmocka.h libcmocka-dev)
lull_need(LULL_CMOCKA_LIBRARY libcmocka libcmocka-dev)
add_library(lull_cmocka UNKNOWN IMPORTED)
set_target_properties(lull_cmocka PROPERTIES IMPORTED_LOCATION ${LULL_CMOCKA_LIBRARY}
	INTERFACE_INCLUDE_DIRECTORIES ${LULL_CMOCKA_INCLUDE})

add_library(lull_test_main OBJECT ${CMAKE_CURRENT_LIST_DIR}/main.c)
target_link_libraries(lull_test_main PUBLIC lull_cmocka Threads::Threads m)
target_include_directories(lull_test_main PUBLIC ${CMAKE_CURRENT_LIST_DIR}
	PRIVATE $<TARGET_PROPERTY:lull::lull,INTERFACE_INCLUDE_DIRECTORIES>)
# LULL_TEST_EMULATED: qemu-user lacks seccomp, exec of its own kind, and threads after fork.
target_compile_definitions(lull_test_main PUBLIC
	$<$<BOOL:${CMAKE_CROSSCOMPILING}>:LULL_TEST_EMULATED>
	$<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE=>)

function(lull_test_program name library)
	add_executable(${name} ${ARGN})
	target_link_libraries(${name} PRIVATE lull_test_main ${library})
endfunction()
