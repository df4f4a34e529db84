# SPDX-License-Identifier: MIT
#
# Programs for the kernel, carried in the command as the bytes of an array. They need libbpf-dev, a clang that
# compiles for BPF, and jansson for what they tell: LULL_WITHOUT_BPF says what is missing, or is empty.
option(LULL_BPF "Build what needs BPF, where libbpf-dev and clang are installed" ON)

find_program(LULL_BPF_CLANG NAMES clang clang-19 clang-16 clang-14)
mark_as_advanced(LULL_BPF_CLANG)
if(PKG_CONFIG_FOUND)
	pkg_check_modules(BPF QUIET IMPORTED_TARGET libbpf>=1.0)
endif()
set(targets "")
if(LULL_BPF_CLANG)
	execute_process(COMMAND ${LULL_BPF_CLANG} --print-targets OUTPUT_VARIABLE targets)
endif()

set(LULL_WITHOUT_BPF "")
if(NOT LULL_BPF)
	set(LULL_WITHOUT_BPF "switched off at configure time (LULL_BPF)")
elseif(LULL_WITHOUT_JANSSON)
	set(LULL_WITHOUT_BPF "it needs jansson, and ${LULL_WITHOUT_JANSSON}")
elseif(NOT BPF_FOUND)
	set(LULL_WITHOUT_BPF "libbpf 1.0 or newer was not found at configure time")
elseif(NOT targets MATCHES " bpf ")
	set(LULL_WITHOUT_BPF "no clang that compiles for BPF was found at configure time")
endif()

# Name of the machine in libbpf's headers.
set(lull_bpf_arch "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|i.86)$")
	set(lull_bpf_arch x86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)")
	set(lull_bpf_arch arm64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^ppc")
	set(lull_bpf_arch powerpc)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(arm|riscv|powerpc|s390|loongarch|mips)")
	set(lull_bpf_arch ${CMAKE_MATCH_1})
endif()
if(NOT lull_bpf_arch AND NOT LULL_WITHOUT_BPF)
	set(LULL_WITHOUT_BPF "libbpf's headers know no ${CMAKE_SYSTEM_PROCESSOR}")
endif()

# lull_bpf_header(NAME): NAME.bpf.c of the current folder becomes NAME_object.h, with the array NAME_object, in
# the current build folder. Further arguments: what else it depends on.
set(lull_bpf_bytes ${CMAKE_CURRENT_LIST_DIR}/bytes.cmake)
function(lull_bpf_header name)
	set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
	set(header ${CMAKE_CURRENT_BINARY_DIR}/${name}_object.h)
	add_custom_command(OUTPUT ${header}
		COMMAND ${LULL_BPF_CLANG} -target bpf -ffreestanding -O2 -g -Wall -Wextra -Werror
			-D__TARGET_ARCH_${lull_bpf_arch} -I${PROJECT_SOURCE_DIR} -isystem ${CMAKE_SYSROOT}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
			-c ${CMAKE_CURRENT_SOURCE_DIR}/${name}.bpf.c -o ${object}
		COMMAND ${CMAKE_COMMAND} -DNAME=${name}_object -DFROM=${object} -DTO=${header}
			-P ${lull_bpf_bytes}
		DEPENDS ${name}.bpf.c ${ARGN} ${lull_bpf_bytes} VERBATIM)
endfunction()
