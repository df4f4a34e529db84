/* SPDX-License-Identifier: MIT */
/*
 * urcu_flavor.h - liburcu's headers of the flavor that a test is compiled for, -DFLAVOR_memb and so on; with -D_LGPL_SOURCE
 * its readers are inlined. And what all tests say: ok, or what went wrong.
 */
#ifndef TESTS_URCU_FLAVOR_H
#define TESTS_URCU_FLAVOR_H

#if defined(FLAVOR_mb)
#define RCU_MB
#include <urcu.h>
#elif defined(FLAVOR_bp)
#include <urcu-bp.h>
#elif defined(FLAVOR_qsbr)
#include <urcu-qsbr.h>
#elif defined(FLAVOR_signal)
#define RCU_SIGNAL
#include <urcu.h>
#else
#include <urcu.h>
#endif

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Of the other flavors: nothing. */
#ifndef FLAVOR_qsbr
#define rcu_quiescent_state() ((void)0)
#define rcu_thread_offline()  ((void)0)
#define rcu_thread_online()   ((void)0)
#endif

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

#endif /* TESTS_URCU_FLAVOR_H */
