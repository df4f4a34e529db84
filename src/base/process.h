/* SPDX-License-Identifier: MIT */
/*
 * process.h - what happens once per process: first use, and fork.
 */
#ifndef LULL_PROCESS_H
#define LULL_PROCESS_H

/* Initialise the library unless it is. Every slow path begins with it. */
void lull__init(void);

/* A mechanism's init(): handle fork. */
void lull__process_init(void);

#endif /* LULL_PROCESS_H */
