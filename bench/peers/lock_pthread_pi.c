/* SPDX-License-Identifier: MIT */
/*
 * Lock: the C library's mutex with priority inheritance, for which the kernel spins while the
 * owner runs.
 */
#define LOCK_ATTRIBUTES(attr) pthread_mutexattr_setprotocol((attr), PTHREAD_PRIO_INHERIT)
#include "lock_pthread.h"

LOCK_SCHEME(bench_lock_pthread_pi, "pthread-pi",
	    "pthread mutex, PTHREAD_PRIO_INHERIT: the kernel's lock", NULL);
