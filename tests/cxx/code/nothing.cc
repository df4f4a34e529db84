/* SPDX-License-Identifier: MIT */
/* For tests/cxx/compilers: does a compiler know its options, and has it a library? */
#include <atomic>
