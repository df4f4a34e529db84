/* SPDX-License-Identifier: MIT */
/*
 * test_urcu_alone.c - test_urcu.c where liburcu is not installed, as one file would have it: with the helpers of lull's.
 */
#define LULL_URCU_ALONE
#include "test_urcu.c"
