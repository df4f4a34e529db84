# SPDX-License-Identifier: MIT
#
# cmake -DNAME=... -DFROM=FILE -DTO=HEADER -P bytes.cmake: a file as an array of C.
file(READ ${FROM} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
file(WRITE ${TO} "static const unsigned char ${NAME}[] __attribute__((aligned(8))) = {\n${bytes}\n};\n")
