/* SPDX-License-Identifier: MIT */
/* Counting instructions one by one, for machines whose hardware counters are out of reach. */
#ifndef LULL_LAB_INSTRUCTIONS_H
#define LULL_LAB_INSTRUCTIONS_H

#include <stdint.h>

/*
 * Instructions that one more operation costs in body(arg, n): a child process runs it twice, with
 * different n, under the debugger's single step, and the difference is taken. The child calls enter
 * and leave (may be NULL) around it. Exact, and slow: about 2 us per instruction. Only for bodies
 * that do not wait for other threads; call it while this process has a single thread. Returns a
 * negative value when single steps are not available here.
 */
double step_count(void (*enter)(void), void (*leave)(void), uint64_t (*body)(void *arg, uint64_t n),
		  void *arg);

#endif
