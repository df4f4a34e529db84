/* SPDX-License-Identifier: MIT */
/*
 * process.h - the first use of the library in a process, and fork.
 */
#ifndef LULL_PROCESS_H
#define LULL_PROCESS_H

#include <stdbool.h>

/* Initialise the library, once. Every slow path begins with this call. */
void lull__init(void);

/* Register the handlers of fork: the init() of a mechanism. */
void lull__process_init(void);

/*
 * Say whether something has failed and has to be tried again: see lull__mechanism.retry. All waits for readers and all
 * threads that come and go try, outside signal handlers and with no lock of the library's, so that nothing waits for
 * ever for the one call that failed.
 */
void lull__retry_want(bool wanted);
void lull__retry(void);

#endif /* LULL_PROCESS_H */
