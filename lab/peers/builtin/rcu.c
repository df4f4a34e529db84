/* SPDX-License-Identifier: MIT */
/*
 * The rows "rcu" once more, in lull-lab itself: what is measured there has its thread-local variables and its calls at
 * addresses that the linker knows. Beside "rcu", which is in a module as all the others are, it shows what a module
 * costs.
 */
#define FLAVOR_NAME "rcu-builtin"
#define FLAVOR_WHAT "lull RCU, compiled into the command: what a module costs"
#include "../lull/rcu.c"
