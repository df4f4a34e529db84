/* SPDX-License-Identifier: MIT */
/* test_urcu_cxx.cc - test_urcu.c as C++. cmocka.h has no such guard of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}
/* g++ has defined it to something else than a test may. */
#undef _GNU_SOURCE
#define LULL_TEST_FILE "test_urcu"
#include "test_urcu.c"
