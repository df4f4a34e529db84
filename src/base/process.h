/* SPDX-License-Identifier: MIT */
/*
 * process.h - the first use of the library in a process, and fork.
 */
#ifndef LULL_PROCESS_H
#define LULL_PROCESS_H

/* Initialise the library, once. Every slow path begins with this call. */
void lull__init(void);

/* Register the handlers of fork: the init() of a mechanism. */
void lull__process_init(void);

#endif /* LULL_PROCESS_H */
