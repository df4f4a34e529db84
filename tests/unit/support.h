/* SPDX-License-Identifier: MIT */
/* support.h - for programs that have a main() of their own still. */
#include "child.h"
#include "threads.h"
