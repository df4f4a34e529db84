# SPDX-License-Identifier: MIT
#
# Language level, messages, warnings and sanitizers of everything that is compiled here. Nothing of this reaches
# those who use the library.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(PROJECT_IS_TOP_LEVEL)
	# A line for each file costs make a tenth of the time that the whole build takes.
	set_property(GLOBAL PROPERTY RULE_MESSAGES OFF)
	add_compile_options(-Wall -Wextra -Wvla -Wundef -Wcast-qual -Wwrite-strings
		-Wmissing-declarations
		$<$<COMPILE_LANGUAGE:C>:-Wpedantic>
		$<$<COMPILE_LANGUAGE:C>:-Wshadow>
		$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
		$<$<COMPILE_LANGUAGE:C>:-Wold-style-definition>)
endif()

set(lull_sanitize_options)
if(LULL_SANITIZE)
	set(lull_sanitize_options -fsanitize=${LULL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
	add_compile_options(${lull_sanitize_options})
	add_link_options(-fsanitize=${LULL_SANITIZE})
	# What the headers would tell it hides mistakes from it that it can see for itself.
	if(LULL_SANITIZE MATCHES thread)
		add_compile_definitions(LULL__TSAN_SEES_ALL)
	endif()
endif()

# What pkg-config finds is for the other processor, in a cross build, and not for this machine.
if(CMAKE_CROSSCOMPILING AND NOT DEFINED ENV{PKG_CONFIG_LIBDIR} AND NOT DEFINED ENV{PKG_CONFIG_SYSROOT_DIR})
	set(lull_folders /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig)
	if(NOT CMAKE_LIBRARY_ARCHITECTURE)
		set(lull_folders /nowhere)
	endif()
	foreach(root IN LISTS CMAKE_SYSROOT CMAKE_FIND_ROOT_PATH)
		list(APPEND lull_folders ${root}/lib/pkgconfig ${root}/usr/lib/pkgconfig
			${root}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig ${root}/usr/share/pkgconfig)
	endforeach()
	list(JOIN lull_folders ":" lull_folders)
	set(ENV{PKG_CONFIG_LIBDIR} ${lull_folders})
endif()
