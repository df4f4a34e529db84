/* SPDX-License-Identifier: MIT */
/*
 * steps.h - single steps: between set_trap_flag(true) and set_trap_flag(false) each instruction raises SIGTRAP.
 */
#ifndef LULL_TEST_STEPS_H
#define LULL_TEST_STEPS_H

#include "test.h"

/* A sanitizer's code is full of calls that must not be traced; valgrind and qemu-user know no traps. */
#if defined(__x86_64__) && !SANITIZED && !defined(LULL_TEST_EMULATED)
#define CAN_STEP 1

#include <ucontext.h>
#include <x86intrin.h>

#define TRAP_FLAG 0x100

static inline void set_trap_flag(bool on)
{
	__writeeflags(on ? __readeflags() | TRAP_FLAG : __readeflags() & ~(unsigned long long)TRAP_FLAG);
}

#else
#define CAN_STEP 0
#endif
#endif /* LULL_TEST_STEPS_H */
