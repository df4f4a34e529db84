# SPDX-License-Identifier: MIT
#
# cmake --install: headers, the libraries, the command, and the two ways to find them:
# find_package(lull) and pkg-config. Both take the prefix from where they lie, so that an installed tree
# can be moved. Components: runtime is what programs need that were linked with the shared library, dev what
# they are built with, tools the command. The target uninstall removes what was installed last.
include(CMakePackageConfigHelpers)

install(DIRECTORY include/lull TYPE INCLUDE COMPONENT dev FILES_MATCHING
	PATTERN *.h PATTERN *.hpp PATTERN hazard_pointer PATTERN rcu)
install(TARGETS ${lull_libraries} EXPORT lull
	LIBRARY COMPONENT runtime NAMELINK_COMPONENT dev
	ARCHIVE COMPONENT dev)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lull)
install(EXPORT lull NAMESPACE lull:: FILE lull-targets.cmake DESTINATION ${package_dir} COMPONENT dev)
configure_package_config_file(cmake/lull-config.cmake.in lull-config.cmake
	INSTALL_DESTINATION ${package_dir}
	NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a new minor version may change anything.
write_basic_package_version_file(lull-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lull-config.cmake ${PROJECT_BINARY_DIR}/lull-config-version.cmake
	DESTINATION ${package_dir} COMPONENT dev)

set(pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${pc_dir} OUTPUT_VARIABLE LULL_PC_PREFIX)
foreach(dir LIBDIR INCLUDEDIR)
	cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_${dir} BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}
		OUTPUT_VARIABLE LULL_PC_${dir})
endforeach()
# What the archive needs comes with it, also for those who do not ask for --static.
set(LULL_PC_LIBS "")
if(NOT LULL_SHARED)
	set(LULL_PC_LIBS " -lpthread")
endif()
configure_file(cmake/lull.pc.in lull.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lull.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

if(PROJECT_IS_TOP_LEVEL)
	add_custom_target(uninstall COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/uninstall.sh ${PROJECT_BINARY_DIR} VERBATIM)
endif()
