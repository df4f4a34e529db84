/* SPDX-License-Identifier: MIT */
/* urcu_must.h - what must be so, and how long a test waits for it. */
#ifndef TESTS_URCU_MUST_H
#define TESTS_URCU_MUST_H

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(what)                                                                                                     \
	do {                                                                                                           \
		if (!(what)) {                                                                                         \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                             \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

/* Wait for @what, 100 s at most. Online threads must not call this while others wait for them. */
#define AWAIT(what)                                                                                                    \
	do {                                                                                                           \
		for (int left_ = 100000; !(what); left_--) {                                                           \
			if (!left_) {                                                                                  \
				fprintf(stderr, "%s:%d: waited in vain: %s\n", __FILE__, __LINE__, #what);             \
				exit(1);                                                                               \
			}                                                                                              \
			poll(NULL, 0, 1);                                                                              \
		}                                                                                                      \
	} while (0)

#endif /* TESTS_URCU_MUST_H */
