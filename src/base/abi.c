/* SPDX-License-Identifier: MIT */
/*
 * abi.c - the name to which programs refer that were compiled with the headers of this library, and no others.
 */
#include <lull/detail/abi.h>

#ifdef LULL_DEBUG
const char lull__library_of_abi_6_with_LULL_DEBUG = 1;
#else
const char lull__library_of_abi_6_without_LULL_DEBUG = 1;
#endif
